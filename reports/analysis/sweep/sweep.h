#pragma once
// The content of sweep.json. A cell is one combination of the options besides the load, and a point is one
// run: a cell, a load and a repeat. The file is written again after every point.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken {
struct Begun;
}

namespace paretoken::reports {

enum class PointState : std::uint8_t { pending, running, done, failed };
std::string_view name_of(PointState state);
std::optional<PointState> point_state_named(std::string_view name);

/// A percentile that has a limit, in the metric's unit.
struct LimitedPercentile {
    std::optional<double> value = {};  ///< absent if it was not measured or falls among failures
    double limit = 0;

    bool operator==(const LimitedPercentile&) const = default;
};

/// A point, with the main figures of its run, which are absent until the run is done. Times are in seconds.
struct SweepPoint {
    std::string directory = {};                    ///< path relative to the sweep's directory
    std::string load_label = {};                   ///< load as text: "c=16" or "4 req/s"
    double load = 0;                               ///< requests in flight or requests/s (SweepFile::axis)
    std::map<std::string, std::string> cell = {};  ///< option → value, for the options that the sweep varies
    std::uint64_t repeat = 1;                      ///< number of the repeat, from 1
    PointState state = PointState::pending;
    /// Reason why it failed, or what its run lacks although it was not interrupted, in one line.
    std::string error = {};

    std::optional<double> requests_per_s = {};
    std::optional<double> output_tokens_per_s = {};
    /// Tokens/s per user that 90 % of the requests reach.
    std::optional<double> interactivity_tok_per_s = {};
    std::optional<double> goodput_per_s = {};  ///< good requests per second; absent without --goodput
    std::optional<double> goodput_ratio = {};  ///< share of the requests that are good
    std::optional<double> ttft_p50_s = {};     ///< in an open loop from the time when the request was due
    std::optional<double> ttft_p99_s = {};
    std::optional<double> tpot_p50_s = {};
    std::optional<double> itl_p50_s = {};
    std::optional<double> itl_p99_s = {};
    std::optional<double> acceptance = {};    ///< accepted share of drafted tokens, by the server's counters
    std::optional<double> cached_share = {};  ///< share of the prompts' tokens from the prefix cache
    std::uint64_t requests = 0;               ///< requests of the run without warm-up and cancelled ones
    std::uint64_t failed = 0;                 ///< failed ones among these
    std::string failures = {};                ///< result of failures_text() of the run
    std::optional<Verdict> verdict = {};
    std::optional<SloVerdict> slo = {};  ///< verdict on all limits together; absent without limits
    std::map<std::string, LimitedPercentile> limits = {};  ///< by key: "ttft_p95"
    std::string note = {};  ///< first of the gravest reasons why the run is not valid

    bool operator==(const SweepPoint&) const = default;
};

/// The variation of a figure between the repeats of one cell and load. The interval of the mean is Student's
/// t over runs. It includes the variation from run to run, which the interval of a single run cannot show.
struct RepeatSpread {
    double mean = 0;
    double standard_deviation = 0;
    std::optional<Interval> ci95 = {};

    bool operator==(const RepeatSpread&) const = default;
};

/// The repeats of one cell and load, at least two, whose runs are done and not invalid.
struct SweepRepeats {
    std::string load_label = {};
    double load = 0;
    std::map<std::string, std::string> cell = {};
    std::uint64_t runs = 0;                            ///< number of the runs that count
    std::map<std::string, RepeatSpread> figures = {};  ///< key of SweepPoint, e.g. "ttft_p50_s" → spread

    bool operator==(const SweepRepeats&) const = default;
};

/// The steps and the result of a search for the highest load within the SLOs.
struct SweepSearch {
    std::vector<std::string> slos = {};  ///< SLOs as the user wrote them
    std::optional<double> pass = {};     ///< highest load that met all SLOs in two runs
    /// The highest load below `fail` that met all SLOs or was within them in its latest run. It is above
    /// `pass` if its second run was not made, or did not show that it meets them.
    std::optional<double> within = {};
    std::string within_text = {};  ///< clauses on the run at `within`: how many requests miss each limit
    /// Command of the run that would probably show that `within` meets all SLOs, and its minutes.
    std::string certify = {};
    std::optional<double> certify_minutes = {};
    /// The lowest load whose run missed an SLO, whose arrivals the server did not keep up with, or whose run
    /// is invalid because of its failed requests and decides no SLO.
    std::optional<double> fail = {};
    /// Why `fail` failed: the SLO that it missed, or a clause on the server or on failed requests.
    std::string binding = {};
    std::uint64_t runs = 0;                          ///< number of runs that the search measured
    std::optional<double> most_requests_per_s = {};  ///< highest throughput of all levels
    /// The requests in flight at which the server saturates, by Little's law: most_requests_per_s × median
    /// time at the lowest level. A lower bound if throughput still grew (no `saturated_from`).
    std::optional<double> saturation = {};
    /// d ln(requests/s) / d ln(load) between successive loads; near 0, more load gives no more throughput.
    std::vector<double> elasticity = {};
    /// The lowest load above which throughput hardly grew; if the load is a rate, the lowest one with which
    /// the server did not keep up. Absent if no measured load saturated the server.
    std::optional<double> saturated_from = {};
    std::string ended = {};   ///< reason why it ended, in one sentence
    std::string narrow = {};  ///< command that continues the search with more runs; empty if none can help
    std::optional<double> at = {};             ///< load that the user asked about (--at)
    std::optional<double> of_saturation = {};  ///< `at` ÷ saturation; if the load is a rate, `at` ÷
                                               ///< most_requests_per_s

