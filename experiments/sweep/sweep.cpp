#include "experiments/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "cards/host.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"
#include "core/random.h"
#include "core/spec.h"
#include "core/stable_sort.h"
#include "core/text/content_hash.h"
#include "core/text/secrets.h"
#include "core/validity/validity.h"
#include "experiments/run/begun.h"
#include "experiments/server/launch.h"
#include "experiments/server/redaction.h"
#include "experiments/server/server_command.h"
#include "experiments/session.h"
#include "loadgen/probe/endpoint.h"
#include "reports/analysis/sweep/comparison.h"
#include "reports/files/file_io.h"
#include "reports/files/output_directory.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::PointState;
using reports::SweepFile;
using reports::SweepPoint;

// ---- resuming an earlier sweep

/// Returns whether the point was measured and its run still exists.
bool is_kept(const SweepPoint& point, const fs::path& directory) {
    return point.state == PointState::done && reports::has_result(directory / point.directory);
}

/// Returns whether the point is kept and not invalid; an invalid point is measured again.
bool is_measured(const SweepPoint& point, const fs::path& directory) {
    return is_kept(point, directory) && point.verdict != Verdict::invalid;
}

void refuse_foreign_runs(const SweepFile& file, const fs::path& directory) {
    for (const SweepPoint& point : file.points) {
        const fs::path run = directory / point.directory;
        if (reports::has_result(run))
            throw UsageError(
                fmt::format("{} holds a result, but {}, which would list it, is missing; give another --out, "
                            "or --overwrite to replace the result",
                            run.string(), (directory / reports::kSweepFileName).string()));
    }
}

/// Returns whether all points of a sweep must have the same value of the field.
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
        throw UsageError(
            fmt::format("{} holds a sweep over {}, and this one is over {}; give another --out, or the load "
                        "options of the stored sweep",
                        directory.string(), before.axis, now.axis));
    const auto text_of_servers = [](const SweepFile& file) {
        return file.comparison ? fmt::format("of {}", fmt::join(file.comparison->servers, " against "))
                               : std::string("without --against");
    };
    if (text_of_servers(before) != text_of_servers(now))
        throw UsageError(fmt::format("{} holds a sweep {}, and this one is {}; give another --out",
                                     directory.string(), text_of_servers(before), text_of_servers(now)));
    const auto found = difference(before.options, now.options, must_stay);
    if (!found) return;
    throw UsageError(
        fmt::format("{} holds a sweep {}, and this one is {}; give another --out, the options of the stored "
                    "sweep to continue it ({}), or --extend to add the new points to it",
                    directory.string(), with_value(found->name, found->before),
                    with_value(found->name, found->after), before.command));
}

/// Sorts points by cell in the order of `cells` (other cells last), then by load and repeat.
void sort_points(std::vector<SweepPoint>& points, const std::vector<Cell>& cells) {
    const auto place = [&](const SweepPoint& point) {
        const auto cell = std::ranges::find(cells, point.cell) - cells.begin();
        return std::tuple(cell, text_of(point.cell), point.load, point.repeat);
    };
    sort_stably(points, [&](const SweepPoint& a, const SweepPoint& b) { return place(a) < place(b); });
}

/// Computes the parts of the file that follow from its points.
void add_up(SweepFile& file) {
    file.repeats = reports::repeats_of(file.points);
    if (file.comparison) file.comparison = reports::comparison_of(file.points, file.comparison->servers);
}

// ---- measuring

/// The state of a running sweep. Threads take points in the order of `sequence`, and the file is written
/// before and after each point.
struct Sweeping {
    std::map<std::string, std::unique_ptr<Target>>
        targets;  ///< targets of the current cell, by reports::server_of()
    const SweepPlan& plan;
    SweepFile& file;
    const fs::path& directory;
    const Session& session;
    std::mutex mutex = {};                   ///< guards the members below, `file` and the watcher
    std::vector<std::size_t> sequence = {};  ///< positions of the cell's points in the file
    std::size_t next = 0;                    ///< position in `sequence`
    std::size_t begun = 0;                   ///< points begun, over all cells
    std::size_t begun_before = 0;            ///< `begun` at the start of the stretch
    bool stopped = false;
    std::exception_ptr failure = {};  ///< the first failure
};

