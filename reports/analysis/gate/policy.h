#pragma once
// The policy of a gate: the metrics that are judged, how much worse each may be, and the error rates of the
// verdict. A metric is a figure of a run, a percentile of a metric ("ttft_p95"; "interactive/ttft_p95" of one
// class), "reported/KEY" for a figure of another program, or "failures", "output_length", "finish_reasons",
// "quality", "empty_answers" or "repeated_answers".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/metrics.h"
#include "core/result/result.h"

namespace paretoken::reports {

struct GateMetric {
    std::string name;
    /// The largest change for the worse that passes: .05 is 5 %. For a share ("failures") it is a difference
    /// of shares. For "output_length" and "finish_reasons" it is the largest change in either direction.
    double tolerance = 0;
    /// A change of at most this, in the metric's unit (.002 s is 2 ms), never fails; not for shares.
    double floor = 0;
    /// If it is false, a note says that a metric which neither side measured was not judged.
    bool optional = false;
    /// Whether the gate passes although the metric is undecided, unless its whole 95 % interval is beyond the
    /// limit. It fails the gate as any other.
    bool may_stay_undecided = false;

    bool operator==(const GateMetric&) const = default;
};

/// A limit on the candidate alone, e.g. "ttft_p95<800ms".
struct GateLimit {
    std::string name;
    bool at_most = true;  ///< whether the limit is an upper limit; otherwise a lower limit
    double limit = 0;     ///< limit in the metric's unit; seconds for times

    bool operator==(const GateLimit&) const = default;
};

struct GatePolicy {
    std::vector<GateMetric> metrics;
    std::vector<GateLimit> limits = {};
    double alpha = 0.01;           ///< probability of a false fail over all metrics and looks
    double beta = 0.05;            ///< probability of a false pass, for each metric over all looks
    std::uint64_t max_pairs = 16;  ///< most pairs of runs that a gate measures
    /// The standard deviation between days and hosts, as a share of a metric's value, that is assumed if a
    /// baseline of few days is compared with runs of another day or host.
    double day_spread = 0.02;

    bool operator==(const GatePolicy&) const = default;
};

GatePolicy default_policy();

/// Throws a UsageError for an unknown metric, one of which neither direction is better, a value out of range,
/// or a policy without metrics and limits.
void check(const GatePolicy& policy);

/// Parses a limit: "ttft_p95<800ms", "interactivity_p90>=35"; times without a unit are milliseconds. Throws a
/// UsageError for another text, a share or the output length, and a limit on the wrong side of a metric.
GateLimit parse_limit(std::string_view text);

std::string text_of(const GateLimit& limit);

enum class GateKind : std::uint8_t {
    figure,            ///< a figure of a run, such as its throughput
    percentile,        ///< a percentile of a metric over requests
    failures,          ///< share of failed requests
    output_length,     ///< mean number of output tokens of an answer
    reported,          ///< a figure that another program reported by its own definition
    finish_reasons,    ///< share of answers that ended by themselves, not at their limit of tokens
    quality,           ///< share of right answers to the questions of --probe
    empty_answers,     ///< share of answers with no text but white space
    repeated_answers,  ///< share of answers that repeat themselves or an earlier answer of their run
};

/// Whether a quantity is a share of requests, answers or questions. Both sides are then compared by counts.
bool is_share(GateKind kind);

struct GateQuantity {
    GateKind kind = GateKind::figure;
    std::string request_class = {};  ///< class of requests; empty means all requests
    std::string key = {};            ///< key of a figure, or tag of a metric
    double p = 0;                    ///< level of a percentile, e.g. 0.95
    std::string title = {};          ///< "Time to first token, p95"
    std::string unit = {};           ///< "s", "tok/s"
    Better better = Better::lower;

    bool operator==(const GateQuantity&) const = default;
};

/// The quantity with this name. Throws a UsageError that names the known quantities.
GateQuantity quantity_named(std::string_view name);

struct GateValue {
    std::optional<double> value;  ///< absent when it was not measured or `among_failures` is true
    bool among_failures = false;  ///< whether so many requests failed that a percentile falls among them

    bool operator==(const GateValue&) const = default;
};

/// The value of a figure, a percentile or the output length. It is absent for shares, and if the run lacks
/// the class of requests. In an open loop "ttft" and "e2e" are counted from the time when a request was due.
GateValue value_of(const GateQuantity& quantity, const RunResult& run);

/// The percentile of `run` that a quantity means; null when it was not measured or is no percentile.
const PercentileValue* percentile_of(const GateQuantity& quantity, const RunResult& run);

/// The results in `run` of the quantity's class of requests, or of all; null when there is no such class.
const Scope* scope_of(const GateQuantity& quantity, const RunResult& run);

}  // namespace paretoken::reports
