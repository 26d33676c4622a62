#include "reports/pages/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/text/lines.h"
#include "core/text/model_name.h"
#include "core/text/number_text.h"
#include "reports/analysis/model/search.h"
#include "reports/analysis/sweep/comparison.h"
#include "reports/document/table.h"
#include "reports/pages/headline.h"
#include "reports/pages/server_rows.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kLabelWidth = 12;

enum class TextStyle { good, warning, bad, strong };

std::string styled(const std::string& text, TextStyle text_style, const ConsoleStyle& style) {
    if (!style.colour) return text;
    constexpr std::array<std::string_view, 4> kCodes{"32", "33", "31", "1"};
    return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<std::size_t>(text_style)], text);
}

TextStyle style_of(Verdict verdict) {
    if (verdict == Verdict::valid) return TextStyle::good;
    return verdict == Verdict::warn ? TextStyle::warning : TextStyle::bad;
}

/// A labelled text, "  label      text". The text is broken to the width of a terminal, with its lines
/// aligned.
std::string labelled(std::string_view label, std::string_view text) {
    std::string out;
    std::string lead(label);
    if (lead.size() >= kLabelWidth) lead += ' ';
    for (const std::string& line : wrapped(text, kWidth - kIndent - kLabelWidth)) {
        out += fmt::format("{:{}}{:{}}{}\n", "", kIndent, lead, kLabelWidth,
                           printable(line, kWidth - kIndent - kLabelWidth));
        lead = "";
    }
    return out;
}

// ---- head

std::string head_of(const RunResult& result, const ConsoleStyle& style) {
    const Provenance& from = result.provenance;
    const std::string title = fmt::format("{} · {}", from.model.empty() ? from.url : shown_model(from.model),
                                          load_label_of(result));
    std::string server = from.url;
    if (!from.server_kind.empty()) server += fmt::format(" ({})", from.server_kind);
    if (!from.hardware.empty()) server += fmt::format(" on {}", from.hardware);
    std::string text = styled(printable(title, kWidth), TextStyle::strong, style) + "\n";
    text += labelled("server", printable(server));
    text += labelled("workload",
                     printable(fmt::format("{}, {}", result.workload.dataset, result.workload.endpoint)));
    return text;
}

// ---- throughput

/// The cell of a figure: "1,234", or "97" for a ratio, which is shown in percent.
std::string figure_cell(const Figure& figure, double value) {
    return figure.unit == "ratio" ? significant(value * 100) : significant(value);
}

std::string interval_text(const Figure& figure, const std::optional<Interval>& interval) {
    if (!interval) return "";
    return fmt::format("95 % CI: {} to {}", figure_cell(figure, std::max(interval->low, 0.0)),
                       figure_cell(figure, interval->high));
}

std::string throughput_of(const RunResult& result) {
    Table table{{{"Throughput", Align::left}, {""}, {"", Align::left}, {"", Align::left}}, {}};
    for (const Figure& figure : figures()) {
        const auto value = result.throughput.at(figure.key);
        if (!value) continue;
        table.rows.push_back({std::string(figure.title), figure_cell(figure, *value),
                              std::string(figure.unit == "ratio" ? "%" : figure.unit),
                              interval_text(figure, result.throughput.interval(figure.key))});
    }
    return table.rows.empty() ? "" : "\n" + text_of(table, kIndent);
}

// ---- latency

/// The cell of a percentile: "*" marks a percentile without enough samples, ∞ one that falls among failures.
std::string percentile_cell(const MetricSummary& metric, double p, double scale) {
    const PercentileValue* held = metric.at(p);
    if (!held) return "–";
    if (!held->value) return falls_among_failures(metric, p) ? "∞" : "–";
    return significant(held->value, scale) + (held->certified ? " " : "*");
}

std::string interval_cell(const MetricSummary& metric, double p, double scale) {
    const PercentileValue* held = metric.at(p);
    if (!held || !held->ci95) return "–";
    return fmt::format("{}–{}", significant(held->ci95->low * scale), significant(held->ci95->high * scale));
}

bool has_uncertified(const MetricSummary& metric) {
    return std::ranges::any_of(metric.percentiles, [](const PercentileValue& held) {
        return held.value && !held.certified && (held.p == .5 || held.p == .9 || held.p == .99);
    });
}

