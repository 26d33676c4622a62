// Server-sent events: the events do not depend on the cuts of the bytes, and are those of a simple
// implementation of the WHATWG rule.
#include "loadgen/protocol/sse.h"

#include <vector>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

struct Event {
    std::string type;
    std::string data;

    bool operator==(const Event&) const = default;
};

struct Parsed {
    std::vector<Event> events;
    std::vector<Event> rest;
    std::uint64_t comments = 0;
    std::uint64_t lines = 0;
    bool malformed = false;

    bool operator==(const Parsed&) const = default;
};

/// Reads the bytes that must be readable after data.
void touch(std::string_view data) {
    volatile char last = 0;
    for (std::size_t i = 0; i < protocol::kReadablePadding; ++i) last = data.data()[data.size() + i];
    (void)last;
}

Parsed parse(protocol::SseParser& parser, std::string_view bytes, std::uint8_t seed) {
    Parsed parsed;
    parser.reset();
    for (const std::string_view piece : pieces_of(bytes, seed)) {
        const Padded padded(piece);
        parser.feed(padded.span(), [&](const protocol::SseEvent& event) {
            touch(event.data);
            parsed.events.push_back({std::string(event.type), std::string(event.data)});
        });
    }
    if (const auto event = parser.rest())
        parsed.rest.push_back({std::string(event->type), std::string(event->data)});
    parsed.comments = parser.comments();
    parsed.lines = parser.lines();
    parsed.malformed = parser.malformed();
    return parsed;
}

/// Parses by the rule, one line after the other.
std::vector<Event> by_the_rule(std::string_view bytes) {
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    std::vector<Event> events;
    Event event;
    bool any_data = false;
    while (true) {
        const auto end = bytes.find_first_of("\r\n");
        if (end == std::string_view::npos) return events;
        const std::string_view line = bytes.substr(0, end);
        bytes.remove_prefix(end + (bytes.substr(end).starts_with("\r\n") ? 2 : 1));
        if (line.empty()) {
            if (any_data) events.push_back(event);
            event = {};
            any_data = false;
            continue;
        }
        const auto colon = line.find(':');
        const std::string_view field = line.substr(0, colon);
        std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
        if (value.starts_with(' ')) value.remove_prefix(1);
        if (field == "event") event.type = value;
        if (field != "data") continue;
        if (any_data) event.data += '\n';
        event.data += value;
        any_data = true;
    }
}

}  // namespace

void fuzz(Input input) {
    const std::uint8_t seed = input.byte();
    protocol::SseParser parser;
    const Parsed cut = parse(parser, input.rest(), seed);
    const Parsed whole = parse(parser, input.rest(), 0);
    require(cut == whole, "a cut does not change the events");
    require(whole.events == by_the_rule(input.rest()), "the events are those of the rule");
}

}  // namespace paretoken::fuzz
