#pragma once
// Counters of a run in progress, written by workers and read by whoever draws the progress line. Relaxed
// atomics: each is right, together they may be a moment apart.
#include <atomic>
#include <cstdint>

namespace paretoken::loadgen {

struct Progress {
    std::atomic<std::uint64_t> started{0};  ///< measured requests
    std::atomic<std::uint64_t> finished{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> in_flight{0};
    std::atomic<std::uint64_t> output_tokens{0};
    std::atomic<bool> warming_up{true};
};

}  // namespace paretoken::loadgen
