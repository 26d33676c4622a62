#pragma once
// A watch makes a small run per interval, and writes a line for each: results, metrics, alerts and drift.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/result.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"
#include "loadgen/interruption.h"
#include "reports/files/watch_lines.h"

namespace paretoken::experiments {

struct WatchPlan {
    LoadPlan asked;  ///< an open loop with alerts and baseline; the watch sets its stop rules and adds
                     ///< the number of the interval to its seed
    Duration every = std::chrono::minutes(1);
    std::optional<Duration> duration = {};  ///< if absent, the watch lasts until it is interrupted
};

struct WatchState {
    reports::WatchLine line;
    std::uint64_t requests = 0;  ///< requests of all intervals
    std::uint64_t failed = 0;
    std::vector<AlertResult> alerts;  ///< results over all intervals; `state` is firing if it ever was
    std::vector<AlertState> now;      ///< current state of each alert
};
using OnInterval = std::function<void(const WatchState&)>;

/// Watches until the duration is over or a stop is asked for, at least one interval, writes watch.jsonl in
/// `directory` and calls `on_interval` after each; returns the last state. A server that does not answer
/// appears in the lines. Throws UsageError for wrong alerts, baseline or plan; RuntimeError for files.
WatchState watch(const Target& target, const WatchPlan& plan, const std::filesystem::path& directory,
                 Watcher& watcher, const OnInterval& on_interval, const loadgen::Interruption& interruption);

}  // namespace paretoken::experiments
