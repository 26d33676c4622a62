// Result files of other load generators: each reader refuses a file or gives requests whose times and counts
// are in order.
#include "reports/files/interop/foreign.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

void check(const RequestRecord& record) {
    require(record.sent.has_value(), "a request was sent");
    require(record.closed >= *record.sent, "a request ends after it was sent");
    require(record.chunks == static_cast<std::int64_t>(record.events.size()), "every event is counted");
    require(std::is_sorted(record.events.begin(), record.events.end(),
                           [](const StreamEvent& a, const StreamEvent& b) { return a.time < b.time; }),
            "the events of an answer are in order");
    std::int64_t tokens = 0;
    for (const StreamEvent& event : record.events) tokens += event.tokens;
    require(record.events.empty() || tokens == record.streamed_tokens, "the events have all tokens");
    require(record.first_event.has_value() == record.first_answer.has_value(), "no reasoning is told");
}

}  // namespace

void fuzz(Input input) {
    const MemoryFile file(input.rest());
    for (const reports::ForeignFormat& format : reports::foreign_formats()) {
        (void)format.recognises(input.rest());
        refuses([&] {
            for (const reports::ForeignRun& run : reports::foreign_runs_in(format, file.path()))
                run.for_each_request([](RequestRecord&& record) { check(record); });
        });
    }
}

}  // namespace paretoken::fuzz
