#pragma once
// The one loop that reads the clock. Actions take turns on small windows, so that what disturbs the machine
// for a while disturbs all of them; threads meet at a barrier after each.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "microbench/collect.h"
#include "microbench/cpu/read.h"
#include "microbench/kernel.h"
#include "microbench/threads.h"

namespace paretoken::microbench {

/// What one thread does in one round.
using Action = std::function<void(std::size_t thread, std::size_t round)>;

struct Span {
    double seconds = 1;             ///< go on for this long,
    std::size_t least_rounds = 32;  ///< but not for fewer rounds
};

/// Seconds that each round of each action took until the last thread was through.
struct Rounds {
    std::size_t first = 0;                     ///< number of the first round that was kept
    std::vector<std::vector<double>> seconds;  ///< [action][round − first]
};

/// The order of the actions turns with the rounds. A tenth of the time is warm-up and left out.
Rounds timed_rounds(PinnedThreads& threads, std::span<const Action> actions, const Span& span);

/// Kernel windows paired with reads of the opposite side of the ring.
std::vector<PairedWindow> sample_pairs(PinnedThreads& threads, Kernel& kernel, Read ceiling,
                                       const Span& span);

/// The windows of each variant, as kernel and as ceiling at once; variants take turns.
std::vector<std::vector<PairedWindow>> sample_reads(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span);

/// Each variant alone on whole walks over the memory, a walk being a window: for sets that caches hold a part
/// of, where windows differ and turns would find more than their share. The span is for all variants
/// together.
std::vector<std::vector<PairedWindow>> sample_walks(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span);

/// Index of the variant whose upper quartile of speeds is the highest: what disturbs a window only ever slows
/// it.
std::size_t fastest(const std::vector<std::vector<PairedWindow>>& variants);

}  // namespace paretoken::microbench
