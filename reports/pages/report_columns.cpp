#include "reports/pages/report_columns.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

std::optional<double> percentile_of(const RunResult& run, std::string_view key, double p) {
    const MetricSummary* metric = run.metric(key);
    const PercentileValue* value = metric ? metric->at(p) : nullptr;
    if (!value) return std::nullopt;
    if (!value->value && falls_among_failures(*metric, p)) return std::numeric_limits<double>::infinity();
    return value->value;
}

// The user's waiting time is counted from the intended start in an open loop.
template <int kPercent>
std::optional<double> ttft(const ReportPoint& point) {
    return percentile_of(point.result, headline_key("ttft", point.open_loop), kPercent / 100.0);
}
template <int kPercent>
std::optional<double> itl(const ReportPoint& point) {
    return percentile_of(point.result, "itl_s", kPercent / 100.0);
}
template <int kPercent>
std::optional<double> e2e(const ReportPoint& point) {
    return percentile_of(point.result, headline_key("e2e", point.open_loop), kPercent / 100.0);
}

template <int kPercent>
std::optional<double> job_time(const ReportPoint& point) {
    return percentile_of(point.result, "job_time_s", kPercent / 100.0);
}
/// Returns a figure of the jobs; nothing for a run without jobs.
template <auto kMember>
std::optional<double> of_jobs(const ReportPoint& point) {
    return point.result.jobs ? point.result.jobs.value().*kMember : std::nullopt;
}

template <auto kMember>
std::optional<double> cost(const ReportPoint& point) {
    return point.cost ? std::optional<double>(point.cost.value().*kMember) : std::nullopt;
}
template <auto kMember>
std::optional<double> optional_cost(const ReportPoint& point) {
    return point.cost ? point.cost.value().*kMember : std::nullopt;
}

constexpr std::string_view kTtft =
    "From sending the request (open loop: from its intended start) to the first event with output.";
constexpr std::string_view kItl =
    "Gaps between arrivals, each spread evenly over the tokens it brought; pooled over tokens.";
constexpr std::string_view kE2e =
    "From sending the request (open loop: from its intended start) to the last event with output.";
const std::string_view kJobTime = metric_named("job_time")->definition;
constexpr double kMilli = 1e3;
constexpr auto kNumber = ColumnStyle::number;
constexpr auto kDollars = ColumnStyle::dollars;
constexpr auto kPercent = ColumnStyle::percent;

