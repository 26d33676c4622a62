#pragma once
// Writes the HTTP/1.1 of the simulated server: heads, whole answers, chunks. The functions are pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/answers/dialect.h"

namespace paretoken::sim {

enum class Framing : std::uint8_t { length, chunked, until_close };

struct HttpHead {
    int status = 200;
    std::string_view content_type = {};
    Framing framing = Framing::length;
    std::size_t length = 0;  ///< bytes of the body, with Framing::length
    bool keep_alive = true;
    bool gzip = false;
    std::string_view further = {};  ///< lines of further headers
    Dialect dialect = Dialect::vllm;
};

/// Returns the reason phrase of a status: "OK"; "Error" for a status that the server never sends in a head.
std::string_view reason_phrase(int status);

/// Returns the status line and headers, up to and including the empty line.
std::string http_head(const HttpHead& head);

/// Returns a whole answer; framing and length are those of `body`.
std::string http_answer(HttpHead head, std::string_view body);

/// Begins a chunk of a body and returns the position of its content. Writes only with Framing::chunked.
std::size_t open_chunk(std::string& out, Framing framing);

/// With Framing::chunked, ends the chunk whose content begins at `begin`, and writes the size of the content.
/// A chunk without content is removed, because it would end the body.
void close_chunk(std::string& out, std::size_t begin, Framing framing);

/// With Framing::chunked, appends the bytes that follow the last chunk.
void append_end(std::string& out, Framing framing);

}  // namespace paretoken::sim