/// The metrics of the summary: the headline metrics, and in an open loop also the TTFT from the actual start,
/// which is the server's part.
std::vector<const Metric*> summarised_metrics(bool open_loop) {
    std::vector<const Metric*> shown;
    for (const std::string_view tag : {"ttft", "itl", "tpot", "e2e"}) {
        shown.push_back(headline_metric(tag, open_loop));
        if (tag == "ttft" && open_loop) shown.push_back(metric_named(tag));
    }
    return shown;
}

std::string latency_of(const RunResult& result) {
    Table table{{{"Latency", Align::left}, {"p50 "}, {"p90 "}, {"p99 "}, {"mean"}, {"p99 95 % CI"}}, {}};
    bool uncertified = false;
    bool among_failures = false;
    for (const Metric* const metric : summarised_metrics(result.open_loop())) {
        const MetricSummary* summary = result.metric(key_of(*metric));
        if (!summary || summary->n == 0) continue;
        const PercentileValue* tail = summary->at(.99);
        const TimeUnit unit = time_unit_for(tail && tail->value ? *tail->value : summary->mean.value_or(1));
        std::string name(metric->title);
        if (const auto comma = name.find(", from intended start"); comma != std::string::npos)
            name = fmt::format("{} from due", name.substr(0, comma));
        table.rows.push_back(
            {fmt::format("{}, {}", name, unit.name), percentile_cell(*summary, .5, unit.per_second),
             percentile_cell(*summary, .9, unit.per_second), percentile_cell(*summary, .99, unit.per_second),
             significant(summary->mean, unit.per_second), interval_cell(*summary, .99, unit.per_second)});
        uncertified = uncertified || has_uncertified(*summary);
        for (const double p : {.5, .9, .99})
            among_failures = among_failures || falls_among_failures(*summary, p);
    }
    if (table.rows.empty()) return "";
    std::string text = "\n" + text_of(table, kIndent);
    if (uncertified) text += fmt::format("  * not certified: {}\n", kWhyUncertified);
    if (result.open_loop()) text += "  from due: from the time at which the load was to send the request\n";
    if (among_failures) text += "  ∞ so many requests failed that this percentile falls among them\n";
    if (const MetricSummary* per_user = result.metric("interactivity_tok_per_s"))
        text += fmt::format("  Interactivity, tok/s per user: {} at p50, {} at p90\n",
                            percentile_cell(*per_user, .5, 1), percentile_cell(*per_user, .9, 1));
    return text;
}

// ---- what else must be said

std::string lengths_of(const Workload& workload) {
    const auto part = [](const char* name, const std::optional<double>& achieved,
                         const std::optional<double>& wanted) {
        if (!achieved) return std::string();
        if (!wanted) return fmt::format("{} {}", name, significant(achieved, 1, 4));
        return fmt::format("{} {} of {} wanted", name, significant(achieved, 1, 4),
                           significant(wanted, 1, 4));
    };
    std::string text = part("input", workload.achieved_input_tokens, workload.wanted_input_tokens);
    const std::string output = part("output", workload.achieved_output_tokens, workload.wanted_output_tokens);
    if (!text.empty() && !output.empty()) text += " · ";
    text += output;
    if (!text.empty() && !workload.length_source.empty())
        text += workload.length_source == "uncalibrated" ? " (lengths not calibrated)"
                                                         : fmt::format(" (by {})", workload.length_source);
    return text.empty() ? "" : labelled("tokens", printable(text));
}