std::string label_of(const SweepPoint& point);

void tell_lengthened(const Sweeping& sweeping, const SweepPoint& point) {
    const LoadPlan cell = in_cell(sweeping.plan.asked, point.cell);
    const auto asked = cell.stop.requests;
    const auto requests = at_level(cell, sweeping.plan.axis, point.load).stop.requests;
    if (asked && requests && *asked != *requests)
        sweeping.session.watcher.point_lengthened(point.load_label, *requests, *asked);
}

/// Returns the next point to measure; null when none is left. The caller holds the mutex.
SweepPoint* next_point(Sweeping& sweeping) {
    auto& points = sweeping.file.points;
    while (!sweeping.stopped && sweeping.next < sweeping.sequence.size()) {
        SweepPoint& point = points[sweeping.sequence[sweeping.next++]];
        const bool known = point.state == PointState::done;
        sweeping.session.watcher.point_begins(++sweeping.begun, points.size(), label_of(point), known);
        if (known) continue;
        tell_lengthened(sweeping, point);
        return &point;
    }
    return nullptr;
}

/// Returns the positions of a cell's points in the order of measuring.
std::vector<std::size_t> sequence_in(const SweepPlan& plan, const std::vector<SweepPoint>& points,
                                     const Cell& cell) {
    std::vector<std::size_t> sequence;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (points[i].cell == cell) sequence.push_back(i);
    const auto by_repeat = [&](bool turns) {
        std::ranges::stable_sort(sequence, [&](std::size_t a, std::size_t b) {
            const SweepPoint& x = points[a];
            const SweepPoint& y = points[b];
            if (x.repeat != y.repeat) return x.repeat < y.repeat;
            return turns && x.repeat % 2 == 0 ? x.load > y.load : x.load < y.load;
        });
    };
    switch (plan.order) {
        case Order::ascending:
            by_repeat(false);
            break;
        case Order::abba:
            by_repeat(true);
            break;
        case Order::random: {
            Random random(derived_seed(plan.asked.seed, "order"));
            for (std::size_t i = sequence.size(); i > 1; --i)
                std::swap(sequence[i - 1], sequence[random.below(i)]);
            break;
        }
    }
    return sequence;
}

/// Returns the positions of a cell's points on the first server in the order of measuring, each beside the
/// position of the second server's point. The two servers alternate in going first.
std::vector<std::size_t> sequence_of_both(const SweepPlan& plan, const std::vector<SweepPoint>& points,
                                          const Cell& first, const Cell& second) {
    std::vector<std::size_t> left = sequence_in(plan, points, second);
    std::vector<std::size_t> sequence;
    bool second_first = false;
    for (const std::size_t i : sequence_in(plan, points, first)) {
        const auto other = std::ranges::find_if(left, [&](std::size_t j) {
            return points[j].load == points[i].load && points[j].repeat == points[i].repeat;
        });
        sequence.push_back(i);
        if (other == left.end()) continue;
        sequence.insert(second_first ? sequence.end() - 1 : sequence.end(), *other);
        left.erase(other);
        second_first = !second_first;
    }
    sequence.insert(sequence.end(), left.begin(), left.end());
    return sequence;
}

/// Returns the positions of all points in the order of measuring.
std::vector<std::size_t> sequence_of(const SweepPlan& plan, const std::vector<SweepPoint>& points) {
    std::vector<std::size_t> sequence;
    const std::vector<Cell> cells = cells_of(points);
    const std::vector<std::string> both = servers_of(plan);
    const std::string key(reports::kServerOfCell);
    for (Cell cell : cells) {
        if (both.empty()) {
            for (const std::size_t i : sequence_in(plan, points, cell)) sequence.push_back(i);
        } else if (cell[key] == both[0]) {
            Cell other = cell;
            other[key] = both[1];
            for (const std::size_t i : sequence_of_both(plan, points, cell, other)) sequence.push_back(i);
        }
    }
    if (plan.asked.server.command.empty()) return sequence;
    std::vector<std::string> servers;  // in the order of their first points
    std::map<std::size_t, std::ptrdiff_t> place;
    for (const std::size_t i : sequence) {
        std::string own = server_key(plan_at(plan, points[i]).server);
        const auto known = std::ranges::find(servers, own);
        place[i] = known - servers.begin();
        if (known == servers.end()) servers.push_back(std::move(own));
    }
    std::ranges::stable_sort(sequence, [&](std::size_t a, std::size_t b) { return place[a] < place[b]; });
    return sequence;
}

