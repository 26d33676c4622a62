#include "reports/analysis/gate/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/result/figures.h"
#include "core/spec.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kFailures = "failures";
constexpr std::string_view kOutputLength = "output_length";
constexpr std::string_view kFinishReasons = "finish_reasons";

/// Shares that are not in run.json, but are counted over a run's answers.
struct AnswerShare {
    std::string_view name;
    GateKind kind;
    std::string_view title;
    Better better = Better::lower;
};
constexpr std::array kAnswerShares{
    AnswerShare{kFinishReasons, GateKind::finish_reasons, "Answers that end by themselves", Better::neither},
    AnswerShare{"quality", GateKind::quality, "Right answers to the probe", Better::higher},
    AnswerShare{"empty_answers", GateKind::empty_answers, "Answers without a text"},
    AnswerShare{"repeated_answers", GateKind::repeated_answers, "Answers that repeat a text"},
};
constexpr std::array<std::pair<std::string_view, double>, 6> kPercentiles{
    {{"p50", .5}, {"p75", .75}, {"p90", .9}, {"p95", .95}, {"p99", .99}, {"p999", .999}}};

std::string known_names() {
    std::string names;
    for (const Figure& figure : figures())
        if (figure.better != Better::neither) names += fmt::format("{}, ", figure.key);
    for (const AnswerShare& share : kAnswerShares) names += fmt::format("{}, ", share.name);
    names += "failures, output_length, and a percentile (p50, p75, p90, p95, p99, p999) of ";
    std::string tags;
    for (const Metric& metric : metrics())
        if (metric.better != Better::neither)
            tags += fmt::format("{}{}", tags.empty() ? "" : ", ", metric.tag);
    return names + tags + ", as in ttft_p95";
}

[[noreturn]] void refuse(std::string_view name) {
    throw UsageError(fmt::format("there is no metric '{}'; known: {}", name, known_names()));
}

GateQuantity percentile_named(std::string_view name, std::string_view whole_name) {
    const auto underscore = name.rfind('_');
    if (underscore == std::string_view::npos) refuse(whole_name);
    const std::string_view label = name.substr(underscore + 1);
    const auto percentile =
        std::ranges::find_if(kPercentiles, [&](const auto& known) { return known.first == label; });
    const Metric* const metric = metric_named(name.substr(0, underscore));
    if (percentile == kPercentiles.end() || metric == nullptr || metric->better == Better::neither)
        refuse(whole_name);
    return {.kind = GateKind::percentile,
            .key = std::string(metric->tag),
            .p = percentile->second,
            .title = fmt::format("{}, {}", metric->title, label),
            .unit = std::string(metric->unit),
            .better = metric->better};
}

GateQuantity quantity_of_all(std::string_view name, std::string_view whole_name) {
    if (name == kFailures) return {.kind = GateKind::failures, .title = "Failed requests", .unit = "ratio"};
    if (name == kOutputLength)
        return {.kind = GateKind::output_length,
                .key = "output_tokens",
                .title = "Output tokens per answer",
                .unit = "tok",
                .better = Better::neither};
    for (const AnswerShare& share : kAnswerShares)
        if (name == share.name)
            return {.kind = share.kind,
                    .title = std::string(share.title),
                    .unit = "ratio",
                    .better = share.better};
    if (const Figure* const figure = figure_named(name)) {
        if (figure->better == Better::neither) refuse(whole_name);
        return {.kind = GateKind::figure,
                .key = std::string(figure->key),
                .title = std::string(figure->title),
                .unit = std::string(figure->unit),
                .better = figure->better};
    }
    return percentile_named(name, whole_name);
}

void require_between(double value, double low, double high, std::string_view what) {
    if (std::isfinite(value) && value >= low && value <= high) return;
    throw UsageError(fmt::format("{} is {}, but must be between {} and {}", what, value, low, high));
}

bool is_time(const GateQuantity& quantity) {
    return quantity.unit.substr(0, 1) == "s";
}

}  // namespace

bool is_share(GateKind kind) {
    switch (kind) {
        case GateKind::figure:
        case GateKind::percentile:
        case GateKind::output_length:
        case GateKind::reported:
            return false;
        case GateKind::failures:
        case GateKind::finish_reasons:
        case GateKind::quality:
        case GateKind::empty_answers:
        case GateKind::repeated_answers:
            return true;
    }
    return false;
}

GatePolicy default_policy() {
    GatePolicy policy;
    policy.metrics = {
        {.name = "output_tokens_per_s", .tolerance = .02},
        {.name = "ttft_p50", .tolerance = .05},
        {.name = "itl_p50", .tolerance = .05},
        {.name = "e2e_p50", .tolerance = .05},
        {.name = "ttft_p95", .tolerance = .10, .floor = .002},
        {.name = "tpot_p95", .tolerance = .10, .floor = .0002},
        {.name = "stall_p95", .tolerance = .10, .floor = .002, .may_stay_undecided = true},
        {.name = "goodput_ratio", .tolerance = .05, .optional = true},
        {.name = "failures", .tolerance = .002},
        {.name = "output_length", .tolerance = .10, .optional = true},
        {.name = "finish_reasons", .tolerance = .05, .optional = true},
        {.name = "quality", .tolerance = .02, .optional = true},
        {.name = "empty_answers", .tolerance = .01, .optional = true},
        {.name = "repeated_answers", .tolerance = .02, .optional = true},
    };
    return policy;
}

