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

}  // namespace

Observations make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                       const Interruption& interruption) {
    Observations outcome;
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
    outcome.client.host_lost_share = meter.lost_share();
    outcome.interrupted =
        interruption.stop_starting.stop_requested() || interruption.cut_off.stop_requested();
    std::optional<StopKind> limit;
    for (const auto& worker : workers) {
        WorkerReport report = worker->take_report();
        outcome.records.append(report.records);
        if (report.ran_dry && (!outcome.ran_dry || *report.ran_dry < *outcome.ran_dry)) {
            outcome.ran_dry = report.ran_dry;
            limit = report.ended_by;
        }
        outcome.client.add(std::move(report.client));
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

LoadShape shape_of(const LoadOptions& options) {
    const CombinedLoad all = combined(options.classes);
    LoadShape shape{.open_loop = all.open_loop,
                    .stationary = all.stationary,
                    .constant_rate = all.constant_rate,
                    .concurrency = all.concurrency,
                    .kept_in_flight = all.filled_cap,
                    .keeps_length = options.worker.client.ignore_eos_accepted};
    if (all.open_loop) shape.request_rate = all.request_rate;
    return shape;
}

}  // namespace paretoken::loadgen
