#include "simulator/answers/http_frame.h"

namespace paretoken::sim {
namespace {

constexpr std::size_t kSizeDigits = 6;  // digits reserved for a chunk's size, which is known only at its end

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
    return traits_of(head.dialect).head(head);
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
    std::size_t digit = begin - 2;
    for (std::size_t size = out.size() - begin; size > 0; size /= 16)
        out[--digit] = "0123456789abcdef"[size % 16];
    out += "\r\n";
    const std::size_t first = begin - 2 - kSizeDigits;
    out.erase(first, digit - first);
}

void append_end(std::string& out, Framing framing) {
    if (framing == Framing::chunked) out += "0\r\n\r\n";
}

}  // namespace paretoken::sim
