#pragma once
// Counters of a run in progress for the display: relaxed atomics, each exact, but of slightly different
// times. A worker writes them when a request begins and ends, never for a single token.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/histogram.h"
#include "core/record/record.h"

namespace paretoken::loadgen {

/// Warm-up requests count in `in_flight` only.
struct Progress {
    std::atomic<std::uint64_t> started{0};  ///< measured requests
    std::atomic<std::uint64_t> finished{0};
    /// Jobs or conversations whose first turn has ended; equals `finished` without further turns.
    std::atomic<std::uint64_t> conversations{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> in_flight{0};
    std::atomic<std::uint64_t> output_tokens{0};  ///< streamed tokens of the requests that have ended
    std::atomic<bool> warming_up{true};           ///< whether no measured request has been started
    std::array<std::atomic<std::uint64_t>, kOutcomes> outcomes{};  ///< measured requests by their outcome
    LiveHistogram ttft;                                            ///< time to first token, from the sending
    LiveHistogram itl;  ///< times between tokens, of a few from each request
    LiveHistogram lag;  ///< the client's own delay of each request

    void count_start(bool warmup) {
        in_flight.fetch_add(1, std::memory_order_relaxed);
        if (warmup) return;
        started.fetch_add(1, std::memory_order_relaxed);
        warming_up.store(false, std::memory_order_relaxed);
    }

    void count_end(const RequestRecord& record) {
        in_flight.fetch_sub(1, std::memory_order_relaxed);
        if (record.warmup) return;
        if (is_opening(record)) conversations.fetch_add(1, std::memory_order_relaxed);
        finished.fetch_add(1, std::memory_order_relaxed);
        if (is_failure(record.outcome)) failed.fetch_add(1, std::memory_order_relaxed);
        output_tokens.fetch_add(static_cast<std::uint64_t>(record.streamed_tokens),
                                std::memory_order_relaxed);
        outcomes[static_cast<std::size_t>(record.outcome)].fetch_add(1, std::memory_order_relaxed);
        if (record.sent && record.first_event) ttft.add(*record.first_event - *record.sent);
        if (const auto delay = loop_lag_of(record)) lag.add(*delay);
        add_gaps(record.events);
    }

  private:
    /// Adds at most 8 gaps, spread evenly, so that the cost does not grow with the length of an answer.
    void add_gaps(const std::vector<StreamEvent>& events) {
        constexpr std::size_t kGaps = 8;
        const std::size_t step = std::max<std::size_t>(events.size() / kGaps, 1);
        for (std::size_t i = 1; i < events.size(); i += step)
            if (!events[i].same_read && events[i].choice == events[i - 1].choice)
                itl.add(events[i].time - events[i - 1].time);
    }
};

}  // namespace paretoken::loadgen
