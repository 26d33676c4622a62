#include "experiments/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "cards/host.h"
#include "core/error.h"
#include "core/plan_fields.h"
#include "reports/files/output_directory.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::PointState;
using reports::SweepFile;
using reports::SweepPoint;

SweepPoint pending_point(Axis axis, std::uint64_t level) {
    SweepPoint point;
    point.load = static_cast<double>(level);
    switch (axis) {
        case Axis::concurrency:
            point.directory = fmt::format("c{:04}", level);
            point.load_label = fmt::format("c={}", level);
            break;
        case Axis::request_rate:
            point.directory = fmt::format("rate{:04}", level);
            point.load_label = fmt::format("{} req/s", level);
            break;
    }
    return point;
}

// ---- going on with an earlier sweep

/// Whether the point was measured and its run is still there.
bool is_kept(const SweepPoint& point, const fs::path& directory) {
    return point.state == PointState::done && fs::exists(directory / point.directory / reports::kRunFileName);
}

/// The same and worth keeping: an invalid measurement is made again.
bool is_measured(const SweepPoint& point, const fs::path& directory) {
    return is_kept(point, directory) && point.verdict != Verdict::invalid;
}

void refuse_foreign_runs(const SweepFile& file, const fs::path& directory) {
    for (const SweepPoint& point : file.points) {
        const fs::path run = directory / point.directory;
        if (fs::exists(run / reports::kRunFileName))
            throw UsageError(
                fmt::format("{} holds a result, and {} beside it is missing; give another --out, or "
                            "--overwrite to replace it",
                            run.string(), (directory / reports::kSweepFileName).string()));
    }
}

/// What points of one sweep must agree in.
bool must_stay(const PlanField& field) {
    return field.kind == FieldKind::workload || field.kind == FieldKind::load ||
           field.kind == FieldKind::measuring;
}

bool is_judging(const PlanField& field) {
    return field.kind == FieldKind::judging;
}

std::string with_value(const std::string& option, const std::string& value) {
    return value.empty() ? fmt::format("without {}", option) : fmt::format("with {} {}", option, value);
}

void refuse_another_sweep(const SweepFile& before, const SweepFile& now, const fs::path& directory) {
    if (before.axis != now.axis)
        throw UsageError(fmt::format(
            "{} holds a sweep over {}, and this one is over {}; give another --out, or go on with the other",
            directory.string(), before.axis, now.axis));
    const auto found = difference(before.options, now.options, must_stay);
    if (!found) return;
    throw UsageError(fmt::format(
        "{} holds a sweep {}, and this one is {}; give another --out, or the same options to go on "
        "with it ({})",
        directory.string(), with_value(found->name, found->before), with_value(found->name, found->after),
        before.command));
}

void sort_by_load(std::vector<SweepPoint>& points) {
    std::sort(points.begin(), points.end(),
              [](const SweepPoint& a, const SweepPoint& b) { return a.load < b.load; });
}

// ---- measuring

/// Points on their way: threads take them in order, and the file is written before and after each.
struct Sweeping {
    const Target& target;
    const SweepPlan& plan;
    SweepFile& file;
    const fs::path& directory;
    const Invocation& invocation;
    Watcher& watcher;
    const std::stop_token& stop;
    std::mutex mutex = {};  ///< of what follows, of `file` and of `watcher`
    std::size_t next = 0;
    bool stopped = false;
    std::exception_ptr failure = {};  ///< the first
};

void tell_lengthened(const Sweeping& sweeping, const SweepPoint& point) {
    const auto asked = sweeping.plan.asked.stop.requests;
    const auto requests = at_level(sweeping.plan.asked, sweeping.plan.axis, point.load).stop.requests;
    if (asked != requests) sweeping.watcher.point_lengthened(point.load_label, *requests, *asked);
}

/// The next point to measure; null when none is left. With the mutex held.
SweepPoint* next_point(Sweeping& sweeping) {
    auto& points = sweeping.file.points;
    while (!sweeping.stopped && sweeping.next < points.size()) {
        SweepPoint& point = points[sweeping.next++];
        const bool known = point.state == PointState::done;
        sweeping.watcher.point_begins(sweeping.next, points.size(), point.load_label, known);
        if (known) continue;
        tell_lengthened(sweeping, point);
        return &point;
    }
    return nullptr;
}

/// Whether requests failed in a way that a server which is gone would explain.
bool lost_connections(const RunResult& result) {
    const auto& failures = result.counts.by_outcome;
    return failures.contains("connect_failed") || failures.contains("disconnected");
}

struct Outcome {
    SweepPoint point;
    std::exception_ptr failure = {};
};

