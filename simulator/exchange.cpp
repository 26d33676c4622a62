#include "simulator/exchange.h"

#include <algorithm>

namespace paretoken::sim {

AnswerState state_of(const TruthEntry& truth, TimePoint end) {
    AnswerState state{.cached_tokens = truth.cached_tokens};
    state.events = static_cast<std::int64_t>(truth.tokens.size());
    state.prefill = truth.due.front() - truth.admitted;
    state.decode = end - truth.due.front();
    return state;
}

bool strikes(std::optional<std::int64_t> after, const Emission& emission) {
    return after && *after >= emission.index && *after < emission.index + emission.tokens;
}

Emission rest_of(Emission emission, std::int64_t index) {
    emission.tokens -= index - emission.index;
    emission.index = index;
    return emission;
}

std::optional<std::int64_t> strike_inside(const InjectedFaults& how, const Emission& emission) {
    std::optional<std::int64_t> first;
    for (const auto& after : {how.reset_after, how.error_after, how.truncate_after, how.stall_after})
        if (strikes(after, emission) && *after > emission.index)
            first = std::min(first.value_or(*after), *after);
    return first;
}

bool any_multiple(std::int64_t every, const Emission& emission) {
    const std::int64_t next = (emission.index + every - 1) / every * every;
    return next < emission.index + emission.tokens;
}

}  // namespace paretoken::sim
