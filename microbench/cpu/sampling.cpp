#include "microbench/cpu/sampling.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/statistics.h"
#include "core/units.h"

namespace paretoken::microbench {
namespace {

constexpr double kWarmUpShare = 0.1;

/// Prevents the compiler from removing an unused value.
void keep(std::uint64_t value) {
    asm volatile("" : : "r"(value) : "memory");
}

struct Deadlines {
    TimePoint warm;
    TimePoint end;
};

Deadlines deadlines_from_now(double seconds) {
    const TimePoint now = Clock::now();
    const TimePoint warm = now + from_seconds(seconds * kWarmUpShare);
    return {warm, warm + from_seconds(seconds)};
}

/// Returns the window of `count` that lies opposite of `index`.
std::size_t opposite(std::size_t index, std::size_t count) {
    return (index + count / 2) % count;
}

/// A contiguous part of a window for a Read, and the memory that is read 8 KiB or a little more later.
struct Stretch {
    std::span<const std::byte> part;
    const std::byte* coming = nullptr;
};

/// Calls `visit` with each contiguous part of a window, in the kernel's order.
template <class Visit>
void for_each_stretch(const Window& window, Visit visit) {
    constexpr std::size_t kAhead = 8192;
    if (window.pages.empty()) {
        const auto part = readable_part(window.data, window.size);
        return visit(Stretch{part, part.data()});
    }
    const std::size_t ahead = (kAhead + window.page_size - 1) / window.page_size;
    for (std::size_t i = 0; i < window.pages.size(); ++i) {
        const std::size_t coming = i + ahead < window.pages.size() ? i + ahead : i;
        visit(Stretch{readable_part(window.data + window.pages[i] * window.page_size, window.page_size),
                      window.data + window.pages[coming] * window.page_size});
    }
}

/// Returns the bytes of a window that the ceiling reads, over all threads.
double readable_bytes(const Kernel& kernel, std::size_t threads, std::size_t index) {
    double bytes = 0;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        for_each_stretch(kernel.window(thread, index),
                         [&](const Stretch& stretch) { bytes += static_cast<double>(stretch.part.size()); });
    }
    return bytes;
}

void read_window(const Kernel& kernel, Read read, std::size_t thread, std::size_t index) {
    for_each_stretch(kernel.window(thread, index), [&](const Stretch& stretch) {
        keep(read(stretch.part.data(), stretch.part.size(), stretch.coming));
    });
}

/// Returns the window of a read, which is its own ceiling.
PairedWindow window_of_read(double took, double bytes) {
    return {.kernel_s = took, .ceiling_s = took, .kernel_bytes = bytes, .ceiling_bytes = bytes, .flops = 0};
}

double upper_quartile_of_speed(const std::vector<PairedWindow>& windows) {
    std::vector<double> speeds;
    speeds.reserve(windows.size());
    for (const PairedWindow& window : windows) speeds.push_back(window.kernel_bytes / window.kernel_s);
    std::ranges::sort(speeds);
    return percentile(speeds, .75);
}

}  // namespace

Rounds timed_rounds(PinnedThreads& threads, std::span<const Action> actions, const Span& span) {
    Rounds rounds{.first = 0, .seconds = std::vector<std::vector<double>>(actions.size())};
    SpinBarrier barrier(threads.size());
    std::atomic<std::size_t> end_round = std::numeric_limits<std::size_t>::max();
    threads.run([&](std::size_t thread) {
        barrier.wait();
        const Deadlines deadlines = deadlines_from_now(span.seconds);
        TimePoint begin = Clock::now();
        for (std::size_t round = 0; round < end_round.load(std::memory_order_relaxed); ++round) {
            const bool warming_up = begin < deadlines.warm;
            if (thread == 0) {  // the others read it after this round's barriers; those still before it go on
                if (warming_up) rounds.first = round + 1;
                const bool enough = round + 1 >= rounds.first + span.least_rounds;
                if (enough && begin >= deadlines.end) end_round.store(round + 1, std::memory_order_relaxed);
            }
            for (std::size_t turn = 0; turn < actions.size(); ++turn) {
                const std::size_t action = (turn + round) % actions.size();
                actions[action](thread, round);
                barrier.wait();
                if (thread != 0) continue;
                const TimePoint end = Clock::now();
                if (!warming_up) rounds.seconds[action].push_back(seconds(end - begin));
                begin = end;
            }
        }
    });
    return rounds;
}

