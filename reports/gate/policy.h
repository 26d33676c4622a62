#pragma once
// What a gate holds a candidate to: the metrics that are judged, how much worse each may be, and the errors
// that the verdict may make. A metric is named by a figure of a run ("output_tokens_per_s"), by a percentile
// of a metric of core/result/metrics.h ("ttft_p95"), or as one of "failures", "output_length",
// "finish_reasons", "quality", "empty_answers" and "repeated_answers"; "interactive/ttft_p95" is that of a
// class of requests.
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
    double tolerance = 0;   ///< .05: 5 % worse passes. Of shares ("failures"): a difference of shares
    double floor = 0;       ///< in the metric's unit: a shift that is no larger never fails
    bool optional = false;  ///< left out where neither side has it, e.g. goodput without SLOs

    bool operator==(const GateMetric&) const = default;
};

/// A limit on the candidate alone, e.g. "ttft_p95<800ms".
struct GateLimit {
    std::string name;
    bool at_most = true;  ///< else at least
    double limit = 0;     ///< in the metric's unit

    bool operator==(const GateLimit&) const = default;
};

struct GatePolicy {
    std::vector<GateMetric> metrics;
    std::vector<GateLimit> limits = {};
    double alpha = 0.01;  ///< probability of a false fail, over all metrics and looks
    double beta = 0.05;   ///< probability of a false pass, of each metric
    std::uint64_t max_pairs = 16;

    bool operator==(const GatePolicy&) const = default;
};

/// docs/gate.md lists it.
GatePolicy default_policy();

/// Throws UsageError naming what is wrong: a metric that does not exist or has no better and worse, a
/// tolerance or an error rate that cannot be.
void check(const GatePolicy& policy);

/// "ttft_p95<800ms", "interactivity_p90>=35", "output_tokens_per_s>1000"; times have a unit or are
/// milliseconds. Throws UsageError.
GateLimit parse_limit(std::string_view text);

/// The text that parse_limit takes back.
std::string text_of(const GateLimit& limit);

/// What a metric's name means.
enum class GateKind : std::uint8_t {
    figure,
    percentile,
    failures,
    output_length,
    finish_reasons,
    quality,           ///< right answers to the questions of --probe
    empty_answers,     ///< answers without a text
    repeated_answers,  ///< answers that say one thing again and again, or what another answer said
};

/// Whether both sides are compared by counts: the tolerance is a difference of shares.
bool is_share(GateKind kind);

struct GateQuantity {
    GateKind kind = GateKind::figure;
    std::string request_class = {};  ///< empty: all requests
    std::string key = {};            ///< of a figure, or the tag of a metric
    double p = 0;                    ///< of a percentile
    std::string title = {};          ///< "Time to first token, p95"
    std::string unit = {};           ///< "s", "tok/s"
    Better better = Better::lower;

    bool operator==(const GateQuantity&) const = default;
};

/// Throws UsageError naming the known ones.
GateQuantity quantity_named(std::string_view name);

/// What one run says of a quantity.
struct GateValue {
    std::optional<double> value;  ///< nothing when it was not measured, or falls among failures
    bool among_failures = false;

    bool operator==(const GateValue&) const = default;
};

/// Of figures, percentiles and the output length. In an open loop "ttft" and "e2e" count from the intended
/// start.
GateValue value_of(const GateQuantity& quantity, const RunResult& run);

/// The percentile itself, for limits. Null when it was not measured.
const PercentileValue* percentile_of(const GateQuantity& quantity, const RunResult& run);

/// The scope of a class, or of all requests. Null when the run has no such class.
const Scope* scope_of(const GateQuantity& quantity, const RunResult& run);

}  // namespace paretoken::reports
