#pragma once
// The plan of a sweep and what each of its points came to: the content of sweep.json. Written anew after
// every point, so that a sweep can be resumed and its table drawn at any moment.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

enum class PointState : std::uint8_t { pending, running, done, failed };
std::string_view name_of(PointState state);
std::optional<PointState> point_state_named(std::string_view name);

/// One load level, with the headline figures of its run (absent until it is done).
struct SweepPoint {
    std::string directory = {};   ///< relative to the sweep's own
    std::string load_label = {};  ///< "c=16" or "4 req/s"
    double load = 0;
    std::map<std::string, std::string> cell = {};  ///< option → value, for the options that the sweep varies
    std::uint64_t repeat = 1;                      ///< which of the sweep's repeats, from 1
    PointState state = PointState::pending;
    std::string error = {};  ///< why it failed, one line

    std::optional<double> requests_per_s = {};
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> interactivity_tok_per_s = {};  ///< tokens/s per user, p90
    std::optional<double> ttft_p50_s = {};
    std::optional<double> ttft_p99_s = {};
    std::optional<double> tpot_p50_s = {};
    std::optional<double> itl_p50_s = {};
    std::optional<double> itl_p99_s = {};
    std::optional<double> acceptance = {};  ///< of drafted tokens, by the server's counters
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    std::optional<Verdict> verdict = {};
    std::optional<SloVerdict> slo = {};  ///< on all limits of the sweep together; absent without any
    std::string note = {};               ///< the gravest reason why the run is not simply valid

    bool operator==(const SweepPoint&) const = default;
};

/// How much a figure differed between the repeats of one point. The interval is Student's t over runs and
/// holds what no interval of a single run can see: what changes from run to run.
struct RepeatSpread {
    double mean = 0;
    double standard_deviation = 0;
    std::optional<Interval> ci95 = {};

    bool operator==(const RepeatSpread&) const = default;
};

/// The repeats of one cell and load, once two of them are done.
struct SweepRepeats {
    std::string load_label = {};
    double load = 0;
    std::map<std::string, std::string> cell = {};
    std::uint64_t runs = 0;
    std::map<std::string, RepeatSpread> figures = {};  ///< by the key of SweepPoint, e.g. "ttft_p50_s"

    bool operator==(const SweepRepeats&) const = default;
};

/// How a search for the highest load that meets the SLOs went.
struct SweepSearch {
    std::vector<std::string> slos = {};      ///< as given
    std::optional<double> pass = {};         ///< the highest load that was measured twice and met them all
    std::optional<double> unconfirmed = {};  ///< a higher load that met them once and was not shown to again
    std::optional<double> fail = {};         ///< the lowest that certainly missed one
    std::string binding = {};                ///< the SLO that `fail` missed
    std::uint64_t runs = 0;
    std::optional<double> most_requests_per_s = {};  ///< of all levels
    std::optional<double> saturation =
        {};  ///< by Little's law: most requests/s × end-to-end time of the lowest level
    /// d ln(requests/s) / d ln(load) from each level that was doubled to the next
    std::vector<double> elasticity = {};
    std::string ended = {};                    ///< why it ended, one sentence
    std::string narrow = {};                   ///< the command that narrows the bracket; empty: none can
    std::optional<double> at = {};             ///< the load that was asked about (--at)
    std::optional<double> of_saturation = {};  ///< `at` as a share of the load that saturates the server

    bool operator==(const SweepSearch&) const = default;
};

/// In a sweep over two servers, what a point's cell names its server under.
inline constexpr std::string_view kServerOfCell = "server";

/// The server that a point's cell names; empty where the sweep has one server.
std::string server_of(const SweepPoint& point);

/// A cell without its server: the part that the points of two servers have in common.
std::map<std::string, std::string> without_server(std::map<std::string, std::string> cell);

/// A load at which one server stops being the better one and the other begins to be.
struct Crossing {
    double load = 0;  ///< by interpolation between `low` and `high`, over the logarithm of the load
    double low = 0;   ///< the highest measured load at which `below` is better
    double high = 0;  ///< the lowest measured load above it at which the other one is
    std::string below = {};
    std::string above = {};

    bool operator==(const Crossing&) const = default;
};

/// One figure of two servers over their common loads.
struct ComparedFigure {
    std::string figure = {};  ///< key of SweepPoint, e.g. "ttft_p50_s"
    std::uint64_t loads = 0;  ///< measured on both
    std::vector<Crossing> crossings = {};
    std::string better = {};  ///< the server that is better wherever one is; empty: they cross, or none is

    bool operator==(const ComparedFigure&) const = default;
};

/// Two servers in one cell of a sweep.
struct ComparedCell {
    std::map<std::string, std::string> cell = {};  ///< without the server
    std::vector<ComparedFigure> figures = {};
    std::map<std::string, double> acceptance = {};  ///< server → mean share of drafted tokens over its loads

    bool operator==(const ComparedCell&) const = default;
};

/// A sweep over two servers (--against).
struct SweepComparison {
    std::vector<std::string> servers = {};  ///< two, as they stand in cells
    std::vector<ComparedCell> cells = {};

    bool operator==(const SweepComparison&) const = default;
};

struct SweepFile {
    std::string axis = "concurrency";  ///< or "request_rate"
    std::string started_at;            ///< UTC
    std::string command;
    PlanEcho options;  ///< what every point has in common; a resumed sweep must ask for the same
    std::vector<SweepPoint> points;  ///< by cell, then ascending load, then repeat
    std::vector<SweepRepeats> repeats = {};
    std::optional<SweepSearch> search = {};
    std::optional<SweepComparison> comparison = {};

    bool operator==(const SweepFile&) const = default;
};

/// "c=16", "4 req/s", or "all at once" when neither was given.
std::string load_label_of(const RunResult& result);

/// Requests per second, or requests in flight; 0 when neither was given.
double load_of(const RunResult& result);

/// The finished row of a run; its place in the sweep is that of `planned`.
SweepPoint sweep_point_of(const RunResult& result, const SweepPoint& planned);

/// Of all points with more than one repeat.
std::vector<SweepRepeats> repeats_of(const std::vector<SweepPoint>& points);

}  // namespace paretoken::reports