    bool operator==(const SweepSearch&) const = default;
};

/// The key in a point's cell whose value is the name of its server, in a sweep over two servers.
inline constexpr std::string_view kServerOfCell = "server";

std::string server_of(const SweepPoint& point);

/// A cell without its server, which is the part that points of two servers have in common.
std::map<std::string, std::string> without_server(std::map<std::string, std::string> cell);

/// A change of the better server between two loads.
struct Crossing {
    /// The estimated load at which both are equal, interpolated over the logarithm of the load.
    double load = 0;
    double low = 0;          ///< highest measured load below the crossing at which one server is better
    double high = 0;         ///< lowest measured load above the crossing at which one server is better
    std::string below = {};  ///< server that is better at `low`
    std::string above = {};  ///< server that is better at `high`

    bool operator==(const Crossing&) const = default;
};

/// The comparison of one figure of two servers over the loads that were measured on both.
struct ComparedFigure {
    std::string figure = {};  ///< key of SweepPoint, e.g. "ttft_p50_s"
    std::uint64_t loads = 0;  ///< number of loads that were measured on both servers
    std::vector<Crossing> crossings = {};
    std::string better = {};  ///< server that is better wherever they differ; empty if there are crossings or
                              ///< they never differ
    /// Server → the smallest and largest share of the other's value by which it is better, where it is.
    std::map<std::string, Interval> lead = {};

    bool operator==(const ComparedFigure&) const = default;
};

struct ComparedCell {
    std::map<std::string, std::string> cell = {};  ///< cell without its server
    std::vector<ComparedFigure> figures = {};
    std::map<std::string, double> acceptance = {};  ///< server → mean share of accepted draft tokens over its
                                                    ///< loads
    std::map<std::string, double> cached = {};  ///< server → mean cached share of the prompts' tokens

    bool operator==(const ComparedCell&) const = default;
};

struct SweepComparison {
    std::vector<std::string> servers = {};  ///< names of the two servers, as in the cells
    std::vector<ComparedCell> cells = {};

    bool operator==(const SweepComparison&) const = default;
};

struct SweepFile {
    std::string axis = "concurrency";  ///< "concurrency" or "request_rate"
    std::string started_at;            ///< time in UTC
    std::string command;               ///< command line of the sweep
    PlanEcho options;                ///< options that all points share; a resumed sweep must have equal ones
    std::vector<SweepPoint> points;  ///< points ordered by cell, then ascending load, then repeat
    std::vector<SweepRepeats> repeats = {};
    std::optional<SweepSearch> search = {};
    std::optional<SweepComparison> comparison = {};

    bool operator==(const SweepFile&) const = default;
};

/// The failures by class, the most frequent first: "28 http_error, e.g. 503 Service Unavailable; 3 timeout".
std::string failures_text(const Counts& counts);

/// The load as text: "c=16" (requests or jobs at once), "4 req/s" ("conv/s" and "jobs/s" if an arrival begins
/// a conversation or a job), or "all at once" when neither was given.
std::string load_label_of(const RunResult& result);
/// The same of a run that begins, whose classes and conversations are not known.
std::string load_label_of(const Begun& begun);

/// The load as a number: requests per second, or requests in flight; 0 when neither was given.
double load_of(const RunResult& result);

/// The finished point of a run. Directory, load, cell and repeat are those of `planned`.
SweepPoint sweep_point_of(const RunResult& result, const SweepPoint& planned);

/// One entry for each cell and load with at least two runs that are done and not invalid.
std::vector<SweepRepeats> repeats_of(const std::vector<SweepPoint>& points);

}  // namespace paretoken::reports
