#include "simulator/answers/http_frame.h"

#include <charconv>
#include <iterator>

namespace paretoken::sim {
namespace {

// The digits reserved for a chunk's size, which is known only at its end. Other sizes move the content.
constexpr std::size_t kSizeDigits = 6;

}  // namespace

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 413:
            return "Content Too Large";
        case 429:
            return "Too Many Requests";
        case 503:
            return "Service Unavailable";
        default:
            return "Error";
    }
}

std::string http_head(const HttpHead& head) {
    std::string text = traits_of(head.dialect).head(head);
    return text.insert(text.size() - 2, head.further);
}

std::string http_answer(HttpHead head, std::string_view body) {
    head.framing = Framing::length;
    head.length = body.size();
    return http_head(head).append(body);
}

std::size_t open_chunk(std::string& out, Framing framing) {
    if (framing == Framing::chunked) out.append(kSizeDigits, '0').append("\r\n");
    return out.size();
}

void close_chunk(std::string& out, std::size_t begin, Framing framing) {
    if (framing != Framing::chunked) return;
    const std::size_t first = begin - 2 - kSizeDigits;
    if (out.size() == begin) return out.resize(first);
    char digits[2 * sizeof(std::size_t)];
    char* const end = std::to_chars(std::begin(digits), std::end(digits), out.size() - begin, 16).ptr;
    out.replace(first, kSizeDigits, digits, static_cast<std::size_t>(end - digits));
    out += "\r\n";
}

void append_end(std::string& out, Framing framing) {
    if (framing == Framing::chunked) out += "0\r\n\r\n";
}

}  // namespace paretoken::sim
