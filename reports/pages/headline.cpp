#include "reports/pages/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "cards/price.h"
#include "core/error.h"
#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/result/slo.h"
#include "core/text/model_name.h"
#include "core/text/number_text.h"
#include "core/text/validity_reasons.h"
#include "core/validity/validity.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/sweep/longer_run.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/document/table.h"
#include "reports/pages/server_rows.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kTextBegins = 12;
constexpr std::size_t kMostEntries = 11;  // without the next command

/// "  label     text", with the text broken into aligned lines.
std::string line_of(std::string_view label, const std::string& text) {
    constexpr std::size_t kMostText = 600;
    std::string lines;
    for (const std::string& line : wrapped(printable(text, kMostText), kColumns - kTextBegins)) {
        lines += fmt::format("  {:{}}{}\n", label, kTextBegins - 2, printable(line, kColumns - kTextBegins));
        label = "";
    }
    return lines;
}

std::string requests_text(const RunResult& result) {
    const Counts& counts = result.counts;
    const std::string requests =
        fmt::format("{} request{}", grouped(counts.requests), counts.requests == 1 ? "" : "s");
    if (!tells_failures(result)) return requests + ", failures not known";
    const std::string hung_up =
        counts.abandoned == 0 ? "" : fmt::format(", users hung up on {}", grouped(counts.abandoned));
    if (counts.failed == 0) return fmt::format("{}, none failed{}", requests, hung_up);
    return fmt::format("{} of {} failed{}", grouped(counts.failed), requests, hung_up);
}

std::string rates_text(const RunResult& result) {
    std::string text;
    for (const auto& [key, unit] :
         {std::pair{"output_tokens_per_s", "tok/s"}, std::pair{"requests_per_s", "req/s"}}) {
        const auto value = result.throughput.at(key);
        if (!value) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : " · ", significant(*value), unit);
        if (const auto interval = result.throughput.interval(key))
            text += fmt::format(" ({}–{})", significant(std::max(interval->low, 0.0)),
                                significant(interval->high));
    }
    return text;
}

/// "0 % of the requests are good, 0 req/s (ttft:100, tpot:20)"; empty if no limits of good requests were
/// given.
std::string goodput_text(const RunResult& result) {
    const auto share = result.throughput.at(figure::kGoodputRatio);
    const auto rate = result.throughput.at(figure::kGoodput);
    if (!share || !rate) return {};
    const auto limits = result.plan.find("goodput");
    return fmt::format("{} of the requests are good, {} req/s{}", percent_text(*share), significant(*rate),
                       limits == result.plan.end() ? "" : fmt::format(" ({})", limits->second));
}

std::string cost_text(const HeadlineCost& cost) {
    return fmt::format("${} per M output tokens ({})", dollars(cost.usd_per_m_output), price_text(cost));
}

constexpr std::array kShown = {.5, .95, .99};

/// "41.2 (40.1–42.3)"; "*" marks a percentile without enough samples, ∞ one that falls among failures.
std::string cell_of(const MetricSummary& metric, double p, double scale) {
    const PercentileValue* const held = metric.at(p);
    if (held == nullptr) return "–";
    if (!held->value) return falls_among_failures(metric, p) ? "∞" : "–";
    const std::string_view mark = held->certified ? "" : "*";
    if (!held->ci95) return fmt::format("{}{}", significant(held->value, scale), mark);
    const double low = held->ci95->low * scale;
    const double high = held->ci95->high * scale;
    const int digits = significant(low) == significant(high) ? 4 : 3;  // three may make the interval empty
    return fmt::format("{}{} ({}–{})", significant(held->value, scale, digits), mark,
                       significant(low, digits), significant(high, digits));
}

bool is_uncertified(const MetricSummary& metric) {
    return std::ranges::any_of(kShown, [&](double p) {
        const PercentileValue* const held = metric.at(p);
        return held != nullptr && held->value && !held->certified;
    });
}

/// Returns how many times as many requests certify the percentile; at most 1 if this is not known.
double times_needed(const RunResult& result, const MetricSummary& metric, double p) {
    const PercentileValue* const held = metric.at(p);
    if (held == nullptr || !held->value || held->certified) return 0;
    const double for_certificate = times_to_certify(result, metric, *held).value_or(0);
    if (result.concurrency || !held->enough_n) return for_certificate;
    return std::max(for_certificate, static_cast<double>(*held->enough_n) / static_cast<double>(metric.n));
}