std::vector<PairedWindow> sample_pairs(PinnedThreads& threads, Kernel& kernel, Read ceiling,
                                       const Span& span) {
    const std::size_t count = kernel.window_count();
    const Action actions[] = {
        [&](std::size_t thread, std::size_t round) { kernel.run(thread, round % count); },
        [&](std::size_t thread, std::size_t round) {
            read_window(kernel, ceiling, thread, opposite(round % count, count));
        }};
    const Rounds rounds = timed_rounds(threads, actions, span);
    std::vector<PairedWindow> windows;
    for (std::size_t i = 0; i < rounds.seconds[0].size(); ++i) {
        const std::size_t index = (rounds.first + i) % count;
        const Window window = kernel.window(0, index);
        const auto all = static_cast<double>(threads.size());
        windows.push_back({.kernel_s = rounds.seconds[0][i],
                           .ceiling_s = rounds.seconds[1][i],
                           .kernel_bytes = static_cast<double>(window.bytes) * all,
                           .ceiling_bytes = readable_bytes(kernel, threads.size(), opposite(index, count)),
                           .flops = window.flops * all});
    }
    return windows;
}

std::vector<std::vector<PairedWindow>> sample_reads(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span) {
    const std::size_t count = memory.window_count();
    const auto window_of = [&](std::size_t variant, std::size_t round) {
        return (round + variant * count / variants.size()) % count;
    };
    std::vector<Action> actions;
    for (std::size_t v = 0; v < variants.size(); ++v) {
        actions.emplace_back([&, v](std::size_t thread, std::size_t round) {
            read_window(memory, variants[v].read, thread, window_of(v, round));
        });
    }
    const Rounds rounds = timed_rounds(threads, actions, span);
    std::vector<std::vector<PairedWindow>> result(variants.size());
    for (std::size_t v = 0; v < variants.size(); ++v) {
        for (std::size_t i = 0; i < rounds.seconds[v].size(); ++i) {
            const double bytes = readable_bytes(memory, threads.size(), window_of(v, rounds.first + i));
            result[v].push_back(window_of_read(rounds.seconds[v][i], bytes));
        }
    }
    return result;
}

std::vector<std::vector<PairedWindow>> sample_walks(PinnedThreads& threads, const Kernel& memory,
                                                    std::span<const ReadVariant> variants, const Span& span) {
    double bytes = 0;
    for (std::size_t i = 0; i < memory.window_count(); ++i)
        bytes += readable_bytes(memory, threads.size(), i);
    std::vector<std::vector<PairedWindow>> result;
    for (const ReadVariant& variant : variants) {
        const Action walk = [&](std::size_t thread, std::size_t) {
            for (std::size_t i = 0; i < memory.window_count(); ++i)
                read_window(memory, variant.read, thread, i);
        };
        const Span share{.seconds = span.seconds / static_cast<double>(variants.size()),
                         .least_rounds = span.least_rounds};
        const Rounds rounds = timed_rounds(threads, {&walk, 1}, share);
        auto& windows = result.emplace_back();
        for (const double took : rounds.seconds[0]) windows.push_back(window_of_read(took, bytes));
    }
    return result;
}

std::size_t fastest(const std::vector<std::vector<PairedWindow>>& variants) {
    std::size_t best = 0;
    for (std::size_t v = 1; v < variants.size(); ++v) {
        if (upper_quartile_of_speed(variants[v]) > upper_quartile_of_speed(variants[best])) best = v;
    }
    return best;
}

}  // namespace paretoken::microbench