/// All columns except the figures of the run.
const std::array kOtherColumns{
    ReportColumn{"interactivity_p90_tok_per_s", "Per user", "p90", "tok/s", 1, kNumber, "tok/s per user, p90",
                 "Tokens per second that one user sees, waiting included: the inverse of the p90 of "
                 "end-to-end latency per output token.",
                 [](const ReportPoint& point) { return point.interactivity; }},
    ReportColumn{"usd_per_m_output", "Cost per million tokens", "output", "$", 1, kDollars, "$/M output",
                 "The whole deployment's price per second over output tokens per second: all cost on output.",
                 cost<&PointCost::usd_per_m_output>},
    ReportColumn{
        "usd_per_m_total", "Cost per million tokens", "all", "$", 1, kDollars, "",
        "The deployment's price over all input and output tokens; it depends on the mix of the workload.",
        optional_cost<&PointCost::usd_per_m_total>},
    ReportColumn{"usd_per_m_input_split", "Cost per million tokens", "input, split", "$", 1, kDollars, "",
                 "Budget-balanced: input and output share the price at the split ratio; this is an input "
                 "token's part.",
                 optional_cost<&PointCost::usd_per_m_input_split>},
    ReportColumn{"usd_per_m_cached_split", "Cost per million tokens", "cached, split", "$", 1, kDollars, "",
                 "Budget-balanced: the part of an input token that came from a cache.",
                 optional_cost<&PointCost::usd_per_m_cached_split>},
    ReportColumn{"usd_per_m_output_split", "Cost per million tokens", "output, split", "$", 1, kDollars, "",
                 "Budget-balanced: input and output share the price at the split ratio; this is an output "
                 "token's part.",
                 optional_cost<&PointCost::usd_per_m_output_split>},
    ReportColumn{"usd_per_m_goodput", "Cost per million tokens", "good output", "$", 1, kDollars, "",
                 "The deployment's price over the output tokens of requests that met every SLO.",
                 optional_cost<&PointCost::usd_per_m_goodput>},
    ReportColumn{"ttft_p50_s", "TTFT", "p50", "ms", kMilli, kNumber, "TTFT p50, ms", kTtft, ttft<50>},
    ReportColumn{"ttft_p95_s", "TTFT", "p95", "ms", kMilli, kNumber, "", kTtft, ttft<95>},
    ReportColumn{"ttft_p99_s", "TTFT", "p99", "ms", kMilli, kNumber, "TTFT p99, ms", kTtft, ttft<99>},
    ReportColumn{"itl_p50_s", "ITL", "p50", "ms", kMilli, kNumber, "ITL p50, ms", kItl, itl<50>},
    ReportColumn{"itl_p95_s", "ITL", "p95", "ms", kMilli, kNumber, "", kItl, itl<95>},
    ReportColumn{"itl_p99_s", "ITL", "p99", "ms", kMilli, kNumber, "ITL p99, ms", kItl, itl<99>},
    ReportColumn{"e2e_p50_s", "E2E", "p50", "s", 1, kNumber, "", kE2e, e2e<50>},
    ReportColumn{"e2e_p95_s", "E2E", "p95", "s", 1, kNumber, "", kE2e, e2e<95>},
    ReportColumn{"e2e_p99_s", "E2E", "p99", "s", 1, kNumber, "", kE2e, e2e<99>},
    ReportColumn{"job_time_p50_s", "Jobs", "p50", "s", 1, kNumber, "job p50, s", kJobTime, job_time<50>},
    ReportColumn{"job_time_p95_s", "Jobs", "p95", "s", 1, kNumber, "job p95, s", kJobTime, job_time<95>},
    ReportColumn{"jobs_per_hour", "Jobs", "per hour", "", 1, kNumber, "jobs/h",
                 "Jobs done in the window, per hour of it; one that it cuts counts by its share of turns.",
                 of_jobs<&JobResults::jobs_per_hour>},
    ReportColumn{"usd_per_job", "Jobs", "$ per job", "$", 1, kDollars, "$/job",
                 "The deployment's cost per hour over the jobs that ended well per hour.",
                 [](const ReportPoint& point) {
                     return point.cost && point.cost->per_job ? std::optional(point.cost->per_job->mean)
                                                              : std::nullopt;
                 }},
    ReportColumn{"good_jobs_per_hour", "Jobs", "good per hour", "", 1, kNumber, "",
                 "Those of them that met every limit on jobs.", of_jobs<&JobResults::good_jobs_per_hour>},
    ReportColumn{"of_limit_ratio", "Hardware", "of limit", "%", 100, kPercent, "% of limit",
                 "Output tokens per second over the hardware's hard limit at the same load.",
                 [](const ReportPoint& point) { return point.of_limit; }},
    ReportColumn{
        "mfu_ratio", "Hardware", "MFU", "%", 100, kPercent, "",
        "Model FLOPs utilisation: the arithmetic that the delivered tokens need over the peak. Single-digit "
        "values are normal while decoding, because each step reads all weights to compute few tokens.",
        [](const ReportPoint& point) { return point.utilisation ? point.utilisation->mfu : std::nullopt; }},
    ReportColumn{
        "mbu_ratio", "Hardware", "MBU", "%", 100, kPercent, "",
        "Model bandwidth utilisation: bytes of weights and KV cache that decoding steps read over "
        "the peak bandwidth of memory.",
        [](const ReportPoint& point) { return point.utilisation ? point.utilisation->mbu : std::nullopt; }},
    ReportColumn{"requests", "Requests", "all", "", 1, kNumber, "",
                 "Requests that ended, without warm-up and without those the run's end cut off.",
                 [](const ReportPoint& point) {
                     return std::optional(static_cast<double>(point.result.counts.requests));
                 }},
    ReportColumn{"failed", "Requests", "failed", "", 1, kNumber, "failed",
                 "Failed, truncated, empty or too short; they count as infinitely slow in every percentile.",
                 [](const ReportPoint& point) {
                     return std::optional(static_cast<double>(point.result.counts.failed));
                 }},
};

/// The title of a figure in Markdown's short table; empty if the figure is not in it.
std::string_view brief_title_of(const Figure& figure) {
    if (figure.key == figure::kOutputTokens) return "output tok/s";
    return figure.key == figure::kRequests ? "req/s" : "";
}

ReportColumn column_of(const Figure& figure) {
    const bool share = figure.unit == "ratio";
    return {figure.key,
            brief_title_of(figure).empty() ? "Further figures" : "Throughput",
            figure.title,
            share ? "%" : figure.unit,
            share ? 100.0 : 1.0,
            share ? kPercent : kNumber,
            brief_title_of(figure),
            figure.definition,
            [key = figure.key](const ReportPoint& point) { return point.result.throughput.at(key); }};
}

std::vector<ReportColumn> all_columns() {
    std::vector<ReportColumn> columns;
    const auto add_figures = [&columns](bool brief) {
        for (const Figure& figure : figures())
            if (brief == !brief_title_of(figure).empty()) columns.push_back(column_of(figure));
    };
    add_figures(true);
    columns.insert(columns.end(), kOtherColumns.begin(), kOtherColumns.end());
    add_figures(false);  // at the end, so that latency and cost stay visible
    return columns;
}

}  // namespace

std::span<const ReportColumn> report_columns() {
    static const std::vector<ReportColumn> columns = all_columns();
    return columns;
}

std::vector<const ReportColumn*> columns_in_use(const ReportModel& model) {
    const auto is_used = [&model](const ReportColumn& column) {
        for (const Configuration& configuration : model.configurations)
            for (const ReportPoint& point : configuration.points)
                if (column.value(point)) return true;
        return false;
    };
    std::vector<const ReportColumn*> used;
    for (const ReportColumn& column : report_columns())
        if (is_used(column)) used.push_back(&column);
    return used;
}

std::string cell_of(const ReportColumn& column, const ReportPoint& point) {
    const std::optional<double> value = column.value(point);
    if (!value) return "–";
    const double shown = *value * column.scale;
    if (column.style == ColumnStyle::dollars) return dollars(shown);
    if (column.unit.empty() && shown == std::floor(shown)) return grouped(static_cast<std::uint64_t>(shown));
    return significant(shown);
}

}  // namespace paretoken::reports