std::string failures_of(const RunResult& result) {
    const Counts& counts = result.counts;
    std::string total = fmt::format("{} ended", grouped(counts.requests));
    total += !tells_failures(result) ? ", how many failed is not known"
             : counts.failed == 0
                 ? ", none failed"
                 : fmt::format(", {} failed ({} %)", grouped(counts.failed),
                               significant(100.0 * static_cast<double>(counts.failed) /
                                           static_cast<double>(std::max<std::uint64_t>(counts.requests, 1))));
    if (counts.abandoned > 0) total += fmt::format(", {} abandoned", grouped(counts.abandoned));
    if (counts.cancelled > 0)
        total += fmt::format(", {} cut off by the run's end", grouped(counts.cancelled));
    if (counts.warmup > 0) total += fmt::format(", {} warm-up", grouped(counts.warmup));
    if (counts.resent > 0) total += fmt::format(", {} sent twice", grouped(counts.resent));
    std::string text = labelled("requests", total);
    for (const auto& [name, count] : counts.by_outcome) {
        const std::optional<Outcome> outcome = outcome_named(name);
        if (count == 0 || (outcome && !is_failure(*outcome))) continue;
        const auto example = counts.example_errors.find(name);
        const std::string why = example == counts.example_errors.end() || example->second.empty()
                                    ? ""
                                    : fmt::format(", e.g. {}", printable(example->second, 160));
        text += labelled("", fmt::format("{} {}{}", grouped(count), printable(name), why));
    }
    return text;
}

std::string window_of(const Window& window) {
    if (window.run_s <= 0) return "";
    const std::string span = fmt::format("from {} to {} s of a run of {} s", significant(window.begin_s),
                                         significant(window.end_s), significant(window.run_s));
    return labelled("window", window.steady ? span + ", steady" : span + "; no steady state was found");
}

std::string verdict_of(const RunResult& result, const ConsoleStyle& style) {
    const Verdict verdict = result.validity.verdict;
    const std::string name =
        verdict == Verdict::invalid ? "INVALID" : std::string(paretoken::name_of(verdict));
    std::string text =
        fmt::format("  {:{}}{}{}\n", "verdict", kLabelWidth, styled(name, style_of(verdict), style),
                    result.partial ? " (partial: the run was interrupted)" : "");
    for (const Reason& reason : result.validity.reasons)
        text += labelled("", printable(fmt::format("{}: {}", reason.check, reason.text)));
    return text;
}

std::string slos_of(const RunResult& result) {
    std::string text;
    for (const SloResult& slo : result.slo)
        text += labelled(
            text.empty() ? "SLO" : "",
            printable(fmt::format("{}: {}", paretoken::name_of(slo.verdict), slo_text(result, slo))));
    return text;
}

std::string quality_of(const RunResult& result) {
    if (!result.quality) return {};
    const ProbeScore& quality = *result.quality;
    return labelled("quality", printable(fmt::format(
                                   "{:.3g} % of {} answers right (95 % interval: {:.3g} to {:.3g} %), {}",
                                   quality.score * 100, quality.n, quality.ci95.low * 100,
                                   quality.ci95.high * 100, quality.probe)));
}

std::string alerts_of(const RunResult& result) {
    std::string text;
    for (const std::string& alert : alert_texts(result))
        text += labelled(text.empty() ? "alerts" : "", printable(alert));
    return text;
}

std::string cell_of(const std::optional<double>& value, double scale = 1) {
    return significant(value, scale);
}

// ---- what the server said

std::string rows_of(std::string_view label, const std::vector<ServerRow>& rows) {
    std::string text;
    for (const auto& [title, value] : rows)
        text += fmt::format("{}{} {}", text.empty() ? "" : "; ", title, value);
    return text.empty() ? "" : labelled(label, text);
}

std::string jobs_of(const RunResult& result) {
    if (!result.jobs) return {};
    const std::string interactivity = interactivity_text(*result.jobs);
    return labelled("jobs", jobs_text(result)) +
           (interactivity.empty() ? "" : labelled("interact.", interactivity));
}

/// Returns how many processes made the load, on how many hosts, and how well their clocks were known.
std::string shards_of(const RunResult& result) {
    if (result.shards.empty()) return {};
    std::set<std::string> hosts;
    double clock_error_s = 0;
    for (const ShardResult& shard : result.shards) {
        hosts.insert(shard.host);
        clock_error_s = std::max(clock_error_s, shard.clock_error_s.value_or(0));
    }
    std::string text =
        fmt::format("{} on {} host{}", result.shards.size(), hosts.size(), hosts.size() == 1 ? "" : "s");
    if (clock_error_s > 0)
        text += fmt::format("; their clocks are known within {} ms", significant(1000 * clock_error_s));
    return labelled("processes", text);
}

std::string server_of(const RunResult& result) {
    std::string text;
    if (result.server) text += rows_of("/metrics", server_rows(*result.server));
    if (result.power) text += rows_of("power", power_rows(*result.power));
    return text;
}

