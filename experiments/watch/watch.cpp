#include "experiments/watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/plan/plan_fields.h"
#include "core/record/event_source.h"
#include "core/result/metrics.h"
#include "core/run/result_of.h"
#include "experiments/alerting.h"
#include "experiments/server/provenance.h"
#include "experiments/server/redaction.h"
#include "experiments/watch/drift.h"
#include "reports/files/file_io.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

/// The metrics that are checked for drift: the headline latency of the first token, and time per output
/// token.
constexpr std::array<std::string_view, 2> kDriftMetrics = {"ttft", "tpot"};

/// Keeps the records of one interval in memory, with their events.
class KeepingSink final : public RecordSink {
  public:
    void record(RequestRecord&& record) override {
        const std::lock_guard lock(mutex_);
        records_.push_back(std::move(record));
    }
    const std::vector<RequestRecord>& records() const { return records_; }

  private:
    std::mutex mutex_;
    std::vector<RequestRecord> records_;
};

void add_value(const Metric& metric, const RequestRecord& record, std::vector<double>& values) {
    if (record.warmup || record.outcome != Outcome::ok) return;
    if (const auto value = metric.of_request(record)) values.push_back(*value);
}

const Metric& drift_metric(std::string_view tag) {
    return *headline_metric(tag, true);
}

/// Returns what drift is compared with, from a baseline's requests, by metric.
std::map<std::string, DriftReference> drift_references(const LoadPlan& plan) {
    if (plan.baseline.empty()) return {};
    std::map<std::string, std::vector<double>> values;
    for (const fs::path& directory : reports::find_run_directories(plan.baseline))
        (void)reports::for_each_record(directory / reports::kRecordsFileName, TimePoint{},
                                       [&](RequestRecord&& record) {
                                           for (const std::string_view tag : kDriftMetrics)
                                               add_value(drift_metric(tag), record, values[std::string(tag)]);
                                       });
    std::map<std::string, DriftReference> references;
    for (const auto& [tag, of] : values)
        if (const auto reference = drift_reference(of)) references.emplace(tag, *reference);
    return references;
}

/// Returns the plan of one interval; each has its own prompts and arrivals.
LoadPlan interval_plan(const WatchPlan& plan, std::uint64_t number) {
    LoadPlan asked = plan.asked;
    asked.stop = {.requests = {}, .duration = plan.every, .rules = {"diverging=off"}};
    asked.seed += number;
    return asked;
}

/// Returns the arrivals that are due within `length`.
loadgen::Arrivals within(loadgen::Arrivals arrivals, Duration length) {
    arrivals.times = [times = std::move(arrivals.times),
                      length](std::uint64_t seed) -> loadgen::ArrivalTimes {
        return [next = times(seed), length]() -> std::optional<Duration> {
            const auto at = next();
            return at && *at < length ? at : std::nullopt;
        };
    };
    return arrivals;
}

/// Sleeps until `until`, or until a stop is requested.
void sleep_until(TimePoint until, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any sleeping;
    std::unique_lock lock(mutex);
    (void)sleeping.wait_until(lock, stop, until, [] { return false; });
}

/// Warns while requests of an interval go on after its end, so that a server that hangs is seen before its
/// requests time out.
class HangingTeller {
  public:
    HangingTeller(Watcher& watcher, const loadgen::Progress& progress, std::uint64_t interval, TimePoint end,
                  Duration timeout)
        : thread_([=, &watcher, &progress](const std::stop_token& over) {
              for (TimePoint due = end + kPatience;; due += kRepeat) {
                  sleep_until(due, over);
                  if (over.stop_requested()) return;
                  watcher.warn(fmt::format(
                      "interval {} ended {:.0f} s ago, and {} of its requests have not ended; the next "
                      "interval "
                      "begins when they have, at the latest {:.0f} s after they were sent (--timeout)",
                      interval, seconds(due - end), progress.in_flight.load(), seconds(timeout)));
              }
          }) {}

  private:
    static constexpr Duration kPatience = std::chrono::seconds(10);
    static constexpr Duration kRepeat = std::chrono::seconds(15);

    std::jthread thread_;
};

class Watch {
  public:
    Watch(const Target& target, const WatchPlan& plan, const fs::path& directory)
        : target_(target),
          plan_(plan),
          alerting_(alerting_of(plan.asked)),
          file_(directory / reports::kWatchFileName),
          began_(Clock::now()) {
        for (const AlertRule& rule : alerting_.rules) {
            const auto known = alerting_.baseline.find(rule.series);
            judges_.emplace_back(
                rule, known == alerting_.baseline.end() ? std::nullopt : std::optional(known->second));
        }
        const std::map<std::string, DriftReference> references = drift_references(plan.asked);
        for (const std::string_view tag : kDriftMetrics) {
            const auto known = references.find(std::string(tag));
            trackers_.emplace_back(known == references.end() ? std::nullopt : std::optional(known->second));
        }
    }

    const Alerting& alerting() const { return alerting_; }

