// paretoken sweep: a ladder of load levels, a run directory each, one table; saved after every point,
// resumable.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

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
                     {"virtual_turnaround", m.target.virtual_time ? m.target.turnaround : ""}};
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

/// Measures one point and saves the sweep before and after. True: go on with the next.
bool measure_point(const Target& target, SweepFile& sweep, SweepPoint& point, const SweepCommand& command,
                   const fs::path& directory, const InterruptWatch& interrupt) {
    point.state = PointState::running;
    point.error.clear();
    reports::write_sweep(directory, sweep);
    try {
        const LoadLevel level = level_of(point, sweep.axis, command.measure.pace);
        const auto measured =
            target.measure(level, directory / point.directory, process_arguments(), interrupt);
        if (measured.result.partial) {
            point.state = PointState::pending;
        } else {
            point = reports::sweep_point_of(measured.result, point.directory, point.load);
        }
    } catch (const Error& error) {
        point.state = PointState::failed;
        point.error = error.what();
        reports::write_sweep(directory, sweep);
        throw;
    }
    reports::write_sweep(directory, sweep);
    return point.state == PointState::done;
}

void say(const std::string& line) {
    fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
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
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
        SweepPoint& point = plan.points[i];
        if (point.state == PointState::done) {
            say(fmt::format("[{}/{}] {}: already measured", i + 1, plan.points.size(), point.load_label));
            continue;
        }
        say(fmt::format("[{}/{}] {}", i + 1, plan.points.size(), point.load_label));
        if (!measure_point(target, plan, point, command, directory, interrupt)) break;
    }
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
