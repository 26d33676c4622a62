#include "reports/analysis/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/evidence/unpaired.h"
#include "core/result/metrics.h"
#include "core/statistics.h"
#include "core/text/natural_order.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr double kNormal95 =
    1.959964;  // half the width of a normal distribution's 95 % interval, in its deviations

/// A value of one run with its interval.
struct Measured {
    double value = 0;
    std::optional<Interval> ci95 = {};
};

struct Row {
    std::string_view title;
    std::string_view of;  ///< words in a sentence: "output tokens per second"
    bool higher_is_better = false;
    bool in_sentence = false;
    bool is_cost = false;
    std::optional<Measured> (*value)(const ReportPoint&) = nullptr;
};

std::optional<Measured> percentile_in_ms(const ReportPoint& point, std::string_view tag, double p) {
    const MetricSummary* const metric = point.result.metric(headline_key(tag, point.open_loop));
    const PercentileValue* const held = metric == nullptr ? nullptr : metric->at(p);
    if (held == nullptr || !held->value) return std::nullopt;
    constexpr double kMs = 1e3;
    Measured measured{.value = *held->value * kMs};
    if (held->ci95) measured.ci95 = Interval{held->ci95->low * kMs, held->ci95->high * kMs};
    return measured;
}

std::optional<Measured> figure_of(const ReportPoint& point, std::string_view key) {
    const auto value = point.result.throughput.at(key);
    if (!value) return std::nullopt;
    return Measured{.value = *value, .ci95 = point.result.throughput.interval(key)};
}

constexpr Row kRows[] = {
    {"output tokens/s", "output tokens per second", true, true, false,
     [](const ReportPoint& p) { return figure_of(p, "output_tokens_per_s"); }},
    {"requests/s", "requests per second", true, false, false,
     [](const ReportPoint& p) { return figure_of(p, "requests_per_s"); }},
    {"$ per M output tokens", "cost per million output tokens", false, true, true,
     [](const ReportPoint& p) -> std::optional<Measured> {
         if (!p.cost) return std::nullopt;
         return Measured{.value = p.cost->usd_per_m_output, .ci95 = p.cost->usd_per_m_output_ci95};
     }},
    {"TTFT p50, ms", "time to first token", false, true, false,
     [](const ReportPoint& p) { return percentile_in_ms(p, "ttft", .5); }},
    {"TTFT p95, ms", "TTFT p95", false, false, false,
     [](const ReportPoint& p) { return percentile_in_ms(p, "ttft", .95); }},
    {"ITL p50, ms", "inter-token latency", false, true, false,
     [](const ReportPoint& p) { return percentile_in_ms(p, "itl", .5); }},
    {"TPOT p50, ms", "time per output token", false, false, false,
     [](const ReportPoint& p) { return percentile_in_ms(p, "tpot", .5); }},
    {"E2E p50, ms", "end-to-end latency", false, false, false,
     [](const ReportPoint& p) { return percentile_in_ms(p, "e2e", .5); }},
    {"E2E p95, ms", "E2E p95", false, false, false,
     [](const ReportPoint& p) { return percentile_in_ms(p, "e2e", .95); }},
};

using ValueOf = std::function<std::optional<Measured>(const ReportPoint&)>;

std::vector<Measured> values_of(const ValueOf& value_of, const std::vector<const ReportPoint*>& points) {
    std::vector<Measured> values;
    for (const ReportPoint* const point : points)
        if (const auto value = value_of(*point); value && value->value > 0) values.push_back(*value);
    return values;
}

std::vector<double> logarithms_of(const std::vector<Measured>& values) {
    std::vector<double> logs;
    logs.reserve(values.size());
    for (const Measured& value : values) logs.push_back(std::log(value.value));
    return logs;
}

double geometric_mean(const std::vector<Measured>& values) {
    return std::exp(moments_of(logarithms_of(values)).mean);
}

/// The standard error of the logarithm of a single run's value, from its interval.
std::optional<double> log_error_of(const Measured& value) {
    if (!value.ci95 || !(value.ci95->low > 0) || !std::isfinite(value.ci95->high)) return std::nullopt;
    return std::log(value.ci95->high / value.ci95->low) / (2 * kNormal95);
}

std::optional<Interval> ratio_interval(const std::vector<Measured>& a, const std::vector<Measured>& b) {
    if (a.size() > 1 && b.size() > 1) {
        const Interval shift = interval_of(unpaired_shift(logarithms_of(a), logarithms_of(b)));
        return Interval{std::exp(shift.low), std::exp(shift.high)};
    }
    const auto error_a = log_error_of(a.front());
    const auto error_b = log_error_of(b.front());
    if (!error_a || !error_b) return std::nullopt;
    const double ratio = geometric_mean(b) / geometric_mean(a);
    const double factor = std::exp(kNormal95 * std::hypot(*error_a, *error_b));
    return Interval{ratio / factor, ratio * factor};
}

