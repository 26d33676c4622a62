#include "loadgen/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/result/summary.h"
#include "loadgen/health.h"
#include "loadgen/host_meter.h"

namespace paretoken::loadgen {
namespace {

/// Runs every worker on a thread of its own. An exception of one stops all and is rethrown.
void run_side_by_side(std::vector<std::unique_ptr<Worker>>& workers, const Interruption& interruption) {
    const auto cut_off_all = [&workers] {
        for (const auto& worker : workers) worker->cut_off();
    };
    const std::stop_callback on_stop(interruption.stop_starting, [&workers] {
        for (const auto& worker : workers) worker->stop();
    });
    const std::stop_callback on_cut(interruption.cut_off, cut_off_all);
    std::vector<std::exception_ptr> failures(workers.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                workers[i]->run();
            } catch (...) {
                failures[i] = std::current_exception();
                cut_off_all();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

/// Evaluates the rules that need statistics on a thread of its own, until it is destroyed.
class Looking {
  public:
    explicit Looking(StopMonitor& monitor) {
        if (!monitor.needs_looks()) return;
        thread_ = std::jthread([&monitor](const std::stop_token& over) {
            constexpr Duration kBetween = std::chrono::milliseconds(200);
            std::mutex mutex;
            std::condition_variable_any sleeping;
            std::unique_lock lock(mutex);
            while (!over.stop_requested()) {
                monitor.look(Clock::now());
                sleeping.wait_for(lock, over, kBetween, [] { return false; });
            }
        });
    }

  private:
    std::jthread thread_;
};

std::optional<double> mean_of(const RequestTable& records,
                              std::optional<std::int64_t> (*value)(const RequestRecord&)) {
    double sum = 0;
    double n = 0;
    for (const RequestRecord& r : records) {
        if (r.warmup || r.outcome != Outcome::ok) continue;
        if (const auto v = value(r)) {
            sum += static_cast<double>(*v);
            ++n;
        }
    }
    if (n == 0) return std::nullopt;
    return sum / n;
}

/// Returns the mean lengths over the requests that have both.
std::optional<Asked> asked_of(const RequestTable& records,
                              std::optional<std::int64_t> (*asked)(const RequestRecord&),
                              std::optional<std::int64_t> (*counted)(const RequestRecord&)) {
    Asked sum;
    double n = 0;
    for (const RequestRecord& r : records) {
        if (r.warmup || r.outcome != Outcome::ok) continue;
        const auto wanted = asked(r);
        const auto got = counted(r);
        if (!wanted || !got) continue;
        sum.asked += static_cast<double>(*wanted);
        sum.counted += static_cast<double>(*got);
        ++n;
    }
    if (n == 0) return std::nullopt;
    return Asked{sum.asked / n, sum.counted / n};
}

void withhold_percentiles(Scope& scope) {
    for (MetricSummary& metric : scope.metrics) {
        metric.mean = metric.std = metric.min = metric.max = std::nullopt;
        for (PercentileValue& percentile : metric.percentiles) percentile = {.p = percentile.p, .value = {}};
    }
}

/// Removes the percentiles of a load that the server does not keep up with, because its waiting times depend
/// on how long the load lasted.
void withhold_percentiles(RunResult& result) {
    withhold_percentiles(static_cast<Scope&>(result));
    for (auto& [name, scope] : result.classes) withhold_percentiles(scope);
    for (Scope& scope : result.turns) withhold_percentiles(scope);
    for (TargetScope& target : result.targets) withhold_percentiles(static_cast<Scope&>(target));
    result.validity.reasons.insert(
        result.validity.reasons.begin(),
        {.severity = Verdict::warn,
         .check = "diverging",
         .text =
             result.stop->text + "; percentiles would follow from the length of the run and are left out"});
    result.validity.verdict = std::max(result.validity.verdict, Verdict::warn);
}

/// Returns the sums of tokens over all requests of the run, including warm-up; nothing if it is unknown how
/// many tokens the server processed for one of them.
std::map<std::string, double> asked_of_server(const RequestTable& records) {
    double output = 0;
    double prompt = 0;
    double count = 0;
    bool prompts_known = true;
    for (const RequestRecord& r : records) {
        if (r.outcome != Outcome::ok) return {};
        output += static_cast<double>(output_tokens_of(r));
        prompt += static_cast<double>(r.usage.prompt.value_or(0));
        prompts_known = prompts_known && r.usage.prompt.has_value();
        ++count;
    }
    std::map<std::string, double> asked{{"generation_tokens", output}, {"requests", count}};
    if (prompts_known) asked["prompt_tokens"] = prompt;
    return asked;
}

/// Adds the server's own metrics, and the tokens that were asked of it.
void add_server(RunResult& result, const LoadOutcome& outcome, TimeSpan window) {
    result.server = scrape::server_figures(outcome.server, window);
    if (!result.server) return;
    result.server->asked = asked_of_server(outcome.records);
    const TimePoint zero = outcome.began + from_seconds(result.window.zero_s);
    for (Series& series : scrape::server_series(outcome.server.scrapes, zero))
        result.series.push_back(std::move(series));
}

void add_kept_series(RunResult& result, const LoadOutcome& outcome) {
    const TimePoint zero = outcome.began + from_seconds(result.window.zero_s);
    const auto add = [&](const scrape::ServerScrapes& scraped) {
        for (Series& series : scrape::kept_series_of(scraped, zero))
            result.series.push_back(std::move(series));
    };
    add(outcome.server);
    for (const scrape::ServerScrapes& exporter : outcome.exporters) add(exporter);
}

/// Adds the power drawn during the run, if there was a meter.
void add_power(RunResult& result, const LoadOutcome& outcome, TimeSpan window) {
    result.power = power::power_figures(outcome.power, window, result.totals);
    const TimePoint zero = outcome.began + from_seconds(result.window.zero_s);
    if (auto series = power::power_series(outcome.power, zero)) result.series.push_back(std::move(*series));
}

}  // namespace

LoadOutcome make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                      const Interruption& interruption) {
    LoadOutcome outcome;
    HostMeter meter;
    outcome.began = options.began.value_or(Clock::now());
    StopMonitor monitor(monitor_options(options, outcome.began));
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::uint32_t i = 0; i < options.workers; ++i) {
        WorkerOptions own = options.worker;
        own.number = i;
        workers.push_back(std::make_unique<Worker>(
            own, Mix(options.classes, {i, options.workers}, outcome.began), sink, progress, monitor));
    }
    {
        const Looking looking(monitor);
        run_side_by_side(workers, interruption);
    }
    outcome.host_lost_share = meter.lost_share();
    outcome.interrupted =
        interruption.stop_starting.stop_requested() || interruption.cut_off.stop_requested();
    std::optional<StopKind> limit;
    for (const auto& worker : workers) {
        WorkerReport report = worker->take_report();
        outcome.records.append(report.records);
        report.records = {};
        if (report.ran_dry && (!outcome.ran_dry || *report.ran_dry < *outcome.ran_dry)) {
            outcome.ran_dry = report.ran_dry;
            limit = report.ended_by;
        }
        outcome.workers.push_back(std::move(report));
    }
    outcome.stopped = monitor.stopped();
    if (!outcome.stopped)
        outcome.stopped =
            ended_by(limit, outcome.ran_dry.value_or(outcome.began), combined(options.classes).limits);
    return outcome;
}

StopMonitorOptions monitor_options(const LoadOptions& options, TimePoint began) {
    const CombinedLoad load = combined(options.classes);
    return {.rules = options.rules,
            .open_loop = load.open_loop,
            .stationary = load.stationary,
            .constant_rate = spans_of(load.constant_rate, began),
            .concurrency = load.filled_cap};
}

Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits) {
    if (limit == StopKind::requests) {
        return {"requests", at,
                limits.requests ? fmt::format("{} requests were started", *limits.requests)
                                : "every request of the dataset was started"};
    }
    if (limit == StopKind::duration)
        return {"duration", at, fmt::format("{:g} s had passed", seconds(*limits.duration))};
    return {"interrupted", at, "the run was interrupted"};
}

