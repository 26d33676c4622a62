// The JSON of stream events, one a line: recognising an event by its shape gives the result of parsing, and
// the result is within the bounds of the header.
#include "loadgen/protocol/delta.h"

#include "core/text/printable.h"
#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

void require_text(const std::string& text, std::size_t most) {
    require(text.size() <= most, "a server's text is cut");
    require(printable_line(text) == text, "a server's text is one printable line");
}

void require_usage(const std::optional<TokenUsage>& usage) {
    if (!usage) return;
    for (const auto& count : {usage->prompt, usage->cached_prompt, usage->completion, usage->reasoning})
        require(!count || (*count >= 0 && *count <= protocol::kMostTokens),
                "counts are possible, or said not to be");
}

void require_delta(const protocol::Delta& delta, std::size_t bytes) {
    require_text(delta.error, 400);
    require_text(delta.finish_reason, 64);
    require(delta.text_bytes <= 3 * bytes, "output is no longer than its event");
    if (!delta.impossible_count) require_usage(delta.usage);
    require(!(delta.malformed && delta.has_output), "what is malformed has no output");
}

void fuzz_protocol(Input input, const protocol::Protocol& protocol) {
    protocol::DeltaParser shared({}, protocol);
    std::string_view rest = input.rest();
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        const Padded event(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const protocol::Delta delta = shared.parse(event.view());
        protocol::DeltaParser fresh({}, protocol);
        require(delta == fresh.parse(event.view()), "an event recognised is as one parsed");
        require_delta(delta, event.view().size());
    }
    const auto answer = protocol::parse_whole_answer(input.rest(), {}, protocol);
    if (answer) {
        require_text(answer->error, 400);
        require_text(answer->finish_reason, 64);
        if (!answer->impossible_count) require_usage(answer->usage);
    }
}

}  // namespace

void fuzz(Input input) {
    for (const protocol::Protocol* protocol : protocol::protocols()) fuzz_protocol(input, *protocol);
    require_text(protocol::error_text_of(input.rest()), 400);
}

}  // namespace paretoken::fuzz