/// The figures of another program, one a line: "ttft_p99 as vLLM bench defines it  0.364 s".
std::string reported_of(const RunResult& result) {
    std::string text;
    if (!result.reported) return text;
    for (const auto& [key, value] : result.reported->figures) {
        const std::string_view unit = reported_key(key).unit;
        const bool is_time = unit == "s";
        text += fmt::format("  {:<52} {} {}\n", printable(reported_title(key, result.reported->by), 52),
                            significant(std::optional(value), is_time ? 1e3 : 1), is_time ? "ms" : unit);
    }
    return text + "\n";
}

}  // namespace

std::string run_summary(const RunResult& result, const ConsoleStyle& style) {
    std::string text = head_of(result, style);
    text += result.reported ? reported_of(result) : throughput_of(result) + latency_of(result) + "\n";
    if (!result.reported || result.reported->requests) text += failures_of(result);
    text += jobs_of(result) + shards_of(result) + server_of(result);
    text += lengths_of(result.workload);
    text += window_of(result.window);
    if (const std::string stop = stop_text(result); !stop.empty())
        text += labelled("stopped", printable(stop));
    if (result.rules) text += labelled("rules", printable(rules_text(*result.rules)));
    text += slos_of(result) + quality_of(result) + alerts_of(result);
    text += verdict_of(result, style);
    if (!style.directory.empty()) text += fmt::format("  {:{}}{}\n", "files", kLabelWidth, style.directory);
    return text;
}

namespace {

std::string cell_text(const std::map<std::string, std::string>& cell) {
    std::string text;
    for (const auto& [name, value] : cell)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
    return text;
}

/// The spread of repeats as the mean over runs and half of its 95 % interval: "tok/s 812 ± 9, TTFT p50 41.2 ±
/// 0.8 ms".
std::string spread_text(const SweepRepeats& repeats) {
    struct Shown {
        const char* key;
        const char* title;
        double factor;
        const char* unit;
    };
    constexpr Shown kShown[] = {{"requests_per_s", "req/s", 1, ""},
                                {"output_tokens_per_s", "tok/s", 1, ""},
                                {"ttft_p50_s", "TTFT p50", 1e3, " ms"},
                                {"ttft_p99_s", "p99", 1e3, " ms"},
                                {"itl_p50_s", "ITL p50", 1e3, " ms"}};
    std::string text;
    for (const auto& [key, title, factor, unit] : kShown) {
        const auto found = repeats.figures.find(key);
        if (found == repeats.figures.end() || !found->second.ci95) continue;
        const RepeatSpread& spread = found->second;
        text +=
            fmt::format("{}{} {} ± {}{}", text.empty() ? "" : ", ", title, significant(spread.mean * factor),
                        significant((spread.ci95->high - spread.mean) * factor), unit);
    }
    return text;
}

/// The SLO knee: the highest load that meets the limits or is within them in every repeat, below the lowest
/// that misses one. None if no load misses one: higher loads may meet them too.
std::optional<double> knee_of(std::span<const SweepPoint> points) {
    double lowest_fail = std::numeric_limits<double>::infinity();
    for (const SweepPoint& point : points)
        if (point.slo == SloVerdict::missed) lowest_fail = std::min(lowest_fail, point.load);
    std::optional<double> knee;
    if (!std::isfinite(lowest_fail)) return knee;
    for (const SweepPoint& point : points) {
        const bool passes = std::ranges::all_of(points, [&](const SweepPoint& other) {
            return other.load != point.load || other.slo == SloVerdict::met ||
                   other.slo == SloVerdict::within;
        });
        if (passes && point.load < lowest_fail && (!knee || point.load > *knee)) knee = point.load;
    }
    return knee;
}

}  // namespace

