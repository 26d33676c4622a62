#include "loadgen/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "core/record/record_sink.h"
#include "loadgen/load/stop_monitor.h"
#include "loadgen/periodic.h"
#include "loadgen/progress.h"
#include "loadgen/worker.h"

namespace paretoken::loadgen {
namespace {

constexpr Duration kExchangeEvery = std::chrono::milliseconds(250);

/// Returns how many connections a shard of the load needs at its start.
std::size_t connections_at_start(const std::vector<ClassLoad>& classes, Shard shard) {
    constexpr double kOpenLoopStart = 0.25;  // seconds
    double needed = 0;
    for (const ClassLoad& of : classes) {
        const double most = of.concurrency ? static_cast<double>(*of.concurrency) : HUGE_VAL;
        needed += of.arrivals.at_once ? most : std::min(most, std::ceil(of.arrivals.rate * kOpenLoopStart));
    }
    // More slots than requests are never filled.
    if (const auto requests = combined(classes).limits.requests)
        needed = std::min(needed, static_cast<double>(*requests));
    constexpr double kMost = 65536;
    return static_cast<std::size_t>(std::min(std::ceil(needed / shard.count), kMost));
}

/// Runs every worker on a thread of its own. An exception of one stops all and is rethrown.
void run_side_by_side(std::vector<std::unique_ptr<Worker>>& workers,
                      const std::function<Worker::Job(std::uint32_t)>& job_of,
                      const Interruption& interruption) {
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
                workers[i]->run(job_of(static_cast<std::uint32_t>(i)));
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

Workers::Workers(const LoadOptions& options)
    : classes_(options.classes),
      shard_(options.shard),
      opens_ahead_(options.worker.preconnect && options.worker.keep_alive) {
    for (std::uint32_t i = 0; i < options.workers; ++i) {
        WorkerOptions own = options.worker;
        own.number = i;
        workers_.push_back(std::make_unique<Worker>(own));
        const auto is_open_loop = [](const ClassLoad& of) { return !of.arrivals.at_once; };
        if (opens_ahead_ && std::ranges::any_of(classes_, is_open_loop)) workers_.back()->keep_reserve();
    }
}

Workers::~Workers() = default;

void Workers::open_connections() {
    constexpr Duration kPatience = std::chrono::seconds(5);
    if (!opens_ahead_) return;
    const std::size_t needed = connections_at_start(classes_, shard_);
    const TimePoint latest = Clock::now() + kPatience;
    for (std::size_t i = 0; i < workers_.size(); ++i)
        workers_[i]->open_connections((needed + workers_.size() - 1 - i) / workers_.size(), latest);
}

Observations make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                       const Interruption& interruption) {
    Workers workers(options);
    workers.open_connections();
    return make_load(options, workers, sink, progress, interruption);
}

Observations make_load(const LoadOptions& options, Workers& crew, RecordSink& sink, Progress& progress,
                       const Interruption& interruption) {
    Observations outcome;
    outcome.began = options.began.value_or(Clock::now());
    StopMonitor monitor(monitor_options(options, outcome.began));
    std::vector<std::unique_ptr<Worker>>& workers = crew.workers_;
    {
        const Looking looking(monitor);
        std::optional<Periodic> exchanging;
        if (options.exchange)
            exchanging.emplace(kExchangeEvery, [&] { options.exchange(monitor, progress); });
        const auto job_of = [&](std::uint32_t number) {
            return Worker::Job{Mix(options.classes, share_of(options, number), outcome.began), sink, progress,
                               monitor};
        };
        run_side_by_side(workers, job_of, interruption);
    }
    if (options.exchange) options.exchange(monitor, progress);
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
            .concurrency = load.filled_cap,
            .forwards = !options.decides};
}

Share share_of(const LoadOptions& options, std::uint32_t worker) {
    return {.worker = options.shard.number + worker * options.shard.count,
            .workers = options.workers * options.shard.count,
            .shards = options.shard.count};
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