using PointsOfSides = std::vector<std::vector<const ReportPoint*>>;

FigureRow figure_row(std::string title, bool higher_is_better, const ValueOf& value_of,
                     const PointsOfSides& sides) {
    FigureRow held{.title = std::move(title), .higher_is_better = higher_is_better};
    const std::vector<Measured> first = values_of(value_of, sides.front());
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const std::vector<Measured> values = values_of(value_of, sides[i]);
        if (values.empty()) {
            held.sides.emplace_back();
            continue;
        }
        SideFigure figure{.value = geometric_mean(values)};
        if (i > 0 && !first.empty()) {
            figure.ratio = figure.value / geometric_mean(first);
            figure.ratio_ci95 = ratio_interval(first, values);
        }
        held.sides.emplace_back(figure);
    }
    return held;
}

/// A row for each figure that other programs reported, by the definitions of each program.
std::vector<FigureRow> reported_rows(const PointsOfSides& sides) {
    std::set<std::pair<std::string, std::string>> names;  // program and key
    for (const auto& points : sides)
        for (const ReportPoint* const point : points)
            if (const auto& reported = point->result.reported)
                for (const auto& [key, value] : reported->figures) names.emplace(reported->by, key);
    std::vector<FigureRow> rows;
    for (const auto& [by, key] : names) {
        const ReportedKey known = reported_key(key);
        if (!known.higher_is_better) continue;
        rows.push_back(figure_row(
            fmt::format("{}, {}", reported_title(key, by), known.unit), *known.higher_is_better,
            [&by = by, &key = key](const ReportPoint& point) -> std::optional<Measured> {
                const auto& reported = point.result.reported;
                const auto value = reported && reported->by == by ? reported->at(key) : std::nullopt;
                return value ? std::optional(Measured{.value = *value}) : std::nullopt;
            },
            sides));
    }
    return rows;
}

/// "gives 38 % more output tokens per second"; empty if there is no ratio.
std::string clause_of(const Row& row, const SideFigure& figure) {
    if (!figure.ratio) return {};
    const bool equal =
        figure.ratio_ci95 ? figure.ratio_ci95->low <= 1 && figure.ratio_ci95->high >= 1 : *figure.ratio == 1;
    if (equal) return fmt::format("is not shown to differ in {}", row.of);
    const double change = std::abs(*figure.ratio - 1) * 100;
    const std::string amount =
        change < 10 ? fmt::format("{:.1f} %", change) : fmt::format("{:.0f} %", change);
    const bool more = *figure.ratio > 1;
    if (row.is_cost)
        return fmt::format("costs {} {} per million output tokens", amount, more ? "more" : "less");
    if (row.higher_is_better) return fmt::format("gives {} {} {}", amount, more ? "more" : "fewer", row.of);
    return fmt::format("has a {} {} {}", amount, more ? "longer" : "shorter", row.of);
}

std::string sentence_of(const std::string& load, const std::string& name, const std::string& first,
                        const std::vector<FigureRow>& figures, std::size_t side) {
    std::vector<std::string> clauses;
    for (const Row& row : kRows) {
        if (!row.in_sentence) continue;
        const auto found = std::ranges::find(figures, row.title, &FigureRow::title);
        if (found == figures.end() || !found->sides[side]) continue;
        if (std::string clause = clause_of(row, *found->sides[side]); !clause.empty())
            clauses.push_back(std::move(clause));
    }
    if (clauses.empty()) return {};
    std::string list = clauses.front();
    for (std::size_t i = 1; i < clauses.size(); ++i)
        list += (i + 1 == clauses.size() ? ", and " : ", ") + clauses[i];
    return fmt::format("At {}, {} {}, compared with {}.", load, name, list, first);
}

std::string joined_texts(const std::set<std::string, NaturalLess>& texts) {
    return texts.empty() ? "not known" : fmt::format("{}", fmt::join(texts, ", "));
}