/// What becomes of a point. Needs no mutex: what it reads is not written to meanwhile.
Outcome outcome_of(const Sweeping& sweeping, SweepPoint point) {
    try {
        const LoadPlan asked = at_level(sweeping.plan.asked, sweeping.plan.axis, point.load);
        const Measured measured = measure(sweeping.target, asked, sweeping.directory / point.directory,
                                          sweeping.invocation, sweeping.watcher, sweeping.stop);
        if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
        if (measured.result.partial) {
            point.state = PointState::pending;
            return {point};
        }
        point = reports::sweep_point_of(measured.result, point.directory, point.load);
        if (lost_connections(measured.result)) sweeping.target.require_answer();
        return {point};
    } catch (const Error& error) {
        point.state = PointState::failed;
        point.error = sweeping.target.secrets().redacted(error.what());
        return {point, std::current_exception()};
    }
}

/// Takes points until none is left, one could not be measured, or the user has had enough.
void take_points(Sweeping& sweeping) {
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
void take_points_or_fail(Sweeping& sweeping) {
    try {
        take_points(sweeping);
    } catch (...) {
        const std::lock_guard lock(sweeping.mutex);
        sweeping.stopped = true;
        if (!sweeping.failure) sweeping.failure = std::current_exception();
    }
}

}  // namespace

SweepFile fresh_sweep(const SweepPlan& plan, const Invocation& invocation) {
    SweepFile file;
    file.axis = name_of(plan.axis);
    file.started_at = utc_now();
    file.command = invocation.command;
    file.options = echo_of(plan.asked);
    for (const std::uint64_t level : plan.levels) file.points.push_back(pending_point(plan.axis, level));
    return file;
}

Resumed resumed(SweepFile fresh, const fs::path& directory) {
    if (!fs::exists(directory / reports::kSweepFileName)) {
        refuse_foreign_runs(fresh, directory);
        return {std::move(fresh)};
    }
    const SweepFile before = reports::read_sweep(directory);
    refuse_another_sweep(before, fresh, directory);
    fresh.started_at = before.started_at;
    for (SweepPoint& point : fresh.points) {
        const auto old = std::find_if(before.points.begin(), before.points.end(), [&](const SweepPoint& p) {
            return p.directory == point.directory && is_measured(p, directory);
        });
        if (old != before.points.end()) point = *old;
    }
    for (const SweepPoint& old : before.points) {
        const bool planned = std::any_of(fresh.points.begin(), fresh.points.end(),
                                         [&](const SweepPoint& p) { return p.directory == old.directory; });
        if (!planned && is_kept(old, directory)) fresh.points.push_back(old);
    }
    sort_by_load(fresh.points);
    const bool judged_otherwise = difference(before.options, fresh.options, is_judging).has_value();
    return {std::move(fresh), judged_otherwise};
}

void judge_points_anew(const SweepFile& file, const LoadPlan& asked, const fs::path& directory) {
    for (const SweepPoint& point : file.points) {
        if (point.state == PointState::done)
            judge_anew(directory / point.directory, asked.classes.front().goodput);
    }
    reports::write_sweep(directory, file);
}

bool nothing_to_measure(const SweepFile& file) {
    return std::all_of(file.points.begin(), file.points.end(),
                       [](const SweepPoint& p) { return p.state == PointState::done; });
}

std::uint64_t most_in_flight(const SweepFile& file) {
    double most = 0;
    for (const SweepPoint& point : file.points) {
        if (file.axis == name_of(Axis::concurrency) && point.state != PointState::done)
            most = std::max(most, point.load);
    }
    return static_cast<std::uint64_t>(most);
}

void remove_points(const SweepFile& file, const fs::path& directory) {
    for (const SweepPoint& point : file.points) reports::remove_run(directory / point.directory);
}

void measure_points(const Target& target, const SweepPlan& plan, SweepFile& file, const fs::path& directory,
                    const Invocation& invocation, Watcher& watcher, const std::stop_token& stop) {
    Sweeping sweeping{target, plan, file, directory, invocation, watcher, stop};
    const std::size_t threads =
        target.in_virtual_time() ? std::min<std::size_t>(cards::this_host().cores, file.points.size()) : 1;
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) {
        others.emplace_back([&sweeping] { take_points_or_fail(sweeping); });
    }
    take_points_or_fail(sweeping);
    others.clear();  // joins
    if (sweeping.failure) std::rethrow_exception(sweeping.failure);
}

void require_valid(const SweepFile& file, const fs::path& directory) {
    const auto pending = std::count_if(file.points.begin(), file.points.end(),
                                       [](const SweepPoint& p) { return p.state != PointState::done; });
    if (pending > 0) {
        throw RuntimeError(fmt::format("interrupted with {} points to go; the same command goes on from {}",
                                       pending, directory.string()));
    }
    const bool all_invalid = std::all_of(file.points.begin(), file.points.end(),
                                         [](const SweepPoint& p) { return p.verdict == Verdict::invalid; });
    if (all_invalid)
        throw Error(ExitCode::measurement_invalid, "no point of the sweep is a valid measurement");
}

}  // namespace paretoken::experiments
