#pragma once
// A sweep measures a run (a point) for every level of an axis, in every cell (experiments/sweep/cells.h) and
// for every repeat. sweep.json is written before and after every point, so that a sweep can be resumed; the
// options that decide requests, load or measurement must then stay the same.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "experiments/run.h"
#include "experiments/server/provenance.h"
#include "experiments/server/resolve.h"
#include "experiments/server/target.h"
#include "experiments/sweep/cells.h"
#include "reports/analysis/sweep/sweep.h"

namespace paretoken::experiments {

class ServerLauncher;
struct Session;

/// The order in which a cell's levels are measured. If they ascend, drift looks like an effect of the load.
enum class Order : std::uint8_t {
    ascending,  ///< all levels ascending, once for each repeat
    random,     ///< levels and repeats shuffled by the seed
    abba,       ///< ascending and descending in turn, repeat by repeat
};
Order order_named(const std::string& name);  ///< throws UsageError

/// The points of a sweep before which a server is started again, if the plan starts it by a command. It is
/// always started again if the command changes.
enum class Restart : std::uint8_t {
    changed,  ///< only if the command changes; the order of the points keeps such changes few
    cell,     ///< for every cell
    repeat,   ///< for every repeat of a cell
};
Restart restart_named(const std::string& name);  ///< throws UsageError

struct SweepPlan {
    LoadPlan asked;  ///< plan without a level, to which with_common_dataset() (cells.h) was applied
    Axis axis = Axis::concurrency;
    std::vector<double> levels = {};  ///< levels, ascending and above 0
    std::vector<Cell> cells = {
        {}};                    ///< never empty; a cell that sets the axis is measured at that level only
    std::uint64_t repeats = 1;  ///< number of repeats; the i-th has the seed plus i − 1
    Order order = Order::ascending;
    Restart restart = Restart::changed;
    /// URLs of a second server. Every cell then exists twice, once for each server, and the points of both
    /// are measured in turn, load by load. Empty: there is one server.
    std::vector<std::string> against = {};
    bool anyway = false;  ///< whether the two servers may serve different models
};

/// Returns the names of the two servers in cells, with credentials hidden; empty without a second server.
std::vector<std::string> servers_of(const SweepPlan& plan);

/// Makes `urls` (with commas) the second server and each cell two, one per server. Throws UsageError when
/// both servers are the same, or the plan starts its server by a command.
void set_against(SweepPlan& plan, const std::string& urls);

LoadPlan plan_at(const SweepPlan& plan, const reports::SweepPoint& point);

/// Returns the words of the command that measures a point by `at`, its plan or one like it, without --out.
std::vector<std::string> run_words(const SweepPlan& plan, const reports::SweepPoint& point,
                                   const LoadPlan& at);

/// Returns the file of a new sweep, in which all points are pending.
reports::SweepFile fresh_sweep(const SweepPlan& plan, const Invocation& invocation);

struct Resumed {
    reports::SweepFile file;
    bool judged_otherwise = false;  ///< whether the finished points were judged by other SLOs
};

/// Returns `fresh` with the results of an earlier sweep in `directory`; points that failed, are invalid or
/// lack run.json are pending. Throws UsageError naming the difference for another axis, server, workload,
/// load or way of measuring, and for runs without a sweep.json.
Resumed resumed(reports::SweepFile fresh, const std::filesystem::path& directory);

/// Returns `fresh` as an addition to `before`: options that differ become a part of its cells. Throws
/// UsageError naming one that no cell can hold: a secret, a list, or one that only `before` has.
reports::SweepFile extending(reports::SweepFile fresh, const reports::SweepFile& before);

struct Outline {
    std::size_t cells = 0;
    std::size_t points = 0;
    std::size_t left = 0;                ///< points still to measure
    std::size_t starts = 0;              ///< starts of the server that a command starts
    std::optional<double> seconds = {};  ///< time of the loads that are left; absent if one has no duration,
                                         ///< or runs in virtual time

    bool operator==(const Outline&) const = default;
};
Outline outline_of(const SweepPlan& plan, const reports::SweepFile& file);

/// Returns "8 runs in 2 cells, 3 of them measured already; 2 starts of the server; about 6:00 min of load".
std::string text_of(const Outline& outline);

std::vector<Cell> cells_of(const std::vector<reports::SweepPoint>& points);

/// Judges the finished points by the SLOs of `asked`, and writes sweep.json. Throws as judge_anew() does.
void judge_points_anew(reports::SweepFile& file, const LoadPlan& asked,
                       const std::filesystem::path& directory);

bool nothing_to_measure(const reports::SweepFile& file);

/// Returns the highest level of concurrency that is left to measure; 0 on another axis.
std::uint64_t most_in_flight(const reports::SweepFile& file);

/// Returns a point in the state pending, with its directory and its label. `repeat` counts from 1.
reports::SweepPoint pending_point(Axis axis, double level, const Cell& cell = {}, std::uint64_t repeat = 1);

/// Removes the runs of an earlier sweep at the points of `file`, so that no report takes them for new ones.
void remove_points(const reports::SweepFile& file, const std::filesystem::path& directory);

/// Points that are measured one after the other on one target, or on the targets of two servers.
struct Stretch {
    std::vector<std::size_t> points = {};  ///< positions in the sweep's file, in the order of measuring
    std::string server;  ///< server_key() of their plans; empty if no command starts the server
    bool anew = false;   ///< whether it begins with a new start of the server

    bool operator==(const Stretch&) const = default;
};

/// Returns all points in the order of measuring: cell by cell, and if a command starts the server,
/// points with the same command together. The points of two servers take turns within a stretch.
std::vector<Stretch> stretches_of(const SweepPlan& plan, const std::vector<reports::SweepPoint>& points);

/// Returns how often a server is started for the points that are not done.
std::size_t starts_of(const std::vector<Stretch>& stretches, const std::vector<reports::SweepPoint>& points);

/// Measures the points of `file` that are not done, each stretch on a target of its own, in virtual time as
/// many points at once as there are cores. A server that fails fails the points of its stretch only. Returns
/// early on a stop, and throws ExitCode::interrupted if nothing was measured. Throws other errors, and
/// UsageError if compared servers have different models.
void measure_points(ServerLauncher& launcher, const SweepPlan& plan, reports::SweepFile& file,
                    const std::filesystem::path& directory, const Session& session);

/// Measures one point on an open target by `asked`, adds it to `file` or replaces it there, and writes
/// sweep.json before and after. If the run was interrupted, the point stays pending and the returned result
/// is partial. Throws as measure() does, and RuntimeError when the result could not be written.
RunResult measure_point(const Target& target, const LoadPlan& asked, reports::SweepFile& file,
                        const reports::SweepPoint& planned, const std::filesystem::path& directory,
                        const Session& session);

/// Returns the time that a run took which began at `began`: in virtual time that of its result.
Duration time_of_run(const Target& target, const RunResult& result, TimePoint began);

/// Throws RuntimeError when points of a sweep are missing or failed, Error with ExitCode::measurement_invalid
/// when any is invalid. `continuing` is the command that measures what is missing.
void require_valid(const reports::SweepFile& file, const std::string& continuing);

}  // namespace paretoken::experiments