/// "* too few requests: p95 needs about 4.3 times as many, p99 22 times"
std::string legend_of_stars(const RunResult& result, const std::vector<const MetricSummary*>& shown) {
    if (!result.window.steady) return "* not certified, because the run has no steady window";
    std::vector<std::string> needs;
    for (const double p : kShown) {
        double factor = 0;
        for (const MetricSummary* const metric : shown)
            factor = std::max(factor, times_needed(result, *metric, p));
        if (factor <= 1) continue;
        needs.push_back(fmt::format("p{:g} {}{} times{}", 100 * p, needs.empty() ? "needs about " : "",
                                    significant(factor, 2), needs.empty() ? " as many" : ""));
    }
    if (needs.size() > 2) needs.erase(needs.begin() + 1);  // the line has 80 columns
    return fmt::format("* too few requests{}{}", needs.empty() ? "" : ": ", fmt::join(needs, ", "));
}

/// The latencies; nothing if none was measured.
std::string latencies_of(const RunResult& result) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kRows = {
        {{"ttft", "TTFT"}, {"itl", "ITL"}, {"e2e", "E2E"}}};
    std::string rows;
    std::vector<const MetricSummary*> uncertified;
    bool has_intervals = false;  // of the medians
    const bool open = result.open_loop();
    const std::size_t label_width = open ? 24 : kTextBegins - 2;
    const std::size_t cell_width = open ? 20 : 22;
    for (const auto& [tag, title] : kRows) {
        const Metric* const shown = headline_metric(tag, open);
        const MetricSummary* const metric = result.metric(key_of(*shown));
        if (metric == nullptr || metric->n == 0) continue;
        const PercentileValue* const tail = metric->at(.99);
        const TimeUnit unit =
            time_unit_for(tail != nullptr && tail->value ? *tail->value : metric->mean.value_or(1));
        const std::string_view since = shown == metric_named(tag) ? "" : " from due time";
        std::string line =
            fmt::format("  {:{}}", fmt::format("{}{}, {}", title, since, unit.name), label_width);
        for (const double p : kShown) {
            const std::string cell = cell_of(*metric, p, unit.per_second);
            line += cell + std::string(cell_width - std::min(cell_width - 1, display_width(cell)), ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        rows += line + "\n";
        if (is_uncertified(*metric)) uncertified.push_back(metric);
        has_intervals =
            has_intervals || cell_of(*metric, kShown.front(), unit.per_second).find('(') != std::string::npos;
    }
    if (rows.empty()) return {};
    return fmt::format("  {:{}}{:{}}{:{}}p99\n", "", label_width, has_intervals ? "p50 (95 % CI)" : "p50",
                       cell_width, "p95", cell_width) +
           rows + (uncertified.empty() ? "" : line_of("", legend_of_stars(result, uncertified)));
}

/// "within: ttft_p95 19.8 ms, limit 800 ms; 4.7 times as many requests may decide it"
std::string slo_line(const RunResult& result, const SloResult& slo) {
    const Metric* const metric = metric_named(slo.key.substr(0, slo.key.rfind("_p")));
    const bool is_time = metric != nullptr && metric->unit == "s";
    const auto amount = [&](double value) {
        return is_time ? fmt::format("{} ms", number_text(value * 1e3)) : number_text(value);
    };
    std::string text = fmt::format("{}: {} {}, limit {}", paretoken::name_of(slo.verdict), slo.key,
                                   slo.value ? amount(*slo.value) : "has no value", amount(slo.limit));
    if (slo.verdict == SloVerdict::missed && !kept_up(result)) text += "; " + overload_text(result);
    const auto times = times_to_offer(slo);
    if (!times) return text;
    if (*times * result.window.run_s > kLongestOfferedS)
        return text + "; to decide it would take hours: measure another load, or set another limit";
    return text + fmt::format("; {} times as many requests may decide it", significant(*times, 2));
}

}  // namespace

bool tells_failures(const RunResult& result) {
    return !result.reported || result.reported->failed;
}