namespace {

constexpr double kMilliseconds = 1e3;

/// A column of the table of a sweep.
struct SweepColumn {
    std::string title;
    std::function<std::optional<double>(const SweepPoint&)> value;
    double scale = 1;
};

constexpr const char* kPerUser = "per user";
constexpr const char* kCost = "$/M";

/// The columns of figures: the percentiles with limits beside their limits, or else TTFT and ITL.
std::vector<SweepColumn> sweep_columns(std::span<const SweepPoint> points, const CostOfPoint& cost) {
    constexpr std::size_t kMostBesideCost = 2;
    std::vector<SweepColumn> columns = {{"req/s", &SweepPoint::requests_per_s},
                                        {"tok/s", &SweepPoint::output_tokens_per_s}};
    std::map<std::string, double> limits;
    for (const SweepPoint& point : points)
        for (const auto& [key, held] : point.limits) limits.emplace(key, held.limit);
    const bool has_goodput =
        std::ranges::any_of(points, [](const SweepPoint& point) { return point.goodput_per_s.has_value(); });
    const auto dollars = [cost](const SweepPoint& point) -> std::optional<double> {
        const auto found = cost ? cost(point) : std::nullopt;
        return found ? std::optional(found->usd_per_m_output) : std::nullopt;
    };
    if (limits.size() <= kMostBesideCost &&
        std::ranges::any_of(points, [&](const SweepPoint& point) { return dollars(point).has_value(); }))
        columns.push_back({kCost, dollars});
    if (has_goodput) columns.push_back({"good/s", &SweepPoint::goodput_per_s});
    if (!has_goodput && limits.size() < 2)
        columns.push_back({kPerUser, &SweepPoint::interactivity_tok_per_s});
    for (const auto& [key, limit] : limits) {
        const Metric* const metric = metric_named(key.substr(0, key.rfind("_p")));
        const double scale = metric != nullptr && metric->unit == "s" ? kMilliseconds : 1;
        columns.push_back({fmt::format("{} / {}", key, number_text(limit * scale)),
                           [key = key](const SweepPoint& point) -> std::optional<double> {
                               const auto found = point.limits.find(key);
                               return found == point.limits.end() ? std::nullopt : found->second.value;
                           },
                           scale});
    }
    if (!limits.empty()) return columns;
    for (SweepColumn& column : std::vector<SweepColumn>{{"TTFT p50", &SweepPoint::ttft_p50_s, kMilliseconds},
                                                        {"p99 ms", &SweepPoint::ttft_p99_s, kMilliseconds},
                                                        {"ITL p50", &SweepPoint::itl_p50_s, kMilliseconds},
                                                        {"p99 ms", &SweepPoint::itl_p99_s, kMilliseconds}})
        columns.push_back(std::move(column));
    return columns;
}

/// The label of a load without its end if it is long, but with how many times as long and which run it is.
std::string short_label(const SweepPoint& point) {
    constexpr std::size_t kLongest = 12;
    const std::size_t times = std::min(point.load_label.find(" ×"), point.load_label.size());
    std::string label = printable(point.load_label.substr(0, times), kLongest);
    if (times < point.load_label.size()) label += " " + printable(point.load_label.substr(times + 1));
    if (point.repeat > 1) label += fmt::format(" #{}", point.repeat);
    return label;
}

/// The words on a point in the last column.
std::string state_text(const SweepPoint& point, bool is_knee) {
    std::string state =
        point.verdict ? std::string(paretoken::name_of(*point.verdict)) : std::string(name_of(point.state));
    if (point.slo)
        state =
            fmt::format("{}{}", point.verdict == Verdict::valid ? "" : state + ", ",
                        point.slo == SloVerdict::insufficient ? "too few" : paretoken::name_of(*point.slo));
    if (point.slo && is_knee) state += ", knee";
    return state;
}

struct SweepTable {
    std::vector<SweepColumn> columns;
    Table table;

    bool has(std::string_view title) const {
        return std::ranges::any_of(columns, [&](const SweepColumn& column) { return column.title == title; });
    }
};

SweepTable with_columns(std::span<const SweepPoint> points, std::vector<SweepColumn> columns) {
    SweepTable made{std::move(columns), {{{"load", Align::left}}, {}}};
    for (const SweepColumn& column : made.columns) made.table.columns.push_back({column.title});
    made.table.columns.push_back({"verdict", Align::left});
    const std::optional<double> knee = knee_of(points);
    for (const SweepPoint& point : points) {
        std::vector<std::string> cells{short_label(point)};
        for (const SweepColumn& column : made.columns)
            cells.push_back(cell_of(column.value(point), column.scale));
        const bool is_last = std::ranges::none_of(
            points, [&](const SweepPoint& other) { return other.load == point.load && &other > &point; });
        cells.push_back(state_text(point, knee == point.load && is_last));
        made.table.rows.push_back(std::move(cells));
    }
    return made;
}

/// The columns of the longest line of a text.
std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    for (const std::string_view line : lines_in(text)) width = std::max(width, display_width(line));
    return width;
}