std::string label_of(const SweepPoint& point) {
    std::string label = point.load_label;
    if (!point.cell.empty()) label += ", " + text_of(point.cell);
    if (point.repeat > 1) label += fmt::format(", repeat {}", point.repeat);
    return label;
}

/// Returns whether requests failed in a way that the end of the server would explain.
bool lost_connections(const RunResult& result) {
    const auto& failures = result.counts.by_outcome;
    return failures.contains("connect_failed") || failures.contains("disconnected");
}

struct Outcome {
    SweepPoint point;
    std::exception_ptr failure = {};
};

/// Returns a text up to its first semicolon: without what to do about one run.
std::string first_clause(const std::string& text) {
    return text.substr(0, text.find(';'));
}

/// Measures a point and returns its outcome. Needs no mutex, because nobody writes to what it reads.
Outcome outcome_of(const Sweeping& sweeping, SweepPoint point) {
    const Target& target = *sweeping.targets.at(reports::server_of(point));
    try {
        const Measured measured = measure(target, plan_at(sweeping.plan, point),
                                          sweeping.directory / point.directory, sweeping.session);
        if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
        if (measured.result.partial) {
            point.state = PointState::pending;
            point.error = first_clause(lost_records(measured.result));
            return {point};
        }
        point = reports::sweep_point_of(measured.result, point);
        if (lost_connections(measured.result)) target.require_answer();
        return {point};
    } catch (const Error& error) {
        point.state = PointState::failed;
        point.error = target.secrets().redacted(error.what());
        return {point, std::current_exception()};
    }
}

/// Measures points until none is left, one cannot be measured, or the user stops the sweep.
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
        add_up(sweeping.file);
        reports::write_sweep(sweeping.directory, sweeping.file);
        if (point->state != PointState::pending)
            sweeping.session.watcher.point_ends(*point, sweeping.directory / point->directory);
        if (outcome.failure) std::rethrow_exception(outcome.failure);
    }
}

/// Calls take_points() on a thread, which no exception may leave.
void take_points_or_fail(Sweeping& sweeping) {
    try {
        take_points(sweeping);
    } catch (...) {
        const std::lock_guard lock(sweeping.mutex);
        sweeping.stopped = true;
        if (!sweeping.failure) sweeping.failure = std::current_exception();
    }
}

/// Returns the targets for those points of a stretch that are not done.
std::map<std::string, std::unique_ptr<Target>> targets_of(const Sweeping& sweeping, ServerLauncher& launcher,
                                                          const Stretch& stretch) {
    std::map<std::string, std::unique_ptr<Target>> targets;
    for (const std::size_t i : stretch.points) {
        const SweepPoint& point = sweeping.file.points[i];
        const std::string server = reports::server_of(point);
        if (point.state == PointState::done || targets.contains(server)) continue;
        targets[server] =
            launcher.open(plan_at(sweeping.plan, point), sweeping.directory / point.directory, stretch.anew);
    }
    return targets;
}

/// Refuses to compare two servers with different models.
void require_one_model(const Sweeping& sweeping) {
    if (sweeping.plan.anyway || sweeping.targets.size() < 2) return;
    const auto& [server, target] = *sweeping.targets.begin();
    const auto& [other_server, other] = *sweeping.targets.rbegin();
    const std::string& model = target->facts().body.model;
    const std::string& other_model = other->facts().body.model;
    if (model != other_model)
        throw UsageError(
            fmt::format("--against: {} serves {}, and {} serves {}; add --anyway to compare them "
                        "nevertheless",
                        server, model, other_server, other_model));
}