std::string coloured(const std::string& text, Verdict verdict, const ConsoleStyle& style) {
    if (!style.colour) return text;
    const char* const code = verdict == Verdict::valid ? "32" : verdict == Verdict::warn ? "33" : "31";
    return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string price_text(const HeadlineCost& cost) {
    return fmt::format("{} at ${}/h, {}{}{}", cost.hardware, dollars(cost.usd_per_h),
                       cost.basis == "on_demand" || cost.basis.starts_with('$') ? "" : cost.basis + ", ",
                       cost.card, earning_text(cost.earning_share));
}

std::optional<HeadlineCost> headline_cost(const RunResult& result,
                                          const std::vector<cards::PriceCard>& prices) {
    if (lacks_requests(result)) return std::nullopt;
    const auto rate = result.throughput.at("output_tokens_per_s");
    const cards::PricedHardware hardware = priced_hardware(result.provenance);
    if (!rate || hardware.name.empty()) return std::nullopt;
    for (const cards::PriceCard& card : prices) {
        try {
            const auto hourly = cards::hourly_rate(card, hardware);
            if (!hourly) continue;
            const double share = cards::earning_share(card);
            const auto usd = usd_per_m_output(hourly->usd_per_h / 3600 / share, *rate);
            if (!usd) return std::nullopt;
            return HeadlineCost{
                *usd,
                hardware.count > 1 ? fmt::format("{} × {}", hardware.count, hourly->item) : hourly->item,
                hourly->usd_per_h,
                hourly->basis,
                card.name,
                share};
        } catch (const UsageError&) {
            continue;  // the card has no price that needs no choice
        }
    }
    return std::nullopt;
}

std::string verdict_line(const RunResult& result, const ConsoleStyle& style) {
    const Verdict verdict = result.validity.verdict;
    const std::string name =
        verdict == Verdict::invalid ? "INVALID" : std::string(paretoken::name_of(verdict));
    std::string counts = requests_text(result);
    if (result.window.run_s > 0) counts += fmt::format(" · {} s", significant(result.window.run_s));
    if (result.partial) counts += has_lost_records(result) ? " · partial" : " · partial: interrupted";
    // What does not fit is cut from the model's name, and then from the load.
    constexpr std::size_t kLeastModel = 8;
    constexpr std::size_t kMostModel = 28;
    constexpr std::size_t kSeparators = 2 + 2 * 3;
    const auto left_of = [](std::size_t columns, std::size_t taken) {
        return columns - std::min(columns, taken);
    };
    const std::size_t room = left_of(kColumns, name.size() + kSeparators + display_width(counts));
    const std::string load =
        printable(load_label_of(result), std::max(kLeastModel, left_of(room, kLeastModel)));
    const Provenance& from = result.provenance;
    const std::string model =
        printable(from.model.empty() ? from.url : shown_model(from.model),
                  std::clamp(left_of(room, display_width(load)), kLeastModel, kMostModel));
    return fmt::format("{}  {} · {} · {}\n", coloured(name, verdict, style), model, load, printable(counts));
}

std::string run_headline(const RunResult& result, const std::optional<HeadlineCost>& cost,
                         const std::string& next, const ConsoleStyle& style) {
    std::vector<std::string> lines{verdict_line(result, style)};
    if (const std::string rates = rates_text(result); !rates.empty())
        lines.push_back(line_of("output", rates));
    if (cost) lines.push_back(line_of("cost", cost_text(*cost)));
    const std::string latencies = latencies_of(result);
    for (std::size_t begin = 0; begin < latencies.size();) {
        const std::size_t end = latencies.find('\n', begin) + 1;
        const std::string line = latencies.substr(begin, end - begin);
        if (line.find_first_not_of(' ') == line.find('*'))
            lines.back() += line;  // what the mark means
        else
            lines.push_back(line);
        begin = end;
    }
    if (const std::string good = goodput_text(result); !good.empty())
        lines.push_back(line_of("goodput", good));
    if (result.jobs) lines.push_back(line_of("jobs", jobs_text(result)));
    if (result.counts.failed > 0) lines.push_back(line_of("failures", failures_text(result.counts)));
    // The reasons of the verdict and the limits share what is left; the last line names the rest.
    std::vector<std::pair<std::string, std::string>> rest;
    const bool lost = has_lost_records(result);
    bool is_advised = false;  // what to do stands behind the gravest reason only
    const auto add_reasons = [&](const char* label, bool invalid) {
        for (const Reason& reason : result.validity.reasons) {
            if ((reason.severity == Verdict::invalid) != invalid || (lost && reason.check == "partial"))
                continue;
            rest.emplace_back(label, fmt::format("{}: {}", reason.check, reason.text));
            const ValidityReason* const known = validity_reason(reason.check);
            if (is_advised || known == nullptr || !(invalid || is_of_host(reason.check))) continue;
            rest.back().second += fmt::format(". {}", known->remedy);
            is_advised = true;
        }
    };
    add_reasons("why", true);
    if (std::string stop = stop_text(result); !stop.empty()) rest.emplace_back("stopped", std::move(stop));
    if (result.rules) rest.emplace_back("rules", rules_text(*result.rules));
    for (const SloResult& slo : result.slo) rest.emplace_back("SLO", slo_line(result, slo));
    if (result.quality)
        rest.emplace_back("quality", fmt::format("{:.3g} % of {} answers right", result.quality->score * 100,
                                                 result.quality->n));
    for (const std::string& alert : alert_texts(result)) rest.emplace_back("alert", alert);
    add_reasons("note", false);
    const std::size_t room = kMostEntries - std::min(kMostEntries, lines.size());
    const std::size_t shown = rest.size() <= room ? rest.size() : room > 0 ? room - 1 : 0;
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(line_of(rest[i].first, rest[i].second));
    if (shown < rest.size() && room > 0)
        lines.push_back(
            line_of("", fmt::format("and {} more; -v or `paretoken show` has them", rest.size() - shown)));
    std::string text;
    for (const std::string& line : lines) text += line;
    if (!next.empty()) text += fmt::format("  {:{}}{}\n", "next", kTextBegins - 2, next);
    return text;
}

namespace {

std::string percentile_text(const MetricSummary& metric, double p) {
    const PercentileValue* const at = metric.at(p);
    if (at == nullptr) return "";
    return fmt::format("p{:.0f} {} s", p * 100, at->value ? significant(*at->value) : std::string("∞"));
}

}  // namespace

std::string stop_text(const RunResult& result) {
    const auto is_said = [&](const Reason& reason) {
        return reason.check == "diverging" && result.stop->rule == kDiverging;
    };
    if (!result.stop || result.stop->rule == "requests" || result.stop->rule == "duration" ||
        result.partial || std::ranges::any_of(result.validity.reasons, is_said))
        return {};
    return fmt::format("after {} s by --stop {}: {}", significant(result.stop->at_s), result.stop->rule,
                       result.stop->text);
}

std::string jobs_text(const RunResult& result) {
    const JobResults& jobs = *result.jobs;
    std::string text = fmt::format("{} ok", grouped(jobs.ok));
    if (jobs.failed > 0) text += fmt::format(", {} failed", grouped(jobs.failed));
    if (jobs.unfinished > 0) text += fmt::format(", {} unfinished", grouped(jobs.unfinished));
    if (jobs.judged) text += fmt::format(", {} good", grouped(*jobs.good));
    const MetricSummary* const time = result.metric("job_time_s");
    const MetricSummary* const busy = result.metric("job_busy_s");
    if (time != nullptr)
        text += fmt::format(" · {}, {}", percentile_text(*time, .5), percentile_text(*time, .95));
    if (time != nullptr && busy != nullptr && time->mean && busy->mean && *time->mean > 0)
        text += fmt::format(" · {:.0f} % outside tools", 100 * *busy->mean / *time->mean);
    if (jobs.jobs_per_hour) text += fmt::format(" · {} jobs/h", significant(*jobs.jobs_per_hour));
    return text;
}

std::string rules_text(const BenchmarkRules& rules) {
    if (rules.kept)
        return fmt::format("{}: all {} that the result shows are kept", rules.benchmark, rules.rules.size());
    std::string text;
    for (const RuleResult& rule : rules.rules)
        if (!rule.kept)
            text +=
                fmt::format("{}{} ({}; {})", text.empty() ? "" : "; ", rule.name, rule.wanted, rule.found);
    return fmt::format("{}: not kept: {}", rules.benchmark, text);
}

std::string interactivity_text(const JobResults& jobs) {
    std::string text;
    if (jobs.e2e_normalized_interactivity_p90)
        text = fmt::format("E2E-normalized p90 {} tok/s (InferenceX)",
                           significant(*jobs.e2e_normalized_interactivity_p90));
    if (jobs.e2e_interactivity)
        text += fmt::format("{}E2E {} tok/s (MLPerf)", text.empty() ? "" : " · ",
                            significant(*jobs.e2e_interactivity));
    return text;
}

}  // namespace paretoken::reports