/// The table of points, without the speed per user where it would be too wide with it.
SweepTable table_of(std::span<const SweepPoint> points, const CostOfPoint& cost) {
    SweepTable made = with_columns(points, sweep_columns(points, cost));
    if (!made.has(kPerUser) || width_of(text_of(made.table)) <= kWidth) return made;
    std::erase_if(made.columns, [](const SweepColumn& column) { return column.title == kPerUser; });
    return with_columns(points, std::move(made.columns));
}

/// Returns the line of the legend on the costs, with every price that they are computed from.
std::string cost_legend(std::span<const SweepPoint> points, const CostOfPoint& cost) {
    std::set<std::string> prices;
    for (const SweepPoint& point : points)
        if (const auto found = cost(point)) prices.insert(price_text(*found));
    return fmt::format("$/M: dollars for a million output tokens ({})", fmt::join(prices, "; "));
}

/// The lines that explain the words of a sweep's table, behind its findings.
std::string sweep_legend(std::span<const SweepPoint> points, bool has_knee, const CostOfPoint& cost) {
    const auto any = [&](auto&& has) { return std::ranges::any_of(points, has); };
    std::vector<std::string> texts;
    if (any([](const SweepPoint& point) { return point.slo == SloVerdict::within; }))
        texts.emplace_back(
            "within: measured within the limits, which is not shown at 99 % confidence: there are too few "
            "independent requests, so that more (--num-prompts) or a longer run (--duration) may show it, or "
            "no steady state was found");
    if (has_knee)
        texts.emplace_back(
            "knee: the highest load that meets all limits or is within them, below the lowest that misses "
            "one");
    if (any([](const SweepPoint& point) { return point.slo == SloVerdict::insufficient; }))
        texts.emplace_back("too few: too few requests to tell anything about the limits");
    if (any([](const SweepPoint& point) { return point.repeat > 1; }))
        texts.emplace_back("#2: the second run of a load; ×4: with 4 times as many requests");
    const SweepTable shown = table_of(points, cost);
    if (shown.has(kCost)) texts.push_back(cost_legend(points, cost));
    if (shown.has(kPerUser) &&
        any([](const SweepPoint& point) { return point.interactivity_tok_per_s.has_value(); }))
        texts.emplace_back("per user: tok/s that 90 % of the requests reach");
    if (any([](const SweepPoint& point) { return point.goodput_per_s.has_value(); }))
        texts.emplace_back("good/s: requests per second that meet every limit of --goodput");
    std::string text;
    for (const std::string& one : texts) text += labelled(text.empty() ? "legend" : "", one);
    return text;
}

/// The line on the load with the most good requests per second; empty without limits of good requests.
std::string best_goodput(std::span<const SweepPoint> points) {
    const SweepPoint* best = nullptr;
    for (const SweepPoint& point : points) {
        if (!point.goodput_per_s || point.verdict == Verdict::invalid) continue;
        if (best == nullptr || *point.goodput_per_s > *best->goodput_per_s) best = &point;
    }
    if (best == nullptr) return "";
    if (!(*best->goodput_per_s > 0))
        return labelled("goodput", "No request of any load meets every limit of --goodput.");
    const std::string share =
        best->goodput_ratio ? fmt::format(", {} of its requests", percent_text(*best->goodput_ratio)) : "";
    return labelled("goodput",
                    fmt::format("{} has the most good requests: {} per second{}.",
                                printable(best->load_label, 200), significant(*best->goodput_per_s), share));
}

