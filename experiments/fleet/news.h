#pragma once
// What the shards of one load tell each other while it is made, as JSON. Times are counted from the common
// beginning of the load, which every shard knows on its own clock.
#include <cstdint>
#include <string>

#include "core/run/stopped.h"
#include "loadgen/load/stop_monitor.h"
#include "loadgen/progress.h"

namespace paretoken::experiments {

/// The counters of a load in progress (loadgen::Progress) at one moment.
struct ProgressCounts {
    std::uint64_t started = 0;
    std::uint64_t finished = 0;
    std::uint64_t conversations = 0;
    std::uint64_t failed = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t output_tokens = 0;

    bool operator==(const ProgressCounts&) const = default;
};
ProgressCounts counts_of(const loadgen::Progress& progress);
/// Adds what another shard counted from `before` to `now`.
void add(loadgen::Progress& progress, const ProgressCounts& before, const ProgressCounts& now);

struct News {
    loadgen::StopMonitor::Told told = {};
    ProgressCounts counts = {};
};
std::string text_of(const News& news, TimePoint zero);
/// Throws UsageError if the text is no news.
News parse_news(const std::string& text, TimePoint zero);

std::string text_of(const Stopped& stopped, TimePoint zero);
Stopped parse_stopped(const std::string& text, TimePoint zero);

}  // namespace paretoken::experiments
