#pragma once
// A sweep: one run after the other over the levels of an axis, in every cell and as often as it is to be
// repeated, each in a directory of its own below the sweep's. sweep.json is written before and after every
// point, so that a sweep can be resumed; what its points have in common must stay the same then.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "experiments/run.h"
#include "experiments/sweep/cells.h"
#include "experiments/target/launch.h"
#include "experiments/target/provenance.h"
#include "experiments/target/resolve.h"
#include "experiments/target/target.h"
#include "experiments/watcher.h"
#include "reports/files/sweep_file.h"

namespace paretoken::experiments {

/// In which order the levels of a cell are measured. What drifts with time (caches, temperature) looks like
/// an effect of the load when levels only ascend.
enum class Order : std::uint8_t {
    ascending,  ///< all levels, then all again for the next repeat
    random,     ///< levels and repeats shuffled, by the seed
    abba,       ///< ascending and descending in turn, repeat by repeat
};
Order order_named(const std::string& name);  ///< throws UsageError

/// When a server that a command starts is started anew, besides when its command changes.
enum class Restart : std::uint8_t {
    changed,  ///< never; points are ordered for the fewest starts
    cell,     ///< for every cell
    repeat,   ///< for every repeat of a cell
};
Restart restart_named(const std::string& name);  ///< throws UsageError

struct SweepPlan {
    LoadPlan asked;  ///< without a level; has passed through with_dataset()
    Axis axis = Axis::concurrency;
    std::vector<double> levels = {};  ///< ascending, each above 0
    std::vector<Cell> cells = {{}};   ///< never empty; one that names the axis has that level alone
    std::uint64_t repeats = 1;        ///< the i-th with the seed plus i − 1
    Order order = Order::ascending;
    Restart restart = Restart::changed;
    /// URLs of a second server. Every cell is then there twice, once for each server, and the points of both
    /// are measured in turn, load by load. Empty: there is one server.
    std::vector<std::string> against = {};
    bool anyway = false;  ///< the two may serve different models
};

/// The two servers as cells name them, credentials hidden; none without a second server.
std::vector<std::string> servers_of(const SweepPlan& plan);

/// Puts each cell there twice, once for each server. Throws UsageError where both are the same, or where the
/// plan starts its server by a command.
void set_against(SweepPlan& plan, const std::string& urls);

/// The plan of one point.
LoadPlan plan_at(const SweepPlan& plan, const reports::SweepPoint& point);

/// All points pending.
reports::SweepFile fresh_sweep(const SweepPlan& plan, const Invocation& invocation);

struct Resumed {
    reports::SweepFile file;
    bool judged_otherwise = false;  ///< the finished points were held against other SLOs
};

/// `fresh` with what an earlier sweep into `directory` has measured; points that failed, are invalid or whose
/// directory is gone are pending. Levels that are new are added to those of before. Writes nothing. Throws
/// UsageError naming the option and both values where the earlier sweep was asked for another workload, load
/// or way of measuring, and where runs are there without a sweep.json.
Resumed resumed(reports::SweepFile fresh, const std::filesystem::path& directory);

/// `fresh` as an addition to the sweep `before`: what the two ask differently becomes a part of the cells of
/// `fresh`, and the options are those of `before`. Throws UsageError naming an option that no cell can hold:
/// one that is secret, a list, or given before and not now.
reports::SweepFile extending(reports::SweepFile fresh, const reports::SweepFile& before);

/// An outline of the runs that a sweep is about to make.
struct Outline {
    std::size_t cells = 0;
    std::size_t points = 0;
    std::size_t left = 0;                ///< points that are not done
    std::size_t starts = 0;              ///< of a server that a command starts
    std::optional<double> seconds = {};  ///< of the loads that are left, where a time limits them

    bool operator==(const Outline&) const = default;
};
Outline outline_of(const SweepPlan& plan, const reports::SweepFile& file);

/// "8 runs in 2 cells, 3 of them measured already; 2 starts of the server; about 6:00 of load"
std::string text_of(const Outline& outline);

/// Holds the finished points of `file` against the SLOs of `asked`, and writes sweep.json. Throws as
/// judge_anew().
void judge_points_anew(reports::SweepFile& file, const LoadPlan& asked,
                       const std::filesystem::path& directory);

bool nothing_to_measure(const reports::SweepFile& file);

/// The highest level of concurrency that is left to measure; 0 on another axis.
std::uint64_t most_in_flight(const reports::SweepFile& file);

/// A point of the axis that the sweep has not measured.
reports::SweepPoint pending_point(Axis axis, double level, const Cell& cell = {}, std::uint64_t repeat = 1);

/// Removes what an earlier sweep left of the points of `file`, so that no report takes it for this sweep's.
void remove_points(const reports::SweepFile& file, const std::filesystem::path& directory);

/// Points that are measured one after the other on one target, or on those of two servers.
struct Stretch {
    std::vector<std::size_t> points;  ///< places in the sweep's file, in the order that they are measured in
    std::string server;               ///< server_key() of their plans
    bool anew = false;                ///< begins with a start of the server, whatever was running

    bool operator==(const Stretch&) const = default;
};

/// All points in the order that they are measured in: cell by cell, and where a command starts the server,
/// those with the same command together. The points of two servers take turns within a stretch.
std::vector<Stretch> stretches_of(const SweepPlan& plan, const std::vector<reports::SweepPoint>& points);

/// How often a server is started for the points that are not done.
std::size_t starts_of(const std::vector<Stretch>& stretches, const std::vector<reports::SweepPoint>& points);

/// Measures the points of `file` that are not done, stretch by stretch, each on a target of its own; in
/// virtual time as many at once as there are cores. A server of a command that cannot be started or ends
/// fails the points of its stretch, and the sweep goes on. Ends early when `stop` is requested or a point
/// cannot be measured for another reason: then throws what was the matter, and `file` says what was measured
/// until then.
void measure_points(ServerLauncher& launcher, const SweepPlan& plan, reports::SweepFile& file,
                    const std::filesystem::path& directory, const Invocation& invocation, Watcher& watcher,
                    const loadgen::Interruption& interruption);

/// Throws what the sweep deserves: RuntimeError when points are missing or failed, Error with
/// ExitCode::measurement_invalid when none of them proves anything.
void require_valid(const reports::SweepFile& file, const std::filesystem::path& directory);

}  // namespace paretoken::experiments