/// One line for each kind of reason why points are not valid: the points, and the reason of the first.
std::string reasons_of(std::span<const SweepPoint> points) {
    struct Kind {
        std::string title;
        const SweepPoint* first;
        std::vector<std::string> labels;
    };
    std::vector<Kind> kinds;
    for (const SweepPoint& point : points) {
        if (!point.verdict || point.verdict == Verdict::valid || point.note.empty()) continue;
        if (point.failed > 0 && point.note.starts_with("failed requests")) continue;  // has a line of its own
        const std::string title = point.note.substr(0, point.note.find(':'));
        const auto known = std::ranges::find(kinds, title, &Kind::title);
        Kind& kind = known == kinds.end() ? kinds.emplace_back(Kind{title, &point, {}}) : *known;
        kind.labels.push_back(short_label(point));
    }
    std::string text;
    for (const auto& [title, first, labels] : kinds)
        text +=
            labelled(paretoken::name_of(*first->verdict),
                     printable(fmt::format("{}: {}{}", fmt::join(labels, ", "),
                                           labels.size() > 1 ? fmt::format("in {}, ", labels.front()) : "",
                                           first->note),
                               500));
    return text;
}

}  // namespace

std::string sweep_table(std::span<const SweepPoint> points, const ConsoleStyle& style,
                        const CostOfPoint& cost) {
    std::string notes;
    for (const SweepPoint& point : points) {
        const std::string label = short_label(point);
        if (point.failed > 0)
            notes += labelled(label, fmt::format("{} of {} requests failed{}{}", grouped(point.failed),
                                                 grouped(point.requests), point.failures.empty() ? "" : ": ",
                                                 printable(point.failures, 400)));
        if (!point.error.empty()) notes += labelled(label, printable(point.error, 300));
    }
    notes += reasons_of(points);
    std::string text = text_of(table_of(points, cost).table);
    if (style.colour) text.insert(0, "\033[1m").insert(text.find('\n'), "\033[0m");
    return text + notes;
}

namespace {

/// Returns the heading of a cell. One without options, beside others with some, has the values of these that
/// the sweep began with.
std::string heading_of(const std::map<std::string, std::string>& cell, const SweepFile& file) {
    if (!cell.empty()) return cell_text(cell);
    std::map<std::string, std::string> first;
    bool is_alone = true;
    for (const SweepPoint& point : file.points)
        for (const auto& [name, value] : point.cell) {
            is_alone = false;
            if (const auto own = file.options.find(name); own != file.options.end()) first.insert(*own);
        }
    if (is_alone) return "";
    return first.empty() ? "as first measured" : cell_text(first);
}

}  // namespace

std::string sweep_summary(const SweepFile& file, const ConsoleStyle& style, const CostOfPoint& cost) {
    std::string text;
    bool has_knee = false;
    for (std::size_t begin = 0; begin < file.points.size();) {
        const auto& cell = file.points[begin].cell;
        std::size_t end = begin;
        while (end < file.points.size() && file.points[end].cell == cell) ++end;
        if (const std::string heading = heading_of(cell, file); !heading.empty())
            text += styled(printable(heading, kWidth), TextStyle::strong, style) + "\n";
        const auto points = std::span(file.points).subspan(begin, end - begin);
        text += sweep_table(points, style, cost) + best_goodput(points);
        has_knee = has_knee || knee_of(points);
        begin = end;
    }
    for (const SweepRepeats& repeats : file.repeats) {
        std::string label = repeats.load_label;
        if (!repeats.cell.empty()) label += ", " + cell_text(repeats.cell);
        text += labelled("repeats", fmt::format("{}: {} runs; {}", printable(label, 200), repeats.runs,
                                                spread_text(repeats)));
    }
    std::string_view label = "against";
    if (file.comparison)
        for (const std::string& sentence : sentences_of(*file.comparison, file.axis))
            text += labelled(std::exchange(label, ""), printable(sentence, 400));
    if (file.search) {
        text += answer_lines(*file.search, file.axis);
        text += labelled("search", search_text(*file.search, file.axis));
    }
    return text + sweep_legend(file.points, has_knee, cost);
}

std::string answer_lines(const SweepSearch& answer, const std::string& axis) {
    std::string text = labelled("shown", shown_text(answer, axis));
    text += labelled("within", within_text(answer, axis));
    if (!answer.certify.empty())  // in one line, which can be copied
        text += fmt::format("{:{}}{:{}}{}\n", "", kIndent, "certify", kLabelWidth, printable(answer.certify));
    return text;
}

}  // namespace paretoken::reports
