#pragma once
// Counters of a run in progress, written by workers and read by the progress line. They are relaxed atomics:
// each is exact, but two of them may be of slightly different times.
#include <atomic>
#include <cstdint>

#include "core/record/record.h"

namespace paretoken::loadgen {

/// Warm-up requests count in `in_flight` only.
struct Progress {
    std::atomic<std::uint64_t> started{0};  ///< measured requests
    std::atomic<std::uint64_t> finished{0};
    /// Conversations whose first turn has ended. Equals `finished` if every request is a conversation by
    /// itself.
    std::atomic<std::uint64_t> conversations{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> in_flight{0};
    std::atomic<std::uint64_t> output_tokens{0};  ///< streamed tokens of the requests that have ended
    std::atomic<bool> warming_up{true};           ///< whether no measured request has been started

    void count_start(bool warmup) {
        in_flight.fetch_add(1, std::memory_order_relaxed);
        if (warmup) return;
        started.fetch_add(1, std::memory_order_relaxed);
        warming_up.store(false, std::memory_order_relaxed);
    }

    void count_end(const RequestRecord& record) {
        in_flight.fetch_sub(1, std::memory_order_relaxed);
        if (record.warmup) return;
        if (!record.turn || record.turn->number == 0) conversations.fetch_add(1, std::memory_order_relaxed);
        finished.fetch_add(1, std::memory_order_relaxed);
        if (is_failure(record.outcome)) failed.fetch_add(1, std::memory_order_relaxed);
        output_tokens.fetch_add(static_cast<std::uint64_t>(record.streamed_tokens),
                                std::memory_order_relaxed);
    }
};

}  // namespace paretoken::loadgen