/// Adds a sentence for each condition in which the sides differ.
void add_differences(const std::vector<ComparedSide>& sides, ResultComparison& comparison) {
    struct Condition {
        std::string_view name;
        std::string (*of)(const RunResult&);
        bool of_workload = false;
    };
    static constexpr Condition kConditions[] = {
        {"measured by",
         [](const RunResult& run) {
             return run.provenance.measured_by.empty() ? "paretoken " + run.provenance.version
                                                       : run.provenance.measured_by;
         }},
        {"model", [](const RunResult& run) { return run.provenance.model; }},
        {"hardware",
         [](const RunResult& run) {
             return run.provenance.hardware_count > 1
                        ? fmt::format("{} x {}", run.provenance.hardware_count, run.provenance.hardware)
                        : run.provenance.hardware;
         }},
        {"weights",
         [](const RunResult& run) {
             return run.provenance.model_card ? run.provenance.model_card->weights : std::string();
         }},
        {"KV cache",
         [](const RunResult& run) {
             return run.provenance.model_card ? run.provenance.model_card->kv : std::string();
         }},
        {"server", [](const RunResult& run) { return run.provenance.server_kind; }},
        {"dataset", [](const RunResult& run) { return run.workload.dataset; }, true},
        {"prompt tokens per request",
         [](const RunResult& run) {
             const auto tokens = run.workload.achieved_input_tokens;
             return tokens ? significant(*tokens) : std::string();
         },
         true},
        {"output tokens per request",
         [](const RunResult& run) {
             const auto tokens = run.workload.achieved_output_tokens;
             return tokens ? significant(*tokens) : std::string();
         },
         true},
        {"host of the client", [](const RunResult& run) { return run.provenance.host; }},
        {"verdict on the runs",
         [](const RunResult& run) {
             if (run.validity.verdict == Verdict::invalid) return std::string();  // it is left out by name
             std::set<std::string> checks;
             for (const Reason& reason : run.validity.reasons) checks.insert(reason.check);
             return fmt::format("{}{}", name_of(run.validity.verdict),
                                checks.empty() ? "" : fmt::format(" ({})", fmt::join(checks, ", ")));
         }},
    };
    const auto add = [&](std::string_view name, const auto& of) {
        std::vector<std::string> texts;
        for (const ComparedSide& side : sides) {
            std::set<std::string, NaturalLess> values;
            for (const ReportPoint& point : side.points)
                if (std::string text = of(point.result); !text.empty()) values.insert(std::move(text));
            texts.push_back(joined_texts(values));
        }
        const bool differs =
            std::ranges::any_of(texts, [&](const std::string& text) { return text != texts.front(); });
        if (differs) comparison.differences.push_back(fmt::format("{}: {}", name, fmt::join(texts, " | ")));
        return differs;
    };
    for (const Condition& condition : kConditions)
        if (add(condition.name, condition.of)) comparison.workloads_differ |= condition.of_workload;
    std::set<std::string> labels;
    for (const ComparedSide& side : sides)
        for (const ReportPoint& point : side.points)
            for (const auto& [name, value] : point.result.provenance.metadata) labels.insert(name);
    for (const std::string& label : labels)
        add(label, [&](const RunResult& run) {
            const auto found = run.provenance.metadata.find(label);
            return found == run.provenance.metadata.end() ? std::string() : found->second;
        });
}

}  // namespace

ResultComparison comparison_of(const std::vector<ComparedSide>& sides) {
    ResultComparison comparison;
    add_differences(sides, comparison);
    std::map<std::pair<bool, double>, PointsOfSides> by_load;
    std::map<std::pair<bool, double>, std::string> labels;
    for (std::size_t i = 0; i < sides.size(); ++i)
        for (const ReportPoint& point : sides[i].points) {
            if (point.result.validity.verdict == Verdict::invalid) {
                comparison.differences.push_back(fmt::format(
                    "{} at {} is left out: it is not a valid measurement", sides[i].name, point.load_label));
                continue;
            }
            const std::pair load(point.open_loop, point.load);
            PointsOfSides& points = by_load[load];
            points.resize(sides.size());
            points[i].push_back(&point);
            labels.emplace(load, point.load_label);
        }
    for (const auto& [load, points] : by_load) {
        const auto has_runs = [](const auto& runs) { return !runs.empty(); };
        if (std::ranges::count_if(points, has_runs) < 2) continue;
        LoadComparison held{.load = labels[load]};
        for (const Row& row : kRows) {
            FigureRow figures = figure_row(std::string(row.title), row.higher_is_better, row.value, points);
            if (std::ranges::any_of(figures.sides, [](const auto& side) { return side.has_value(); }))
                held.figures.push_back(std::move(figures));
        }
        for (FigureRow& row : reported_rows(points)) held.figures.push_back(std::move(row));
        for (std::size_t i = 1; i < sides.size(); ++i)
            if (std::string text = sentence_of(held.load, sides[i].name, sides.front().name, held.figures, i);
                !text.empty())
                held.sentences.push_back(std::move(text));
        comparison.loads.push_back(std::move(held));
    }
    return comparison;
}

}  // namespace paretoken::reports
