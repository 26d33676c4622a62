#include "experiments/watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/plan/plan_fields.h"
#include "core/record/event_source.h"
#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/run/result_of.h"
#include "core/text/validity_reasons.h"
#include "datasets/catalog.h"
#include "experiments/alerting.h"
#include "experiments/server/load.h"
#include "experiments/server/provenance.h"
#include "experiments/server/redaction.h"
#include "experiments/watch/drift.h"
#include "loadgen/progress.h"
#include "loadgen/run.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"
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
        reports::for_each_recorded(directory, [&](RequestRecord&& record) {
            for (const std::string_view tag : kDriftMetrics)
                add_value(drift_metric(tag), record, values[std::string(tag)]);
        });
    std::map<std::string, DriftReference> references;
    for (const auto& [tag, of] : values)
        if (const auto reference = drift_reference(of)) references.emplace(tag, *reference);
    return references;
}

/// Returns the length of an interval, counted from 1; the last one ends with the watch.
Duration length_of(const WatchPlan& plan, std::uint64_t number) {
    const Duration before = static_cast<Duration::rep>(number - 1) * plan.every;
    return plan.duration ? std::min(plan.every, *plan.duration - before) : plan.every;
}

/// Returns the plan of one interval; each has its own prompts and arrivals.
LoadPlan interval_plan(const WatchPlan& plan, std::uint64_t number) {
    LoadPlan asked = plan.asked;
    asked.stop = {.duration = length_of(plan, number), .rules = {"diverging=off"}};
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

/// Returns whether the dataset is a file, whose rows the intervals send one after the other.
bool has_rows(const datasets::Dataset& dataset) {
    return !dataset.content().empty();
}

std::uint64_t count_of(const loadgen::ArrivalTimes& next) {
    std::uint64_t count = 0;
    while (next()) ++count;
    return count;
}

/// Makes the server's counters and the rates those of a whole interval, of which the server was read for
/// `read_s`. What others asked of it is taken as even over the interval; what this client asked is all there.
void spread_over_interval(RunResult& result, double length_s, double read_s) {
    result.window = {.end_s = length_s, .how = {}};
    const Totals& totals = result.whole_run_totals;
    result.throughput.set(figure::kRequests, totals.requests / length_s);
    result.throughput.set(figure::kOutputTokens, totals.output_tokens / length_s);
    if (!result.server) return;
    ServerFigures& server = *result.server;
    server.window = server.whole_run;
    for (const AlertSeries& series : alert_series()) {
        const auto grown = server.window.find(std::string(series.key));
        if (series.source != AlertSource::rate || grown == server.window.end() || !(read_s > 0)) continue;
        const auto asked = server.asked.find(grown->first);
        const double own =
            asked == server.asked.end() ? grown->second : std::min(asked->second, grown->second);
        const double per_s = own / std::max(length_s, read_s) + (grown->second - own) / read_s;
        grown->second = per_s * length_s;
    }
}

/// Sleeps until `until`, or until a stop is requested.
void sleep_until(TimePoint until, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any sleeping;
    std::unique_lock lock(mutex);
    (void)sleeping.wait_until(lock, stop, until, [] { return false; });
}

/// The load of one interval, which runs on a thread of its own.
struct WatchInterval {
    std::uint64_t number = 0;
    double begin_s = 0;
    double length_s = 0;  ///< as planned
    TimePoint end;        ///< as planned; its requests may end later
    Load load;
    KeepingSink kept = {};
    loadgen::Progress progress = {};
    std::future<Recorded> recorded = {};
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

    /// Returns whether no further interval begins: there were as many as fit into the duration, or it is over
    /// because intervals had to wait for a server that hangs.
    bool is_over() const {
        return plan_.duration && (static_cast<Duration::rep>(number_) * plan_.every >= *plan_.duration ||
                                  now_s() >= seconds(*plan_.duration));
    }

    /// Begins the load of the next interval. In virtual time it runs when its end is asked for.
    std::unique_ptr<WatchInterval> begin(Watcher& watcher, const loadgen::Interruption& interruption) {
        const double begin_s = now_s();
        Load load = target_.load_for(interval_plan(plan_, ++number_));
        load.server_age = from_seconds(begin_s);
        if (number_ == 1) warn_of_baseline(load, watcher);
        for (loadgen::ClassLoad& of : load.options.classes) {
            of.arrivals = within(std::move(of.arrivals), length_of(plan_, number_));
            of.limits.duration.reset();
            if (!has_rows(*of.dataset)) continue;
            of.first_place = next_row_;
            next_row_ += count_of(of.arrivals.times(of.seed));
        }
        warn_of_repeats(load, watcher);
        auto interval = std::make_unique<WatchInterval>();
        interval->number = number_;
        interval->begin_s = begin_s;
        interval->length_s = seconds(length_of(plan_, number_));
        interval->end = Clock::now() + length_of(plan_, number_);
        interval->load = std::move(load);
        const auto policy = target_.in_virtual_time() ? std::launch::deferred : std::launch::async;
        interval->recorded = std::async(policy, [this, &of = *interval, &interruption] {
            target_.get_ready(of.load);
            RedactingSink sink(of.kept, target_.secrets());
            Recorded recorded{.begun = {.shape = loadgen::shape_of(of.load.options)}};
            recorded.observed = target_.make(of.load, sink, of.progress, interruption);
            return recorded;
        });
        return interval;
    }

    /// Waits for the end of an interval's requests, warns of what is wrong with the answers, and returns the
    /// state after it.
    const WatchState& end(WatchInterval& interval, Watcher& watcher) {
        Recorded recorded = interval.recorded.get();
        recorded.events = std::make_shared<KeptEvents>(interval.kept.records());
        RunResult result = result_of(recorded, {});
        redact(result, target_.secrets());
        const auto& scrapes = recorded.observed.server.scrapes;
        const double read_s = scrapes.empty() ? 0 : seconds(scrapes.back().at - scrapes.front().at);
        const double passed_s = std::min(now_s() - interval.begin_s, interval.length_s);  // if interrupted
        spread_over_interval(result, passed_s > 0 ? passed_s : interval.length_s, read_s);
        warn_of_answers(result, interval.number, watcher);
        tell(result, interval.kept.records(), interval);
        return state_;
    }

    /// Warns of requests that go on after the end of their interval, so that a server that hangs is seen
    /// before they time out. `running` begins with the oldest interval.
    void warn_of_hanging(const std::deque<std::unique_ptr<WatchInterval>>& running, Watcher& watcher) {
        constexpr Duration kUntilTold = std::chrono::seconds(10);
        constexpr Duration kRepeat = std::chrono::seconds(15);
        const WatchInterval& oldest = *running.front();
        const TimePoint now = Clock::now();
        if (now < std::max(oldest.end + kUntilTold, warn_at_)) return;
        std::uint64_t in_flight = 0;
        for (const auto& interval : running) in_flight += interval->progress.in_flight.load();
        watcher.warn(fmt::format(
            "interval {} ended {:.0f} s ago and waits for answers; {} requests are in flight, each of which "
            "fails {:.0f} s after it was sent (--timeout)",
            oldest.number, seconds(now - oldest.end), in_flight, seconds(plan_.asked.request_timeout)));
        warn_at_ = now + kRepeat;
    }

    void write() { file_.add(state_.line); }

  private:
    /// Returns the time since the start. In virtual time each interval takes its planned length.
    double now_s() const {
        if (!target_.in_virtual_time()) return seconds(Clock::now() - began_);
        const Duration passed = static_cast<Duration::rep>(number_) * plan_.every;
        return seconds(plan_.duration ? std::min(passed, *plan_.duration) : passed);
    }

    void warn_of_baseline(const Load& load, Watcher& watcher) const {
        Workload workload;
        workload.fingerprint = workload_fingerprint(load.plan);
        if (const std::string doubt = baseline_doubt(alerting_, workload); !doubt.empty())
            watcher.warn(doubt);
    }

    /// Warns once when the prompts of a file have all been sent and are sent again.
    void warn_of_repeats(const Load& load, Watcher& watcher) {
        const datasets::Dataset& dataset = *load.datasets.front();
        const auto rows = dataset.size();
        if (!has_rows(dataset) || datasets::makes_prompts(load.plan.classes.front().dataset) ||
            load.plan.salt_prompts || !rows || next_row_ <= *rows || !told_.insert("repeated_prompts").second)
            return;
        watcher.warn(fmt::format(
            "all of {} are sent, and then sent again from the first, whose prompt the prefix cache "
            "may still have; give a longer file, or --salt-prompts",
            dataset.description()));
    }

    /// Warns of each doubt about the answers once, in the first interval that has it.
    void warn_of_answers(const RunResult& result, std::uint64_t number, Watcher& watcher) {
        for (const Reason& reason : result.validity.reasons)
            if (tells_of_answers(reason.check) && told_.insert(reason.check).second)
                watcher.warn(fmt::format("{} (interval {}): {}", reason.check, number, reason.text));
    }

    void tell(const RunResult& result, const std::vector<RequestRecord>& records,
              const WatchInterval& interval) {
        const double end_s = std::min(now_s(), interval.begin_s + interval.length_s);
        // In virtual time the end lies in the future, because intervals are computed faster than they pass.
        const std::chrono::seconds ago(std::llround(seconds(Clock::now() - began_) - end_s));
        reports::WatchLine line{.interval = interval.number,
                                .at = utc_now(ago),
                                .begin_s = interval.begin_s,
                                .end_s = end_s,
                                .requests = result.counts.requests,
                                .failed = result.counts.failed};
        line.figures = figures_of(result);
        if (!result.counts.example_errors.empty()) line.error = result.counts.example_errors.begin()->second;
        state_.requests += line.requests;
        state_.failed += line.failed;
        state_.alerts.clear();
        state_.now.clear();
        // A value stands for its whole interval, so that the values of two intervals meet.
        const Window whole{.end_s = interval.length_s, .how = {}};
        for (AlertJudge& judge : judges_) {
            add_run(judge, result, whole, interval.begin_s);
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
    std::uint64_t number_ = 0;    ///< intervals that have begun
    std::uint64_t next_row_ = 0;  ///< rows of the file that these intervals send
    TimePoint warn_at_{};         ///< earliest time of the next warning of requests that hang
    std::set<std::string> told_;  ///< checks of answers that were warned of
    std::vector<AlertJudge> judges_;
    std::vector<DriftTracker> trackers_;
    WatchState state_;
};

/// Waits for the interval's requests, its planned end or the time `until`, whichever is decisive; not longer
/// than the times after which interruptions are looked for.
void wait_for(const WatchInterval& interval, TimePoint until, const std::stop_token& stop) {
    constexpr Duration kLook = std::chrono::milliseconds(100);
    if (interval.recorded.wait_for(Duration{}) == std::future_status::ready)
        sleep_until(std::min(until, interval.end), stop);
    else
        (void)interval.recorded.wait_until(std::min(until, Clock::now() + kLook));
}

}  // namespace

WatchState watch(const Target& target, const WatchPlan& plan, const fs::path& directory, Watcher& watcher,
                 const OnInterval& on_interval, const loadgen::Interruption& interruption) {
    constexpr std::size_t kMostAtOnce = 16;  // intervals whose requests have not all ended
    Watch watch(target, plan, directory);
    WatchState state;
    std::deque<std::unique_ptr<WatchInterval>> running;
    const std::stop_token& stop = interruption.stop_starting;
    const auto has_ended = [&](const WatchInterval& interval) {
        return target.in_virtual_time() ||
               (interval.recorded.wait_for(Duration{}) == std::future_status::ready &&
                (stop.stop_requested() || Clock::now() >= interval.end));
    };
    TimePoint due = Clock::now();
    for (bool first = true;; first = false) {
        const bool goes_on = first || (!watch.is_over() && !stop.stop_requested());
        const bool is_due = target.in_virtual_time() ? running.empty() : Clock::now() >= due;
        if (goes_on && is_due && running.size() < kMostAtOnce) {
            running.push_back(watch.begin(watcher, interruption));
            due = running.back()->end;
        } else if (running.empty()) {
            if (!goes_on) return state;
            sleep_until(due, stop);
        } else if (has_ended(*running.front())) {
            state = watch.end(*running.front(), watcher);
            running.pop_front();
            watch.write();
            if (on_interval) on_interval(state);
        } else {
            watch.warn_of_hanging(running, watcher);
            const bool may_begin = goes_on && running.size() < kMostAtOnce;
            wait_for(*running.front(), may_begin ? due : TimePoint::max(), stop);
        }
    }
}

}  // namespace paretoken::experiments