/// Measures the points of a stretch that are not done. Throws the error that ended it.
void measure_stretch(Sweeping& sweeping, ServerLauncher& launcher, const Stretch& stretch) {
    sweeping.sequence = stretch.points;
    sweeping.next = 0;
    sweeping.begun_before = sweeping.begun;
    sweeping.targets.clear();
    sweeping.targets = targets_of(sweeping, launcher, stretch);
    require_one_model(sweeping);
    const bool in_virtual_time =
        !sweeping.targets.empty() && sweeping.targets.begin()->second->in_virtual_time();
    const std::size_t threads =
        in_virtual_time ? std::min<std::size_t>(cards::this_host().cores, sweeping.sequence.size()) : 1;
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i)
        others.emplace_back([&sweeping] { take_points_or_fail(sweeping); });
    take_points_or_fail(sweeping);
    others.clear();  // joins the threads
    if (!sweeping.failure) sweeping.targets.clear();
    if (sweeping.failure) std::rethrow_exception(std::exchange(sweeping.failure, {}));
}

SweepPoint& place_for(SweepFile& file, const SweepPoint& point) {
    const auto old = std::ranges::find(file.points, point.directory, &SweepPoint::directory);
    if (old != file.points.end()) return *old;
    return file.points.emplace_back(point);
}

/// Marks the points of a stretch whose server failed as failed.
void fail_stretch(Sweeping& sweeping, const Stretch& stretch, const std::string& why) {
    for (const std::size_t i : stretch.points) {
        SweepPoint& point = sweeping.file.points[i];
        if (point.state == PointState::done) continue;
        point.state = PointState::failed;
        point.error = why;
    }
    sweeping.begun = sweeping.begun_before + stretch.points.size();
    sweeping.stopped = false;
    sweeping.session.watcher.warn(why);
    reports::write_sweep(sweeping.directory, sweeping.file);
}

}  // namespace

SweepPoint pending_point(Axis axis, double level, const Cell& cell, std::uint64_t repeat) {
    constexpr std::size_t kHashDigits = 8;
    SweepPoint point{.load = level, .cell = cell, .repeat = repeat};
    const bool whole = level == std::floor(level);
    switch (axis) {
        case Axis::concurrency:
            point.directory = fmt::format("c{:04.0f}", level);
            point.load_label = fmt::format("c={:.0f}", level);
            break;
        case Axis::request_rate:
            point.directory = whole ? fmt::format("rate{:04.0f}", level) : fmt::format("rate{:09.4f}", level);
            point.load_label = fmt::format("{:g} req/s", level);
            break;
    }
    if (repeat > 1) point.directory += fmt::format("-r{}", repeat);
    if (!cell.empty()) {  // the digits distinguish cells with the same readable name
        const std::string hash = content_hash(text_of(cell) + " " + point.directory);
        point.directory =
            fmt::format("{},{}-{}", directory_name_of(cell), point.directory, hash.substr(0, kHashDigits));
    }
    return point;
}

Restart restart_named(const std::string& name) {
    if (name == "changed") return Restart::changed;
    if (name == "cell") return Restart::cell;
    if (name == "repeat") return Restart::repeat;
    throw UsageError(fmt::format("--restart '{}': expected changed, cell or repeat", name));
}

Order order_named(const std::string& name) {
    if (name == "ascending") return Order::ascending;
    if (name == "random") return Order::random;
    if (name == "abba") return Order::abba;
    throw UsageError(fmt::format("--order '{}': expected ascending, random or abba", name));
}

std::vector<std::string> servers_of(const SweepPlan& plan) {
    if (plan.against.empty()) return {};
    const auto text = [](const std::vector<std::string>& urls) {
        std::string all;
        for (const std::string& url : urls) all += (all.empty() ? "" : ",") + redacted_url(url);
        return all;
    };
    return {text(plan.asked.targets), text(plan.against)};
}

void set_against(SweepPlan& plan, const std::string& urls) {
    if (!plan.asked.server.command.empty())
        throw UsageError(
            "--against compares two servers that are already running, and --server-cmd starts one; "
            "leave one of them out");
    LoadPlan other = plan.asked;
    plan_field_named("url")->value.set(other, 0, {urls});
    plan.against = other.targets;
    const std::vector<std::string> servers = servers_of(plan);
    if (servers[0] == servers[1])
        throw UsageError(fmt::format("--against {0}: both servers are {0}; give another URL", servers[0]));
    std::vector<Cell> cells;
    for (const Cell& cell : plan.cells)
        for (const std::string& server : servers)
            cells.emplace_back(cell)[std::string(reports::kServerOfCell)] = server;
    plan.cells = std::move(cells);
}

