#pragma once
// The loop that times the rows of the CPU. In every round each action (a kernel's work on a window, or a read
// of one) runs once on all threads, in turns; the threads meet at a barrier after each.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "microbench/collect.h"
#include "microbench/cpu/read.h"
#include "microbench/kernel.h"
#include "microbench/threads.h"

namespace paretoken::microbench {

using Action = std::function<void(std::size_t thread, std::size_t round)>;

struct Span {
    double seconds = 1;             ///< least time, after the warm-up
    std::size_t least_rounds = 32;  ///< least number of rounds, after the warm-up
};

/// The seconds that each action took in each round, until its last thread had finished.
struct Rounds {
    std::size_t first = 0;                     ///< number of the first round that was kept
    std::vector<std::vector<double>> seconds;  ///< [action][round − first]
};

/// Times the actions until both limits of `span` are reached, after a warm-up of a tenth of `span.seconds`,
/// whose rounds are left out. The order of the actions rotates with the rounds.
Rounds timed_rounds(PinnedThreads& threads, std::span<const Action> actions, const Span& span);

/// Times kernel windows, each paired with a read of the window that is half a ring away.
std::vector<PairedWindow> sample_pairs(PinnedThreads& threads, Kernel& kernel, Read ceiling,
                                       const Span& span);

/// Times reads of the windows of `memory` by each variant, in turns and on different windows. Returns each
/// variant's windows in order of time; the figures stand both for the kernel and for the ceiling.
std::vector<std::vector<PairedWindow>> sample_reads(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span);

/// Like sample_reads(), but times one variant after the other, for working sets that are partly in caches:
/// each for an equal share of `span.seconds` and at least `span.least_rounds` rounds. One read of the whole
/// memory is one round and gives one PairedWindow.
std::vector<std::vector<PairedWindow>> sample_walks(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span);

/// Returns the index of the variant whose windows have the highest upper quartile of bytes per second. The
/// upper quartile is used because disturbances only slow a window.
std::size_t fastest(const std::vector<std::vector<PairedWindow>>& variants);

}  // namespace paretoken::microbench