    bool is_over() const { return plan_.duration && now_s() >= seconds(*plan_.duration); }

    /// Runs the load of one interval and returns the state after it.
    const WatchState& next(Watcher& watcher, const loadgen::Interruption& interruption) {
        const double begin_s = now_s();
        Load load = target_.load_for(interval_plan(plan_, ++number_));
        load.server_age = from_seconds(computed_s_);
        if (number_ == 1) warn_of_baseline(load, watcher);
        const TimePoint began = Clock::now();
        for (loadgen::ClassLoad& of : load.options.classes) {
            of.arrivals = within(std::move(of.arrivals), plan_.every);
            of.limits.duration.reset();
        }
        target_.get_ready(load);
        KeepingSink kept;
        RedactingSink sink(kept, target_.secrets());
        loadgen::Progress progress;
        Recorded recorded{.begun = {.shape = loadgen::shape_of(load.options)}};
        {
            std::optional<HangingTeller> telling;
            if (!target_.in_virtual_time())
                telling.emplace(watcher, progress, number_, began + plan_.every, plan_.asked.request_timeout);
            recorded.observed = target_.make(load, sink, progress, interruption);
        }
        recorded.events = std::make_shared<KeptEvents>(kept.records());
        RunResult result = result_of(recorded, {});
        redact(result, target_.secrets());
        if (!target_.in_virtual_time()) sleep_until(began + plan_.every, interruption.stop_starting);
        computed_s_ += seconds(plan_.every);
        tell(result, kept.records(), begin_s);
        return state_;
    }

    void write() { file_.add(state_.line); }

  private:
    /// Returns the time since the start. In virtual time each interval takes its planned length.
    double now_s() const { return target_.in_virtual_time() ? computed_s_ : seconds(Clock::now() - began_); }

    void warn_of_baseline(const Load& load, Watcher& watcher) const {
        Workload workload;
        workload.fingerprint = workload_fingerprint(load.plan);
        if (const std::string doubt = baseline_doubt(alerting_, workload); !doubt.empty())
            watcher.warn(doubt);
    }

    void tell(const RunResult& result, const std::vector<RequestRecord>& records, double begin_s) {
        reports::WatchLine line{.interval = number_,
                                .at = utc_now(),
                                .begin_s = begin_s,
                                .end_s = now_s(),
                                .requests = result.counts.requests,
                                .failed = result.counts.failed};
        line.figures = figures_of(result);
        if (!result.counts.example_errors.empty()) line.error = result.counts.example_errors.begin()->second;
        state_.requests += line.requests;
        state_.failed += line.failed;
        state_.alerts.clear();
        state_.now.clear();
        for (AlertJudge& judge : judges_) {
            add_run(judge, result, begin_s);
            state_.alerts.push_back(judge.result());
            state_.now.push_back(judge.state());
            if (judge.state() == AlertState::firing) line.firing.push_back(judge.rule().name);
        }
        for (std::size_t i = 0; i < kDriftMetrics.size(); ++i) {
            std::vector<double> values;
            for (const RequestRecord& record : records)
                add_value(drift_metric(kDriftMetrics[i]), record, values);
            const auto drift = trackers_[i].add(values);
            if (!drift) continue;
            line.drift.push_back({.metric = std::string(kDriftMetrics[i]),
                                  .ratio = drift->ratio,
                                  .ci95 = drift->ci95,
                                  .n = drift->n,
                                  .drifted = drift->drifted});
        }
        state_.line = std::move(line);
    }

    /// Returns every measured series that alerts may watch, by its name with the unit. Gauges are means
    /// over all readings, because the window of a few requests may lie between two readings.
    static std::map<std::string, double> figures_of(const RunResult& result) {
        std::map<std::string, double> figures;
        for (const Series& series : result.series)
            if (series.source == "server") figures[series.name] = moments_of(series.values).mean;
        for (const AlertSeries& series : alert_series()) {
            const auto value = alert_value_of(result, series);
            if (!value || !std::isfinite(*value) || series.source == AlertSource::gauge) continue;
            figures[series.unit == "s" ? fmt::format("{}_s", series.name) : std::string(series.name)] =
                *value;
        }
        return figures;
    }

    const Target& target_;
    const WatchPlan& plan_;
    Alerting alerting_;
    reports::WatchFile file_;
    TimePoint began_;
    double computed_s_ = 0;
    std::uint64_t number_ = 0;
    std::vector<AlertJudge> judges_;
    std::vector<DriftTracker> trackers_;
    WatchState state_;
};

}  // namespace

WatchState watch(const Target& target, const WatchPlan& plan, const fs::path& directory, Watcher& watcher,
                 const OnInterval& on_interval, const loadgen::Interruption& interruption) {
    Watch watch(target, plan, directory);
    WatchState state;
    do {
        state = watch.next(watcher, interruption);
        watch.write();
        if (on_interval) on_interval(state);
    } while (!watch.is_over() && !interruption.stop_starting.stop_requested());
    return state;
}

}  // namespace paretoken::experiments