LoadPlan plan_at(const SweepPlan& plan, const SweepPoint& point) {
    LoadPlan asked = at_level(in_cell(plan.asked, point.cell), plan.axis, point.load);
    if (const auto servers = servers_of(plan); !servers.empty() && reports::server_of(point) == servers[1]) {
        asked.server_number = asked.targets.size();
        asked.targets = plan.against;
    }
    asked.seed += point.repeat - 1;
    return with_links(std::move(asked));
}

std::vector<std::string> run_words(const SweepPlan& plan, const SweepPoint& point, const LoadPlan& at) {
    std::vector<std::string> words{"paretoken", "run"};
    for (std::string& word : arguments_of(echo_of(at))) words.push_back(std::move(word));
    for (const auto& [key, value] : at.metadata)
        words.insert(words.end(), {"--metadata", fmt::format("{}={}", key, value)});
    if (at.class_specs.empty()) return words;
    Cell values = point.cell;  // the options that the classes share
    values[std::string(name_of(plan.axis))] = fmt::format("{:g}", point.load);
    for (const auto& [name, value] : values)
        if (const PlanField* field = plan_field_named(name); field && field->of_class)
            words.insert(words.end(), {option_of(*field), value});
    return words;
}

SweepFile fresh_sweep(const SweepPlan& plan, const Invocation& invocation) {
    Secrets secrets = secrets_of(plan.asked, "");  // a command line holds the name of the key's variable
    for (const std::string& url : plan.against) secrets.add_url(url);
    SweepFile file;
    file.axis = name_of(plan.axis);
    file.started_at = utc_now();
    file.command = secrets.redacted(invocation.command);
    file.options = echo_of(plan.asked);
    redact(file.options, secrets);
    if (!plan.against.empty()) file.comparison = reports::SweepComparison{.servers = servers_of(plan)};
    for (const Cell& cell : plan.cells) {
        std::vector<double> levels = plan.levels;
        if (const auto own = cell.find(file.axis); own != cell.end()) levels = {parse_number(own->second)};
        for (const double level : levels)
            for (std::uint64_t repeat = 1; repeat <= plan.repeats; ++repeat)
                file.points.push_back(pending_point(plan.axis, level, cell, repeat));
    }
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
        const auto old = std::ranges::find_if(before.points, [&](const SweepPoint& p) {
            return p.directory == point.directory && is_measured(p, directory);
        });
        if (old != before.points.end()) point = *old;
    }
    for (const SweepPoint& old : before.points) {
        const bool planned = std::ranges::any_of(
            fresh.points, [&](const SweepPoint& p) { return p.directory == old.directory; });
        if (!planned && is_kept(old, directory)) fresh.points.push_back(old);
    }
    sort_points(fresh.points, cells_of(fresh.points));
    add_up(fresh);
    fresh.search = before.search;
    const bool judged_otherwise = difference(before.options, fresh.options, is_judging).has_value();
    return {std::move(fresh), judged_otherwise};
}

SweepFile extending(SweepFile fresh, const SweepFile& before) {
    Cell others;
    std::set<std::string_view> known;
    const auto is_new = [&](const PlanField& field) {
        return must_stay(field) && !known.contains(field.name);
    };
    while (const auto found = difference(before.options, fresh.options, is_new)) {
        const PlanField& field = *found->field;
        known.insert(field.name);
        if (field.shown != nullptr || field.type == FieldType::list || found->after.empty())
            throw UsageError(
                fmt::format("--extend: the stored sweep was measured {}, and this one is {}; {}",
                            with_value(found->name, found->before), with_value(found->name, found->after),
                            found->after.empty() ? "give a value for this option" : "give another --out"));
        const std::string name(field.name);
        others[name] = found->after;
        if (const auto old = before.options.find(name); old != before.options.end())
            fresh.options[name] = old->second;
        else
            fresh.options.erase(name);
    }
    if (others.empty()) return fresh;
    const Axis axis = fresh.axis == name_of(Axis::concurrency) ? Axis::concurrency : Axis::request_rate;
    for (SweepPoint& point : fresh.points) {
        Cell cell = others;
        for (const auto& [name, value] : point.cell) cell[name] = value;
        point = pending_point(axis, point.load, cell, point.repeat);
    }
    return fresh;
}

