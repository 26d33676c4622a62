#pragma once
// Events of a stream that have a name: "event: NAME\ndata: {…}\n\n". The events of Anthropic's Messages and
// of OpenAI's Responses have this form, with the name as the field "type" of their JSON, too.
#include <cstddef>
#include <string>
#include <string_view>

#include "simulator/answers/http_frame.h"

namespace paretoken::sim {

/// Begins an event, and with Framing::chunked a chunk; returns the position that close_named() needs.
inline std::size_t open_named(std::string& out, std::string_view name, Framing framing) {
    const std::size_t begin = open_chunk(out, framing);
    out.append("event: ").append(name).append("\ndata: ");
    return begin;
}

inline void close_named(std::string& out, std::size_t begin, Framing framing) {
    out += "\n\n";
    close_chunk(out, begin, framing);
}

}  // namespace paretoken::sim
