#pragma once
// The policy of a gate: the metrics that are judged, how much worse each may be, and the error rates of the
// verdict. The name of a metric is a figure of a run ("output_tokens_per_s"), a percentile of a metric of
// core/result/metrics.h ("ttft_p95"), or one of "failures", "output_length", "finish_reasons", "quality",
// "empty_answers" and "repeated_answers". "interactive/ttft_p95" is the metric of one class of requests.
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
    double floor = 0;  ///< a change of at most this, in the metric's unit, never fails; unused for shares
    bool optional = false;  ///< whether it is left out if neither side has it, e.g. goodput without SLOs

    bool operator==(const GateMetric&) const = default;
};

/// A limit on the candidate alone, e.g. "ttft_p95<800ms".
struct GateLimit {
    std::string name;
    bool at_most = true;  ///< whether the limit is an upper limit; otherwise a lower limit
    double limit = 0;     ///< limit in the metric's unit

    bool operator==(const GateLimit&) const = default;
};

struct GatePolicy {
    std::vector<GateMetric> metrics;
    std::vector<GateLimit> limits = {};
    double alpha = 0.01;  ///< probability of a false fail over all metrics and looks
    double beta = 0.05;   ///< probability of a false pass, for each metric
    std::uint64_t max_pairs = 16;

    bool operator==(const GatePolicy&) const = default;
};

/// The policy that is used by default; docs/gate.md lists it.
GatePolicy default_policy();

/// Throws a UsageError that names what is wrong: a metric that does not exist, a figure or percentile of
/// which neither direction is better, a value out of range, or a policy without metrics and limits.
void check(const GatePolicy& policy);

/// Parses a limit: "ttft_p95<800ms", "interactivity_p90>=35", "output_tokens_per_s>1000". Times without a
/// unit are milliseconds; "<=" means "<". Throws UsageError, also for a share, for an upper limit of a
/// metric of which more is better, and for a lower limit of one of which less is better.
GateLimit parse_limit(std::string_view text);

/// The limit as text that parse_limit() can read.
std::string text_of(const GateLimit& limit);

/// The kinds of quantities that a metric's name can mean.
enum class GateKind : std::uint8_t {
    figure,            ///< a figure of a run, such as its throughput
    percentile,        ///< a percentile of a metric over requests
    failures,          ///< share of failed requests
    output_length,     ///< mean output tokens of an answer
    finish_reasons,    ///< answers that ended by themselves, not at their limit of tokens
    quality,           ///< right answers to the questions of --probe
    empty_answers,     ///< answers without a text
    repeated_answers,  ///< answers that repeat themselves or another answer
};

/// Whether a quantity is a share of requests, answers or questions. Both sides are then compared by counts,
/// and the tolerance is a difference of shares.
bool is_share(GateKind kind);

struct GateQuantity {
    GateKind kind = GateKind::figure;
    std::string request_class = {};  ///< class of requests; empty: all requests
    std::string key = {};            ///< key of a figure, or tag of a metric
    double p = 0;                    ///< percentile, e.g. 0.95
    std::string title = {};          ///< "Time to first token, p95"
    std::string unit = {};           ///< "s", "tok/s"
    Better better = Better::lower;

    bool operator==(const GateQuantity&) const = default;
};

/// The quantity with this name. Throws a UsageError that names the known quantities.
GateQuantity quantity_named(std::string_view name);

/// The value of a quantity in one run.
struct GateValue {
    std::optional<double> value;  ///< absent when it was not measured, or falls among failures
    bool among_failures = false;  ///< whether so many requests failed that the percentile falls among them

    bool operator==(const GateValue&) const = default;
};

/// The value of a figure, a percentile or the output length; for shares, and if the run lacks the class of
/// requests, it is absent. In an open loop "ttft" and "e2e" count from the intended start.
GateValue value_of(const GateQuantity& quantity, const RunResult& run);

/// The percentile of a quantity, for limits. Null when it was not measured or the quantity is not a
/// percentile.
const PercentileValue* percentile_of(const GateQuantity& quantity, const RunResult& run);

/// The scope of a class, or of all requests. Null when the run has no such class.
const Scope* scope_of(const GateQuantity& quantity, const RunResult& run);

}  // namespace paretoken::reports