Outline outline_of(const SweepPlan& plan, const SweepFile& file) {
    Outline outline{.cells = cells_of(file.points).size(), .points = file.points.size()};
    double time_s = 0;
    bool is_known = true;
    for (const SweepPoint& point : file.points) {
        if (point.state == PointState::done) continue;
        ++outline.left;
        const LoadPlan asked = with_load(plan_at(plan, point));
        if (asked.stop.duration)
            time_s += seconds(*asked.stop.duration + asked.warmup_duration.value_or(Duration{}));
        is_known = is_known && asked.stop.duration && !asked.virtual_time;
    }
    if (is_known && outline.left > 0) outline.seconds = time_s;
    if (!plan.asked.server.command.empty())
        outline.starts = starts_of(stretches_of(plan, file.points), file.points);
    return outline;
}

std::string text_of(const Outline& outline) {
    const auto counted = [](std::size_t n, const char* what) {
        return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    std::string text =
        fmt::format("{} in {}", counted(outline.points, "run"), counted(outline.cells, "cell"));
    if (outline.left < outline.points)
        text += fmt::format(", {} of them measured already", outline.points - outline.left);
    if (outline.starts > 0) text += fmt::format("; {} of the server", counted(outline.starts, "start"));
    if (outline.seconds) {
        const auto whole = std::llround(*outline.seconds);
        text += fmt::format("; about {}:{:02} min of load", whole / 60, whole % 60);
    }
    return text;
}

std::vector<Cell> cells_of(const std::vector<SweepPoint>& points) {
    std::vector<Cell> cells;
    for (const SweepPoint& point : points)
        if (cells.empty() || cells.back() != point.cell) cells.push_back(point.cell);
    return cells;
}

void judge_points_anew(SweepFile& file, const LoadPlan& asked, const fs::path& directory) {
    for (SweepPoint& point : file.points) {
        if (point.state != PointState::done) continue;
        const std::string label = point.load_label;  // that of a search has the factor of its requests
        point = reports::sweep_point_of(judge_anew(directory / point.directory, asked), point);
        point.load_label = label;
    }
    reports::write_sweep(directory, file);
}

bool nothing_to_measure(const SweepFile& file) {
    return std::ranges::all_of(file.points, [](const SweepPoint& p) { return p.state == PointState::done; });
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

std::vector<Stretch> stretches_of(const SweepPlan& plan, const std::vector<SweepPoint>& points) {
    std::vector<Stretch> stretches;
    const SweepPoint* before = nullptr;
    for (const std::size_t i : sequence_of(plan, points)) {
        const SweepPoint& point = points[i];
        const bool starts = !plan.asked.server.command.empty();
        const std::string server = starts ? server_key(plan_at(plan, point).server) : "";
        const bool same_cell =
            before != nullptr && reports::without_server(before->cell) == reports::without_server(point.cell);
        const bool same_repeat = same_cell && before->repeat == point.repeat;
        const bool anew = !server.empty() && ((plan.restart == Restart::cell && !same_cell) ||
                                              (plan.restart == Restart::repeat && !same_repeat));
        if (stretches.empty() || !same_cell || anew || stretches.back().server != server)
            stretches.push_back({.server = server, .anew = anew});
        stretches.back().points.push_back(i);
        before = &point;
    }
    return stretches;
}

std::size_t starts_of(const std::vector<Stretch>& stretches, const std::vector<SweepPoint>& points) {
    std::size_t starts = 0;
    const Stretch* before = nullptr;  // the last stretch with points to measure
    for (const Stretch& stretch : stretches) {
        const bool is_done = std::ranges::all_of(
            stretch.points, [&](std::size_t i) { return points[i].state == PointState::done; });
        if (is_done || stretch.server.empty()) continue;
        if (before == nullptr || stretch.anew || before->server != stretch.server) ++starts;
        before = &stretch;
    }
    return starts;
}

void measure_points(ServerLauncher& launcher, const SweepPlan& plan, SweepFile& file,
                    const fs::path& directory, const Session& session) {
    Sweeping sweeping{{}, plan, file, directory, session};
    for (const Stretch& stretch : stretches_of(plan, file.points)) {
        try {
            measure_stretch(sweeping, launcher, stretch);
        } catch (const ServerFailed& error) {
            sweeping.targets.clear();
            fail_stretch(sweeping, stretch, error.what());
            launcher.end_server();
            if (session.interruption.stop_starting.stop_requested()) throw;
        } catch (const Error& error) {
            const bool has_results = std::ranges::any_of(
                file.points, [](const SweepPoint& point) { return point.state == PointState::done; });
            if (error.code() != ExitCode::interrupted || !has_results) throw;
            return;
        }
        if (sweeping.stopped) return;
    }
}

namespace {

/// Returns the labels of the first points, separated by semicolons.
std::string labels_of(const std::vector<const SweepPoint*>& points) {
    constexpr std::size_t kNamed = 5;
    std::string labels;
    for (std::size_t i = 0; i < std::min(points.size(), kNamed); ++i)
        labels += (i == 0 ? "" : "; ") + label_of(*points[i]);
    return points.size() > kNamed ? labels + "; …" : labels;
}

}  // namespace

RunResult measure_point(const Target& target, const LoadPlan& asked, SweepFile& file,
                        const SweepPoint& planned, const fs::path& directory, const Session& session) {
    place_for(file, planned).state = PointState::running;
    reports::write_sweep(directory, file);
    Measured measured = measure(target, asked, directory / planned.directory, session);
    SweepPoint& point = place_for(file, planned);
    point = reports::sweep_point_of(measured.result, planned);
    point.load_label = planned.load_label;
    if (measured.result.partial) {
        point.state = PointState::pending;
        point.error = first_clause(lost_records(measured.result));
    }
    reports::write_sweep(directory, file);
    if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
    if (!measured.result.partial) session.watcher.point_ends(point, directory / point.directory);
    return std::move(measured.result);
}

Duration time_of_run(const Target& target, const RunResult& result, TimePoint began) {
    return target.in_virtual_time() ? from_seconds(result.window.run_s) : Clock::now() - began;
}

void require_valid(const SweepFile& file, const std::string& continuing) {
    std::vector<const SweepPoint*> failed;
    std::vector<const SweepPoint*> invalid;
    std::size_t pending = 0;
    std::string lost;  // why the run of a point that is still to measure is not complete
    for (const SweepPoint& point : file.points) {
        if (point.state == PointState::failed) failed.push_back(&point);
        if (point.verdict == Verdict::invalid) invalid.push_back(&point);
        if (point.state != PointState::pending && point.state != PointState::running) continue;
        ++pending;
        if (lost.empty()) lost = point.error;
    }
    if (pending > 0) {
        const std::size_t left = pending + failed.size();
        const auto meeting = file.options.find("rendezvous");
        const bool divided = meeting != file.options.end() && !meeting->second.empty();
        throw RuntimeError(fmt::format("{} with {} point{} to go; this command{} measures {}: {}",
                                       lost.empty() ? "interrupted" : lost + ",", left, left == 1 ? "" : "s",
                                       divided ? ", on every process with its own --shard," : "",
                                       left == 1 ? "it" : "them", continuing));
    }
    if (!failed.empty()) {
        throw RuntimeError(fmt::format(
            "{} of {} points could not be measured ({}): {}; this command tries them again: {}",
            failed.size(), file.points.size(), labels_of(failed), failed.front()->error, continuing));
    }
    if (invalid.empty()) return;
    // The point with the largest share of failures says most about the server.
    const auto failed_share = [](const SweepPoint* point) {
        return point->requests > 0 ? static_cast<double>(point->failed) / static_cast<double>(point->requests)
                                   : 0;
    };
    const SweepPoint& worst = **std::ranges::max_element(invalid, {}, failed_share);
    throw Error(
        ExitCode::measurement_invalid,
        fmt::format("{} of {} points are not valid measurements ({}): {}{}{}{}", invalid.size(),
                    file.points.size(), labels_of(invalid), invalid.size() > 1 ? worst.load_label + ": " : "",
                    worst.note.empty() ? "no reason is given" : worst.note,
                    worst.failures.empty() ? "" : "; ", worst.failures));
}

}  // namespace paretoken::experiments
