// A whole answer: the record does not depend on the cuts of the bytes within a read, and no count in it is
// larger than the request allows.
#include "loadgen/protocol/answer.h"

#include <numeric>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

struct Form {
    protocol::AnswerOptions options;
    std::optional<std::int64_t> wanted;
    bool http_complete = true;
    std::size_t reads = 1;
};

RequestRecord record_of(protocol::DeltaParser& parser, const Form& form, std::string_view bytes,
                        std::uint8_t seed) {
    protocol::AnswerReader reader(parser);
    RequestRecord record;
    record.wanted_output_tokens = form.wanted;
    reader.begin(record, form.options);
    TimePoint time{std::chrono::seconds(1)};
    const std::size_t length = bytes.size() / form.reads + 1;
    for (std::size_t at = 0; at < bytes.size(); at += length) {
        bool new_read = true;
        time += std::chrono::milliseconds(1);
        for (const std::string_view piece : pieces_of(bytes.substr(at, length), seed)) {
            reader.on_body(Padded(piece).span(), time, true, new_read);
            new_read = false;
        }
    }
    reader.finish(form.http_complete);
    return record;
}

void require_record(const RequestRecord& record, const Form& form) {
    const protocol::AnswerLimits& limits = form.options.limits;
    const auto sum =
        std::accumulate(record.events.begin(), record.events.end(), std::int64_t{0},
                        [](std::int64_t n, const StreamEvent& event) { return n + event.tokens; });
    require(record.streamed_tokens == sum, "the tokens are those of the events");
    require(record.chunks == static_cast<std::int64_t>(record.events.size()), "the chunks are the events");
    require(record.events.size() <= limits.events, "there are no more events than the limit");
    for (const auto& count : {record.usage.completion, record.usage.reasoning})
        require(!count || (*count >= 0 && *count <= limits.output_tokens),
                "output tokens are within the limit");
    for (const auto& count : {record.usage.prompt, record.usage.cached_prompt})
        require(!count || (*count >= 0 && *count <= limits.prompt_tokens),
                "prompt tokens are within the limit");
    if (record.token_source == TokenSource::chunk_usage)
        require(sum <= limits.output_tokens, "tokens counted along are within the limit");
    if (record.token_source == TokenSource::usage_by_text)
        require(record.usage.completion && sum <= *record.usage.completion,
                "shares add up to what was counted");
    require((record.outcome == Outcome::ok) == record.error.empty(), "a failure says why");
    require(record.error.find('\n') == std::string::npos, "an error is one line");
    if (record.outcome == Outcome::ok && record.chunks > 0) {
        require(record.first_event && record.last_event && *record.first_event <= *record.last_event,
                "an answer with output has a first and a last event");
        require(sum > 0, "an answer with output has tokens");
    }
}

}  // namespace

void fuzz(Input input) {
    const std::uint8_t seed = input.byte();
    const std::uint8_t flags = input.byte();
    const std::uint8_t asked = input.byte();
    Form form;
    form.options.stream = (flags & 1) == 0;
    form.http_complete = (flags & 2) == 0;
    form.options.ignore_eos_accepted = (flags & 4) != 0;
    form.reads = 1 + (flags >> 6);
    if ((flags & 8) == 0) form.wanted = asked;
    form.options.limits = protocol::limits_for(form.wanted, 100);
    if ((flags & 16) != 0) {  // limits that a short answer reaches
        form.options.limits.events = 3;
        form.options.limits.stream_bytes = 8U * asked;
        form.options.limits.whole_bytes = 8U * asked;
    }
    const auto protocols = protocol::protocols();
    const protocol::Protocol& protocol =
        (flags & 32) == 0 ? protocol::default_protocol() : *protocols[input.byte() % protocols.size()];
    protocol::DeltaParser parser({}, protocol);
    const RequestRecord whole = record_of(parser, form, input.rest(), 0);
    require_record(whole, form);
    const RequestRecord cut = record_of(parser, form, input.rest(), seed);
    require(whole == cut, "a cut does not change the record");
}

}  // namespace paretoken::fuzz