void check(const GatePolicy& policy) {
    if (policy.metrics.empty() && policy.limits.empty())
        throw UsageError("the policy judges nothing: give it metrics or limits");
    require_between(policy.alpha, 1e-6, .5, "alpha");
    require_between(policy.beta, 1e-6, .5, "beta");
    require_between(policy.day_spread, 0, 1, "day_spread");
    if (policy.max_pairs < 3 || policy.max_pairs > 1000)
        throw UsageError(fmt::format("max_pairs is {}, but must be between 3 and 1000", policy.max_pairs));
    std::set<std::string> names;
    for (const GateMetric& metric : policy.metrics) {
        if (!names.insert(metric.name).second)
            throw UsageError(
                fmt::format("the policy has the metric {} twice; leave one of them out", metric.name));
        // A share cannot become worse by more than 100 percentage points, nor a speed by more than 100 %.
        const GateQuantity quantity = quantity_named(metric.name);
        const double most = is_share(quantity.kind) || quantity.better == Better::higher ? 1 : 10;
        require_between(metric.tolerance, 0, most, fmt::format("the tolerance of {}", metric.name));
        require_between(metric.floor, 0, 1e9, fmt::format("the floor of {}", metric.name));
    }
}

GateLimit parse_limit(std::string_view text) {
    const auto sign = text.find_first_of("<>:");
    if (sign == std::string_view::npos || sign == 0)
        throw UsageError(fmt::format(
            "'{}': expected METRIC:LIMIT, e.g. ttft_p95:800 (milliseconds), or 'ttft_p95<800ms'", text));
    GateLimit limit{.name = std::string(text.substr(0, sign)), .at_most = text[sign] == '<'};
    std::string_view number = text.substr(sign + 1);
    if (number.starts_with('=')) number.remove_prefix(1);
    const GateQuantity quantity = quantity_named(limit.name);
    if (quantity.kind != GateKind::percentile && quantity.kind != GateKind::figure)
        throw UsageError(fmt::format("'{}': a limit is set on a percentile or a figure of a run", text));
    if (text[sign] == ':') limit.at_most = quantity.better == Better::lower;
    if (limit.at_most != (quantity.better == Better::lower))
        throw UsageError(fmt::format("'{}': {} is better {}; write {}{}{}", text, limit.name,
                                     limit.at_most ? "higher" : "lower", limit.name,
                                     limit.at_most ? ">" : "<", number));
    limit.limit = is_time(quantity) ? seconds(parse_milliseconds(number)) : parse_number(number);
    return limit;
}

std::string text_of(const GateLimit& limit) {
    const bool time = is_time(quantity_named(limit.name));
    return fmt::format("{}{}{}{}", limit.name, limit.at_most ? "<" : ">",
                       time ? limit.limit * 1e3 : limit.limit, time ? "ms" : "");
}

GateQuantity quantity_named(std::string_view name) {
    const auto slash = name.find('/');
    if (constexpr std::string_view kPrefix = "reported/"; name.starts_with(kPrefix)) {
        const std::string key(name.substr(kPrefix.size()));
        const ReportedKey known = reported_key(key);
        return {.kind = GateKind::reported,
                .key = key,
                .title = known.title + " as reported",
                .unit = std::string(known.unit),
                .better = !known.higher_is_better   ? Better::neither
                          : *known.higher_is_better ? Better::higher
                                                    : Better::lower};
    }
    if (slash == std::string_view::npos) return quantity_of_all(name, name);
    GateQuantity quantity = quantity_of_all(name.substr(slash + 1), name);
    quantity.request_class = name.substr(0, slash);
    quantity.title += fmt::format(" ({})", quantity.request_class);
    const bool of_class = !is_share(quantity.kind) || quantity.kind == GateKind::failures;
    if (!of_class || quantity.request_class.empty()) refuse(name);
    return quantity;
}

const Scope* scope_of(const GateQuantity& quantity, const RunResult& run) {
    if (quantity.request_class.empty()) return &run;
    const auto found = run.classes.find(quantity.request_class);
    return found == run.classes.end() ? nullptr : &found->second;
}

const PercentileValue* percentile_of(const GateQuantity& quantity, const RunResult& run) {
    const Scope* const scope = scope_of(quantity, run);
    if (scope == nullptr || quantity.kind != GateKind::percentile) return nullptr;
    const MetricSummary* const summary = scope->metric(headline_key(quantity.key, run.open_loop()));
    return summary == nullptr ? nullptr : summary->at(quantity.p);
}

GateValue value_of(const GateQuantity& quantity, const RunResult& run) {
    const Scope* const scope = scope_of(quantity, run);
    if (scope == nullptr) return {};
    switch (quantity.kind) {
        case GateKind::figure:
            return {.value = scope->throughput.at(quantity.key)};
        case GateKind::percentile: {
            const PercentileValue* const held = percentile_of(quantity, run);
            if (held == nullptr) return {};
            const MetricSummary* const summary = scope->metric(headline_key(quantity.key, run.open_loop()));
            // If a time falls among failures, its inverse is a speed of 0.
            const bool lost = !held->value || (quantity.better == Better::higher && *held->value <= 0);
            return {.value = lost ? std::nullopt : held->value,
                    .among_failures = lost && falls_among_failures(*summary, quantity.p)};
        }
        case GateKind::output_length: {
            const MetricSummary* const summary = scope->metric("output_tokens_tok");
            return {.value = summary == nullptr ? std::nullopt : summary->mean};
        }
        case GateKind::reported:
            return {.value = run.reported ? run.reported->at(quantity.key) : std::nullopt};
        case GateKind::failures:
        case GateKind::finish_reasons:
        case GateKind::quality:
        case GateKind::empty_answers:
        case GateKind::repeated_answers:
            break;
    }
    return {};
}

}  // namespace paretoken::reports
