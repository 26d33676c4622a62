#pragma once
// Watches a run for its stop rules: told of every start and every end, it says when nothing more is to be
// started, and why. What it says is a function of what it was told; it neither sleeps nor sends. Workers tell
// it from their threads; rules that need statistics are looked at by whoever calls look().
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/units.h"
#include "loadgen/limits.h"

namespace paretoken::loadgen {

/// Why nothing more was started, and when.
struct Stopped {
    std::string rule;  ///< name of a stop rule, or "interrupted"
    TimePoint at;
    std::string text;  ///< one sentence

    bool operator==(const Stopped&) const = default;
};

struct StopMonitorOptions {
    std::vector<StopRule> rules = {};
    bool open_loop = false;
    bool stationary = false;  ///< the rate of arrivals is constant: divergence is watched for by default
    std::optional<std::uint64_t> concurrency = {};  ///< as in core/result/summary.h
};

class StopMonitor {
  public:
    explicit StopMonitor(StopMonitorOptions options);

    void started(const RequestRecord& record);
    void ended(const RequestRecord& record);

    /// Evaluates the rules that need statistics, if enough has happened since the last look. From one thread
    /// only, and it holds nobody else up.
    void look(TimePoint now);

    /// Whether look() has anything to do.
    bool needs_looks() const { return watches_divergence_ || keeps_records_; }

    /// A rule was met: nothing more is to be started.
    bool is_met() const { return met_.load(std::memory_order_relaxed); }
    /// The first rule that was met.
    std::optional<Stopped> stopped() const;

  private:
    struct Ended {
        TimePoint scheduled;
        TimePoint at;
        double waited_s = 0;  ///< from its schedule to its first token
    };

    void meet(StopKind kind, TimePoint at, std::string text);  ///< with the mutex held
    void check_counts(TimePoint at);
    void take_news();
    void check_statistics(TimePoint now);
    void check_divergence(TimePoint now);
    const StopRule* rule_of(StopKind kind) const;

    StopMonitorOptions options_;
    bool watches_divergence_;
    bool keeps_records_;
    mutable std::mutex mutex_;
    std::atomic<bool> met_{false};
    std::optional<Stopped> stopped_;
    std::uint64_t ended_ = 0;  ///< measured ones
    std::uint64_t failed_ = 0;
    std::uint64_t tokens_ = 0;
    std::uint64_t next_look_ = 0;  ///< ended requests

    /// The values that the rules based on statistics evaluate.
    struct Told {
        std::vector<TimePoint> due;  ///< of the requests that were started
        std::vector<Ended> ended;    ///< where divergence is watched for
        RequestTable records;        ///< where percentiles are needed
    };
    Told news_;   ///< since the last look
    Told known_;  ///< before it; only look() touches it
};

/// Whether a load grows beyond what its server can serve; the text says how. Pure, for tests.
/// `due`: when requests were due; `ended`: when they ended and how long they had waited for their first
/// token, in seconds since the first was due; `now_s` likewise.
struct CourseOfLoad {
    std::vector<double> due_s;
    struct End {
        double due_s = 0;
        double at_s = 0;
        double waited_s = 0;
    };
    std::vector<End> ends;
    double now_s = 0;
};
std::optional<std::string> divergence_of(const CourseOfLoad& course);

}  // namespace paretoken::loadgen
