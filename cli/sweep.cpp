// paretoken sweep: a ladder of load levels, a run directory each, one table; saved after every point,
// resumable.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "cards/host.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/measure.h"
#include "cli/options.h"
#include "core/error.h"
#include "reports/console.h"
#include "reports/run_directory.h"
#include "reports/sweep_file.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;
using reports::PointState;
using reports::SweepFile;
using reports::SweepPoint;

struct SweepCommand {
    MeasureOptions measure;
    std::string concurrency;
};

/// What all points have in common: a resumed sweep must ask for the same.
OptionsEcho common_options(const MeasureOptions& m) {
    OptionsEcho echo{{"url", m.target.url},
                     {"model", m.target.model},
                     {"endpoint_type", m.target.endpoint_type},
                     {"endpoint", m.target.endpoint},
                     {"dataset", m.workload.dataset},
                     {"dataset_path", m.workload.dataset_path},
                     {"isl", m.workload.isl},
                     {"osl", m.workload.osl},
                     {"num_prompts", m.pace.num_prompts},
                     {"duration", m.pace.duration},
                     {"extra_body", m.workload.extra_body},
                     {"gpu", m.result.gpu},
                     {"seed", std::to_string(m.workload.seed)},
                     {"salt", m.workload.salt},
                     {"virtual_turnaround", m.target.virtual_time ? m.target.turnaround : ""},
                     {"virtual_write_time", m.target.virtual_time ? m.target.write_time : ""}};
    std::erase_if(echo, [](const auto& entry) { return entry.second.empty(); });
    return echo;
}

SweepFile fresh_plan(const SweepCommand& command) {
    SweepFile plan;
    plan.axis = command.concurrency.empty() ? "request_rate" : "concurrency";
    plan.started_at = utc_now();
    plan.command = shell_line(process_arguments());
    plan.options = common_options(command.measure);
    if (!command.concurrency.empty()) {
        for (const auto c : levels_of("--concurrency", command.concurrency)) {
            if (c == 0) throw UsageError("--concurrency: a level of 0 makes no load");
            SweepPoint point;
            point.directory = fmt::format("c{:04}", c);
            point.load_label = fmt::format("c={}", c);
            point.load = static_cast<double>(c);
            plan.points.push_back(point);
        }
    } else {
        for (const auto rate : levels_of("--request-rate", command.measure.pace.request_rate)) {
            if (rate == 0) throw UsageError("--request-rate: a level of 0 makes no load");
            SweepPoint point;
            point.directory = fmt::format("rate{:04}", rate);
            point.load_label = fmt::format("{} req/s", rate);
            point.load = static_cast<double>(rate);
            plan.points.push_back(point);
        }
    }
    return plan;
}

/// The plan with what an earlier, interrupted sweep into the same directory has already measured.
SweepFile resumed(SweepFile plan, const fs::path& directory) {
    if (!fs::exists(directory / reports::kSweepFileName)) return plan;
    const SweepFile before = reports::read_sweep(directory);
    if (before.options != plan.options || before.axis != plan.axis) {
        throw UsageError(
            fmt::format("{} holds a sweep with other options ({}); give another --out, or the same options "
                        "to go on with it",
                        directory.string(), before.command));
    }
    plan.started_at = before.started_at;
    for (SweepPoint& point : plan.points) {
        const auto old = std::find_if(before.points.begin(), before.points.end(), [&](const SweepPoint& p) {
            return p.directory == point.directory && p.state == PointState::done;
        });
        if (old != before.points.end()) point = *old;
    }
    for (const SweepPoint& old : before.points) {
        const bool planned = std::any_of(plan.points.begin(), plan.points.end(),
                                         [&](const SweepPoint& p) { return p.directory == old.directory; });
        if (!planned && old.state == PointState::done) plan.points.push_back(old);
    }
    std::sort(plan.points.begin(), plan.points.end(),
              [](const SweepPoint& a, const SweepPoint& b) { return a.load < b.load; });
    return plan;
}

LoadLevel level_of(const SweepPoint& point, const std::string& axis, const PaceOptions& pace) {
    PaceOptions own = pace;
    if (axis == "concurrency") return load_level(fmt::format("{:.0f}", point.load), own);
    own.request_rate = fmt::format("{}", point.load);
    return load_level("", own);
}

void say(const std::string& line) {
    fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
}

/// Points on their way: threads take them in order, and the file is written before and after each.
struct Sweeping {
    const Target& target;
    const SweepCommand& command;
    const fs::path& directory;
    const InterruptWatch& interrupt;
    SweepFile& file;
    std::mutex mutex = {};  ///< of what follows, and of `file`
    std::size_t next = 0;
    bool stopped = false;
    std::exception_ptr failure = {};  ///< the first
};

/// The next point to measure; null when none is left. With the mutex held.
SweepPoint* next_point(Sweeping& sweeping) {
    auto& points = sweeping.file.points;
    while (!sweeping.stopped && sweeping.next < points.size()) {
        SweepPoint& point = points[sweeping.next++];
        const bool known = point.state == PointState::done;
        say(fmt::format("[{}/{}] {}{}", sweeping.next, points.size(), point.load_label,
                        known ? ": already measured" : ""));
        if (!known) return &point;
    }
    return nullptr;
}

