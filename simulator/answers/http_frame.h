#pragma once
// HTTP/1.1 as the simulated server writes it: heads, whole answers, chunks. Pure.
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
    std::size_t length = 0;  ///< with Framing::length
    bool keep_alive = true;
    bool gzip = false;
    Dialect dialect = Dialect::vllm;
};

/// Status line and headers, up to and with the empty line.
std::string http_head(const HttpHead& head);

/// A whole answer; framing and length are those of `body`.
std::string http_answer(HttpHead head, std::string_view body);

/// Begins a chunk of a body (nothing but with Framing::chunked) and returns where its content begins.
std::size_t open_chunk(std::string& out, Framing framing);

/// Ends the chunk whose content begins at `begin`: its size is known now.
void close_chunk(std::string& out, std::size_t begin, Framing framing);

/// Appends the bytes that follow the last chunk.
void append_end(std::string& out, Framing framing);

}  // namespace paretoken::sim
