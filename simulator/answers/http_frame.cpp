#include "simulator/answers/http_frame.h"

#include <fmt/format.h>

#include <iterator>

namespace paretoken::sim {
namespace {

constexpr std::size_t kSizeDigits = 6;  // digits reserved for a chunk's size, which is known only at its end

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

std::string vllm_head(const HttpHead& head) {
    std::string out = fmt::format("HTTP/1.1 {} {}\r\nserver: paretoken\r\ncontent-type: {}\r\n", head.status,
                                  reason_phrase(head.status), head.content_type);
    if (head.status == 429) out += "retry-after: 1\r\n";
    if (head.gzip) out += "content-encoding: gzip\r\n";
    if (head.framing == Framing::chunked) out += "transfer-encoding: chunked\r\n";
    if (head.framing == Framing::length)
        fmt::format_to(std::back_inserter(out), "content-length: {}\r\n", head.length);
    if (!head.keep_alive) out += "connection: close\r\n";
    return out += "\r\n";
}

/// Returns a head of llama.cpp, which capitalises names and tells how long it keeps a connection.
std::string llamacpp_head(const HttpHead& head) {
    std::string out = fmt::format("HTTP/1.1 {} {}\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\n",
                                  head.status, reason_phrase(head.status));
    if (head.content_type.starts_with("text/event-stream")) out += "X-Accel-Buffering: no\r\n";
    fmt::format_to(std::back_inserter(out), "Content-Type: {}\r\n", head.content_type);
    if (head.status == 429) out += "Retry-After: 1\r\n";
    if (head.gzip) out += "Content-Encoding: gzip\r\n";
    if (head.framing == Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
    if (head.framing == Framing::length)
        fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", head.length);
    out += head.keep_alive ? "Keep-Alive: timeout=5, max=100\r\n" : "Connection: close\r\n";
    return out += "\r\n";
}

}  // namespace

std::string http_head(const HttpHead& head) {
    return head.dialect == Dialect::vllm ? vllm_head(head) : llamacpp_head(head);
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
