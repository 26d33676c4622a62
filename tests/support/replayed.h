#pragma once
// Feeds the body of an answer to the parser of a protocol, without sockets, and returns the record of the
// request.
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/protocol/answer.h"
#include "tests/support/golden.h"

namespace paretoken::testing {

/// The time at which the read with this number, counted from 1, arrives in answer_of() and replayed().
constexpr TimePoint at_read(int number) {
    return TimePoint(std::chrono::milliseconds(number));
}

/// Returns a server-sent event with this data.
inline std::string event_of(std::string_view json) {
    return "data: " + std::string(json) + "\n\n";
}

/// Returns the kinds of the record's events, in order.
inline std::vector<EventKind> kinds_of(const RequestRecord& record) {
    std::vector<EventKind> kinds;
    kinds.reserve(record.events.size());
    for (const StreamEvent& event : record.events) kinds.push_back(event.kind);
    return kinds;
}

/// Returns the record of an answer with a complete body. Each piece of the body arrives as a read of its own,
/// the first at 1 ms and the others a millisecond apart. `record` has what was known before the answer.
inline RequestRecord answer_of(const std::vector<std::string>& pieces, const protocol::Protocol& protocol,
                               protocol::AnswerOptions options = {}, RequestRecord record = {}) {
    protocol::DeltaParser parser({}, protocol);
    protocol::AnswerReader reader(parser);
    reader.begin(record, options);
    TimePoint time{};
    for (const std::string& piece : pieces) {
        protocol::PaddedBuffer padded;
        padded.append(piece);
        time += std::chrono::milliseconds(1);
        reader.on_body({padded.view().data(), padded.size()}, time, true, true);
    }
    reader.finish(true);
    return record;
}

/// Returns the record of an answer that was recorded in the file `name` of tests/golden. Every HTTP chunk
/// arrives as a read of its own, as in answer_of().
inline RequestRecord replayed(std::string_view name, const protocol::Protocol& protocol,
                              protocol::AnswerOptions options = {}) {
    return answer_of(body_chunks(golden(name)), protocol, options);
}

}  // namespace paretoken::testing
