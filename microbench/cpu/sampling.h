#pragma once
// The only loop that reads the clock. Actions take turns on small windows, so that a disturbance of the
// machine affects all of them; threads meet at a barrier after each.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "microbench/collect.h"
#include "microbench/cpu/read.h"
#include "microbench/kernel.h"
#include "microbench/threads.h"

namespace paretoken::microbench {

/// The work of one thread in one round.
using Action = std::function<void(std::size_t thread, std::size_t round)>;

struct Span {
    double seconds = 1;             ///< least time,
    std::size_t least_rounds = 32;  ///< and least number of rounds
};

/// The seconds of each round of each action, until the last thread had finished.
struct Rounds {
    std::size_t first = 0;                     ///< number of the first round that was kept
    std::vector<std::vector<double>> seconds;  ///< [action][round − first]
};

/// Times the actions, whose order rotates with the rounds. A tenth of the time is warm-up and left out.
Rounds timed_rounds(PinnedThreads& threads, std::span<const Action> actions, const Span& span);

/// Times kernel windows paired with reads of the opposite side of the ring.
std::vector<PairedWindow> sample_pairs(PinnedThreads& threads, Kernel& kernel, Read ceiling,
                                       const Span& span);

/// Times the windows of each variant, each as kernel and ceiling at once; variants take turns.
std::vector<std::vector<PairedWindow>> sample_reads(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span);

/// Times each variant alone on whole walks over the memory; a walk is a window. It is for sets that caches
/// hold partly, whose windows differ, and where taking turns would find too much in the caches. The span is
/// for all variants together.
std::vector<std::vector<PairedWindow>> sample_walks(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span);

/// Returns the index of the variant with the highest upper quartile of speeds, because disturbances only slow
/// a window.
std::size_t fastest(const std::vector<std::vector<PairedWindow>>& variants);

}  // namespace paretoken::microbench
