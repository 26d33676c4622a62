#pragma once
// Evaluates the stop rules of a run from every start and every end. The workers' threads call started() and
// ended(), for rules that only count; another thread calls look(), for those that need statistics.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/run/stopped.h"
#include "core/units.h"
#include "loadgen/load/limits.h"

namespace paretoken::loadgen {

struct StopMonitorOptions {
    std::vector<StopRule> rules = {};
    bool open_loop = false;
    /// Whether the rate of arrivals is constant. An open loop is then checked for divergence unless a rule
    /// "diverging=off" forbids it; otherwise only a rule "diverging" causes the check.
    bool stationary = false;
    std::vector<TimeSpan> constant_rate = {};  ///< SummaryOptions::constant_rate (core/result/summary.h)
    /// Cap on the requests in flight, if the load can fill it (CombinedLoad::filled_cap); otherwise nothing.
    std::optional<std::uint64_t> concurrency = {};
    /// Whether the monitor only collects what it is told, because the monitor of another shard decides.
    bool forwards = false;
};

class StopMonitor {
  public:
    struct Ended {
        TimePoint scheduled;
        TimePoint at;
        double waited_s = 0;  ///< seconds from `scheduled` to the first token, or to `at` if there was none
    };

    /// The values that the rules evaluate. A monitor collects only those that its own rules need.
    struct Told {
        std::uint64_t ended_requests = 0;  ///< measured requests, without cancelled ones
        std::uint64_t failed_requests = 0;
        std::uint64_t output_tokens = 0;
        std::vector<TimePoint> due = {};  ///< when started requests were due
        /// When the last started request was due that is not a further turn of a conversation.
        TimePoint last_arrival = TimePoint::min();
        std::vector<Ended> ended = {};  ///< filled if divergence is checked
        RequestTable records = {};      ///< filled if percentiles are needed
    };

    explicit StopMonitor(StopMonitorOptions options);

    /// Tells of the start of a request. Warm-up requests have no effect.
    void started(const RequestRecord& record);
    /// Tells of the end of a request. Warm-up and cancelled requests have no effect.
    void ended(const RequestRecord& record);

    /// Evaluates the rules that need statistics (precision, slo, diverging) after 50 measured requests, and
    /// whenever their number has grown by a quarter, until a rule was met. Only one thread may call it. It
    /// holds the mutex only while it takes what is new, so that no worker waits for it.
    void look(TimePoint now);

    /// Returns whether look() has anything to do.
    bool needs_looks() const { return !options_.forwards && (watches_divergence_ || keeps_records_); }

    /// Returns whether a rule was met, so that nothing more is to be started.
    bool is_met() const { return met_.load(std::memory_order_relaxed); }
    std::optional<Stopped> stopped() const;

    /// Ends the load for a reason from outside, unless a rule was met before.
    void end(Stopped stopped);

    /// Returns and forgets what the monitor was told since the last call. A monitor of a shard, which decides
    /// nothing (StopMonitorOptions::forwards), is asked for it.
    Told take_told();
    /// Adds what the monitor of another shard was told.
    void add(const Told& told);

  private:
    void meet(StopKind kind, TimePoint at, std::string text);  ///< called with the mutex held
    void count(const Told& told, TimePoint at);                ///< called with the mutex held
    void check_counts(TimePoint at);
    static void append(const Told& news, Told& to);
    void check_statistics(TimePoint now);
    void check_divergence(TimePoint now);
    const StopRule* rule_of(StopKind kind) const;

    StopMonitorOptions options_;
    bool watches_divergence_;
    bool keeps_records_;
    mutable std::mutex mutex_;
    std::atomic<bool> met_{false};
    std::optional<Stopped> stopped_;
    Told counted_ = {};            ///< counts of all requests; the rest of it is not used
    std::uint64_t next_look_ = 0;  ///< number of ended requests at which look() evaluates next

    Told news_;   ///< values since the last look
    Told known_;  ///< values before it; only look() uses them
};

/// The course of a load until `now_s`. Times are in seconds since the first request was due.
struct CourseOfLoad {
    std::vector<double> due_s;  ///< when requests were due, including those that are not over
    struct End {
        double due_s = 0;
        double at_s = 0;      ///< when the request ended
        double waited_s = 0;  ///< seconds from `due_s` to its first token, or to its end if it had none
    };
    std::vector<End> ends;  ///< requests that have ended
    double now_s = 0;
};
/// Returns a sentence if the load diverges: significantly fewer requests are served than arrive, and waits
/// grow accordingly. Nothing otherwise, in the first 10 s, and below 100 ended requests.
std::optional<std::string> divergence_of(const CourseOfLoad& course);

}  // namespace paretoken::loadgen