struct Outcome {
    SweepPoint point;
    std::exception_ptr failure = {};
};

/// What becomes of a point. Needs no mutex: what it reads is not written to meanwhile.
Outcome outcome_of(const Sweeping& sweeping, SweepPoint point) {
    try {
        const LoadLevel level = level_of(point, sweeping.file.axis, sweeping.command.measure.pace);
        const auto measured = sweeping.target.measure(level, sweeping.directory / point.directory,
                                                      process_arguments(), sweeping.interrupt);
        if (measured.result.partial) {
            point.state = PointState::pending;
            return {point};
        }
        return {reports::sweep_point_of(measured.result, point.directory, point.load)};
    } catch (const Error& error) {
        point.state = PointState::failed;
        point.error = error.what();
        return {point, std::current_exception()};
    }
}

/// Takes points until none is left, one could not be measured, or the user has had enough.
void measure_points(Sweeping& sweeping) {
    std::unique_lock lock(sweeping.mutex);
    while (SweepPoint* const point = next_point(sweeping)) {
        point->state = PointState::running;
        point->error.clear();
        reports::write_sweep(sweeping.directory, sweeping.file);
        const SweepPoint before = *point;
        lock.unlock();
        const Outcome outcome = outcome_of(sweeping, before);
        lock.lock();
        *point = outcome.point;
        if (point->state != PointState::done) sweeping.stopped = true;
        reports::write_sweep(sweeping.directory, sweeping.file);
        if (outcome.failure) std::rethrow_exception(outcome.failure);
    }
}

/// The same on a thread, where an exception must not leave.
void measure_points_or_fail(Sweeping& sweeping) {
    try {
        measure_points(sweeping);
    } catch (...) {
        const std::lock_guard lock(sweeping.mutex);
        sweeping.stopped = true;
        if (!sweeping.failure) sweeping.failure = std::current_exception();
    }
}

/// One after the other; in virtual time, where nothing disturbs anything, as many at once as there are cores.
void measure_all(Sweeping& sweeping) {
    const bool alone = !sweeping.command.measure.target.virtual_time;
    const std::size_t threads =
        alone ? 1 : std::min<std::size_t>(cards::this_host().cores, sweeping.file.points.size());
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) {
        others.emplace_back([&sweeping] { measure_points_or_fail(sweeping); });
    }
    measure_points_or_fail(sweeping);
    others.clear();  // joins
    if (sweeping.failure) std::rethrow_exception(sweeping.failure);
}

void judge(const SweepFile& sweep, const fs::path& directory) {
    const auto pending = std::count_if(sweep.points.begin(), sweep.points.end(),
                                       [](const SweepPoint& p) { return p.state != PointState::done; });
    if (pending > 0) {
        throw RuntimeError(fmt::format("interrupted with {} points to go; the same command goes on from {}",
                                       pending, directory.string()));
    }
    const bool all_invalid = std::all_of(sweep.points.begin(), sweep.points.end(),
                                         [](const SweepPoint& p) { return p.verdict == Verdict::invalid; });
    if (all_invalid)
        throw Error(ExitCode::measurement_invalid, "no point of the sweep is a valid measurement");
}

void sweep(SweepCommand command) {
    if (command.concurrency.empty() && command.measure.pace.request_rate.empty())
        command.concurrency = "1..64";
    if (!command.concurrency.empty() && !command.measure.pace.request_rate.empty()) {
        throw UsageError("a sweep has one axis: --concurrency or --request-rate");
    }
    const fs::path directory = output_directory(command.measure.result.out);
    SweepFile plan = resumed(fresh_plan(command), directory);
    const InterruptWatch interrupt;
    const Target target(command.measure);
    Sweeping sweeping{target, command, directory, interrupt, plan};
    measure_all(sweeping);
    fmt::print("{}", reports::sweep_table(plan.points, {.directory = directory.string()}));
    std::fflush(stdout);
    judge(plan, directory);
}

}  // namespace

void add_sweep(CLI::App& app) {
    const auto command = std::make_shared<SweepCommand>();
    CLI::App* sub = app.add_subcommand("sweep", "Measure a ladder of load levels; resumable");
    add_target_options(*sub, command->measure.target);
    sub->add_option("--concurrency,--max-concurrency", command->concurrency,
                    "Levels: 1,2,4 as listed, 1..64 by doubling, 8..64:8 in steps [1..64]")
        ->group("Pace");
    sub->add_option("--request-rate", command->measure.pace.request_rate,
                    "Levels in requests per second, likewise (open loop, Poisson)")
        ->group("Pace");
    add_pace_options(*sub, command->measure.pace);
    add_workload_options(*sub, command->measure.workload);
    add_result_options(*sub, command->measure.result);
    sub->callback([command] { sweep(*command); });
}

}  // namespace paretoken::cli
