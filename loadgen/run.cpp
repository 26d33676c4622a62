#include "loadgen/run.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "core/summary.h"
#include "loadgen/health.h"
#include "loadgen/host_meter.h"

namespace paretoken::loadgen {
namespace {

Dispatcher dispatcher_for(const LoadOptions& options, std::uint32_t worker, TimePoint begin) {
    return {Schedule(options.arrivals, options.limits, options.seed, {worker, options.workers}),
            options.limits, options.concurrency, options.pacing, begin};
}

/// Runs every worker on a thread of its own; an exception of one stops all and is thrown again.
void run_side_by_side(std::vector<std::unique_ptr<Worker>>& workers, const std::stop_token& stop) {
    const auto stop_all = [&workers] {
        for (const auto& worker : workers) worker->stop();
    };
    const std::stop_callback on_stop(stop, stop_all);
    std::vector<std::exception_ptr> failures(workers.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                workers[i]->run();
            } catch (...) {
                failures[i] = std::current_exception();
                stop_all();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

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

/// Over the requests that have both lengths.
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

}  // namespace

LoadOutcome make_load(const LoadOptions& options, const datasets::Dataset& dataset, RecordSink& sink,
                      Progress& progress, const std::stop_token& stop) {
    LoadOutcome outcome;
    HostMeter meter;
    outcome.began = options.began.value_or(Clock::now());
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::uint32_t i = 0; i < options.workers; ++i) {
        WorkerOptions own = options.worker;
        own.number = i;
        workers.push_back(std::make_unique<Worker>(own, dispatcher_for(options, i, outcome.began), dataset,
                                                   sink, progress));
    }
    run_side_by_side(workers, stop);
    outcome.host_lost_share = meter.lost_share();
    outcome.interrupted = stop.stop_requested();
    for (const auto& worker : workers) {
        WorkerReport report = worker->take_report();
        outcome.records.append(report.records);
        report.records = {};
        if (report.ran_dry && (!outcome.ran_dry || *report.ran_dry < *outcome.ran_dry)) {
            outcome.ran_dry = report.ran_dry;
        }
        outcome.workers.push_back(std::move(report));
    }
    return outcome;
}

void fold_into(RunResult& result, const LoadOutcome& outcome, const EventSource& events,
               const LoadOptions& load, const FoldOptions& options) {
    const bool open_loop = !load.arrivals.at_once;
    const bool fills_its_cap = !load.pacing.think_time && !load.pacing.prefills;
    RunSummary summary = summarize(outcome.records, events,
                                   {.open_loop = open_loop,
                                    .concurrency = fills_its_cap ? load.concurrency : std::nullopt,
                                    .last_dispatch = outcome.ran_dry,
                                    .slos = options.slos});
    result.partial = outcome.interrupted;
    result.window = std::move(summary.window_report);
    result.window.zero_s = outcome.records.empty() ? 0 : seconds(summary.run.begin - outcome.began);
    static_cast<Scope&>(result) = static_cast<Scope&&>(summary);
    result.classes = std::move(summary.classes);
    result.series = std::move(summary.series);
    result.concurrency = load.concurrency;
    if (open_loop) result.request_rate = load.arrivals.rate;
    result.client = health_of(outcome, load, summary.window);
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
    result.validity = validity_of(result, options.validity);
}

}  // namespace paretoken::loadgen
