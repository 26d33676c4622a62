#pragma once
// Reads the named events of a stream of Messages or Responses, for the tests of their writers.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulator/answers/answer_writer.h"
#include "simulator/answers/dialect.h"
#include "tests/support/golden.h"

namespace paretoken::sim::testing_events {

struct NamedEvent {
    std::string name;  ///< empty: none
    nlohmann::json data;
};

inline std::vector<NamedEvent> events_in(std::string_view body) {
    std::vector<NamedEvent> events;
    while (!body.empty()) {
        const std::string_view event = body.substr(0, body.find("\n\n"));
        body.remove_prefix(std::min(body.size(), event.size() + 2));
        const std::size_t data = event.find("data: ");
        const bool named = event.starts_with("event: ");
        events.push_back({named ? std::string(event.substr(7, event.find('\n') - 7)) : std::string(),
                          nlohmann::json::parse(event.substr(data + 6))});
    }
    return events;
}

/// Returns the HTTP message of a stream, with `per_step` tokens per step. state.events is kept up.
inline std::string http_of(const AnswerTerms& terms, std::int64_t per_step, AnswerState state) {
    const auto made = answer_writer(terms);
    std::string out = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    made->append_opening(out);
    std::vector<std::int32_t> events;
    for (std::int64_t k = 0; k < terms.plan.tokens; k += per_step) {
        const std::int64_t count = std::min(per_step, terms.plan.tokens - k);
        state.events = static_cast<std::int64_t>(events.size());
        made->append_tokens(out, k, count, state);
        made->append_event_tokens(events, k, count);
    }
    state.events = static_cast<std::int64_t>(events.size());
    made->append_closing(out, state);
    return out;
}

inline std::vector<NamedEvent> stream_of(const AnswerTerms& terms, std::int64_t per_step = 1,
                                         const AnswerState& state = {}) {
    return events_in(paretoken::testing::body_of(http_of(terms, per_step, state)));
}

}  // namespace paretoken::sim::testing_events