void fold_into(RunResult& result, const LoadOutcome& outcome, const EventSource& events,
               const LoadOptions& load, const FoldOptions& options) {
    const CombinedLoad all = combined(load.classes);
    RunSummary summary = summarize(outcome.records, events,
                                   {.open_loop = all.open_loop,
                                    .stationary = all.stationary,
                                    .constant_rate = spans_of(all.constant_rate, outcome.began),
                                    .concurrency = all.filled_cap,
                                    .last_dispatch = outcome.ran_dry,
                                    .slos = options.slos,
                                    .class_slos = options.class_slos});
    result.partial = outcome.interrupted;
    result.window = std::move(summary.window_report);
    result.window.zero_s = outcome.records.empty() ? 0 : seconds(summary.run.begin - outcome.began);
    static_cast<Scope&>(result) = static_cast<Scope&&>(summary);
    result.classes = std::move(summary.classes);
    result.turns = std::move(summary.turns);
    for (std::size_t i = 0; i < summary.targets.size(); ++i) {
        TargetScope& target = result.targets.emplace_back();
        static_cast<Scope&>(target) = std::move(summary.targets[i]);
        if (i < options.targets.size()) target.url = options.targets[i];
    }
    result.series = std::move(summary.series);
    result.concurrency = all.concurrency;
    if (all.open_loop) result.request_rate = all.request_rate;
    result.client = health_of(outcome, all.open_loop, summary.window);
    result.workload.achieved_input_tokens =
        mean_of(outcome.records, [](const RequestRecord& r) { return r.usage.prompt; });
    result.workload.achieved_output_tokens =
        mean_of(outcome.records,
                [](const RequestRecord& r) -> std::optional<std::int64_t> { return output_tokens_of(r); });
    result.workload.input_length = asked_of(
        outcome.records, [](const RequestRecord& r) { return r.wanted_input_tokens; },
        [](const RequestRecord& r) { return r.usage.prompt; });
    if (load.worker.client.ignore_eos_accepted) {
        result.workload.output_length = asked_of(
            outcome.records, [](const RequestRecord& r) { return r.wanted_output_tokens; },
            [](const RequestRecord& r) -> std::optional<std::int64_t> { return output_tokens_of(r); });
    }
    add_server(result, outcome, summary.window);
    add_kept_series(result, outcome);
    add_power(result, outcome, summary.window);
    result.validity = validity_of(result, options.validity);
    if (!outcome.stopped) return;
    const double at_s = seconds(outcome.stopped->at - outcome.began) - result.window.zero_s;
    result.stop = {outcome.stopped->rule, at_s, outcome.stopped->text};
    if (outcome.stopped->rule == name_of(StopKind::diverging)) withhold_percentiles(result);
}

}  // namespace paretoken::loadgen
