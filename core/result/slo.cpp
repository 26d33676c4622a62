#include "core/result/slo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "core/error.h"
#include "core/result/metric_summary.h"
#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "core/text/number_text.h"

namespace paretoken {
namespace {

/// Returns the tag for a name of other tools, or for a short one.
std::string_view canonical(std::string_view tag) {
    if (tag == "job") return "job_time";
    return tag == "e2el" ? "e2e" : tag;
}

bool can_limit(const Metric& metric) {
    return metric.pool == nullptr;
}

std::string known_tags() {
    std::string tags;
    for (const auto& metric : metrics()) {
        if (can_limit(metric))
            fmt::format_to(std::back_inserter(tags), "{}{}", tags.empty() ? "" : ", ", metric.tag);
    }
    return tags;
}

/// Reads a limit: times are in milliseconds unless they have a unit; others in the metric's own unit.
double parse_limit(const Metric& metric, std::string_view text) {
    if (metric.unit.substr(0, 1) == "s") {  // "s", "s_per_tok"
        return seconds(parse_milliseconds(text));
    }
    const Spec spec{std::string(metric.tag), {{"limit", std::string(text)}}};
    return spec.number("limit");
}

/// Returns "p95", "p999".
std::string name_of_percentile(double p) {
    std::string digits = fmt::format("{:g}", p * 100);
    std::erase(digits, '.');
    return fmt::format("p{}", digits);
}

struct NameAndPercentile {
    std::string_view name;
    std::optional<double> p;
};

/// Reads "97" → .97, "97.5" and "975" → .975; returns nothing below 10 or from 100 on. Digits without a point
/// that end in a zero, such as "100" and "500", are no name of a percentile below 100.
std::optional<double> any_percentile(std::string_view digits) {
    std::string all(digits);
    const auto point = all.find('.');
    if (point != std::string::npos && point != 2) return {};
    if (point == std::string::npos && all.size() > 2 && all.back() == '0') return {};
    std::erase(all, '.');
    constexpr std::size_t kMostDigits = 6;
    if (all.size() < 2 || all.size() > kMostDigits || all.front() == '0' ||
        all.find_first_not_of("0123456789") != std::string::npos)
        return {};
    return std::stod(all) / std::pow(10.0, static_cast<double>(all.size()));
}

/// Removes "_p95" from a name. Throws UsageError for a percentile that results do not hold.
NameAndPercentile without_percentile(std::string_view slo, std::string_view name,
                                     SloPercentiles percentiles) {
    const auto at = name.rfind("_p");
    if (at == std::string_view::npos || at + 2 == name.size() ||
        name.find_first_not_of("0123456789.", at + 2) != std::string_view::npos)
        return {name, std::nullopt};
    const std::string asked = fmt::format("p{}", name.substr(at + 2));
    std::string known;
    for (const double p : kPercentiles) {
        if (asked == name_of_percentile(p) || asked == fmt::format("p{:g}", p * 100))
            return {name.substr(0, at), p};
        known += (known.empty() ? "" : ", ") + name_of_percentile(p);
    }
    if (percentiles == SloPercentiles::any) {
        if (const auto p = any_percentile(name.substr(at + 2))) return {name.substr(0, at), p};
        throw UsageError(
            fmt::format("SLO '{}': there is no percentile {}; take one from p10 to p99.9999", slo, asked));
    }
    throw UsageError(fmt::format("SLO '{}': there is no percentile {}; known: {}", slo, asked, known));
}

struct Preset {
    std::string_view name;
    std::array<std::string_view, 2> limits;
};

/// The latency limits of MLPerf Inference: Datacenter (server and interactive scenarios), p99 of TTFT and
/// TPOT in milliseconds; and limits for a person who chats.
constexpr Preset kPresets[] = {
    {"@chat", {"ttft_p95:1000", "interactivity:30"}},
    {"@mlperf:llama2-70b", {"ttft_p99:2000", "tpot_p99:200"}},
    {"@mlperf:llama2-70b:interactive", {"ttft_p99:450", "tpot_p99:40"}},
    {"@mlperf:llama3.1-8b", {"ttft_p99:2000", "tpot_p99:100"}},
    {"@mlperf:llama3.1-8b:interactive", {"ttft_p99:500", "tpot_p99:30"}},
    {"@mlperf:llama3.1-405b", {"ttft_p99:6000", "tpot_p99:175"}},
    {"@mlperf:llama3.1-405b:interactive", {"ttft_p99:4500", "tpot_p99:80"}},
    {"@mlperf:deepseek-r1", {"ttft_p99:2000", "tpot_p99:80"}},
    {"@mlperf:deepseek-r1:interactive", {"ttft_p99:1500", "tpot_p99:15"}},
};

const Preset& preset_named(std::string_view name) {
    std::string known;
    for (const Preset& preset : kPresets) {
        if (preset.name == name) return preset;
        known += (known.empty() ? "" : ", ") + std::string(preset.name);
    }
    throw UsageError(fmt::format("SLO '{}': there is no such preset; known: {}", name, known));
}

/// Returns the judged metric. In an open loop users wait from the time they meant to start, which limits
/// apply to.
const Metric& judged(const Slo& slo, bool open_loop) {
    const Metric* metric = headline_metric(slo.tag, open_loop);
    if (metric == nullptr || !can_limit(*metric)) {
        throw UsageError(fmt::format("no SLO can be set on '{}'; known: {}", slo.tag, known_tags()));
    }
    return *metric;
}

std::optional<double> value_of(const Metric& metric, const RequestRecord& record) {
    if (metric.inverse_of.empty()) return metric.of_request(record);
    const auto base = metric_named(metric.inverse_of)->of_request(record);
    if (!base || *base <= 0) return std::nullopt;
    return 1 / *base;
}

bool meets(const RequestRecord& record, const Slo& slo, bool open_loop) {
    const auto& metric = judged(slo, open_loop);
    const auto value = value_of(metric, record);
    if (!value) return true;
    return metric.better == Better::higher ? *value >= slo.limit : *value <= slo.limit;
}

/// Returns the metric that a result's limit is set on; null if there is none of that name any more.
const Metric* metric_of(const SloResult& result) {
    return metric_named(result.key.substr(0, result.key.rfind("_p")));
}

/// Returns what the limit counts.
std::string_view unit_of(const SloResult& result) {
    const Metric* const metric = metric_of(result);
    return metric != nullptr && metric->of_jobs ? "jobs" : "requests";
}

/// Returns the percentile of the limit; null if the summary lacks it.
const PercentileValue* percentile_for(const Slo& slo, const MetricSummary* summary) {
    return summary == nullptr ? nullptr : summary->at(slo.p.value_or(kSloPercentile));
}

/// Returns the number of independent values that certify a percentile.
double certifying(double p) {
    return static_cast<double>(samples_to_certify(std::max(p, 1 - p)));
}

bool is_over(double value, double limit, bool higher_is_better) {
    return higher_is_better ? value < limit : value > limit;
}

std::optional<double> worst_of(const MetricSummary& summary, bool higher_is_better) {
    return higher_is_better ? summary.min : summary.max;
}

/// Returns whether the worst value of a steady run is better than the limit by a factor of 2, with twice as
/// many independent values as certify the percentile. Then no excursion that the run may lack reaches the
/// limit.
bool is_far_within(const RunResult& result, const MetricSummary& summary, const PercentileValue& held,
                   const Slo& slo, bool higher_is_better) {
    constexpr double kFar = 2;
    if (!result.window.steady || result.counts.failed + result.counts.abandoned > 0 || !held.effective_n ||
        *held.effective_n < kFar * certifying(held.p))
        return false;
    const auto worst = worst_of(summary, higher_is_better);
    return worst &&
           !is_over(*worst, higher_is_better ? kFar * slo.limit : slo.limit / kFar, higher_is_better);
}

}  // namespace

Slo parse_slo(std::string_view text, SloPercentiles percentiles) {
    const auto colon = text.find_first_of(":<>");
    const auto [name, p] = without_percentile(text, text.substr(0, colon), percentiles);
    const auto tag = canonical(name);
    const Metric* metric = metric_named(tag);
    if (colon == std::string_view::npos) {
        throw UsageError(
            fmt::format("SLO '{}': expected TAG:LIMIT or TAG_pNN:LIMIT, e.g. ttft:500 (milliseconds), or "
                        "'ttft_p95<500ms'",
                        text));
    }
    if (metric == nullptr) {
        const auto end = tag.find('_');  // of the percentile, if that stands first
        if (tag.starts_with('p') && end != std::string_view::npos &&
            metric_named(canonical(tag.substr(end + 1))) != nullptr)
            throw UsageError(fmt::format("SLO '{}': there is no metric '{}'; did you mean {}_{}?", text, tag,
                                         tag.substr(end + 1), tag.substr(0, end)));
        throw UsageError(
            fmt::format("SLO '{}': there is no metric '{}'; known: {}", text, tag, known_tags()));
    }
    if (!can_limit(*metric)) {
        throw UsageError(fmt::format(
            "SLO '{}': {} is pooled over requests and cannot judge one; use tpot or stall", text, tag));
    }
    const bool higher_is_better = metric->better == Better::higher;
    if (text[colon] == (higher_is_better ? '<' : '>')) {
        throw UsageError(fmt::format("SLO '{}': {} is better {}; write '{}{}{}'", text, tag,
                                     higher_is_better ? "higher" : "lower", text.substr(0, colon),
                                     higher_is_better ? '>' : '<', text.substr(colon + 1)));
    }
    std::string_view number = text.substr(colon + 1);
    if (text[colon] != ':' && number.starts_with('=')) number.remove_prefix(1);
    return {std::string(tag), parse_limit(*metric, number), p};
}

std::vector<Slo> parse_slos(const std::vector<std::string>& texts) {
    std::vector<Slo> slos;
    slos.reserve(texts.size());
    for (const std::string& text : texts) slos.push_back(parse_slo(text));
    return slos;
}

Slo parse_goodput_slo(std::string_view text) {
    Slo slo = parse_slo(text);
    if (slo.p)
        throw UsageError(
            fmt::format("SLO '{}': goodput judges every request or job alone, but a percentile needs many of "
                        "them; leave the _pNN out",
                        text));
    return slo;
}

Slo parse_request_slo(std::string_view text) {
    Slo slo = parse_goodput_slo(text);
    if (metric_named(slo.tag)->of_jobs)
        throw UsageError(fmt::format(
            "SLO '{}': {} is the time of a whole job and cannot judge one request; give it to --goodput or "
            "--slo",
            text, slo.tag));
    return slo;
}

std::vector<std::string> slo_texts_in(std::string_view text) {
    constexpr std::string_view kBetween = " ,\t";
    std::vector<std::string> texts;
    for (std::size_t begin = 0;
         (begin = text.find_first_not_of(kBetween, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
        texts.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return texts;
}

std::vector<std::string> slo_texts(std::string_view text) {
    std::vector<std::string> texts;
    for (std::string& one : slo_texts_in(text)) {
        if (one.starts_with('@')) {
            for (const std::string_view limit : preset_named(one).limits) texts.emplace_back(limit);
            continue;
        }
        (void)parse_slo(one);
        texts.push_back(std::move(one));
    }
    return texts;
}

std::string name_of(const Slo& slo) {
    return fmt::format("{}_{}", slo.tag, name_of_percentile(slo.p.value_or(kSloPercentile)));
}

Facts needs_of(const std::vector<Slo>& slos, bool open_loop) {
    Facts needs;
    for (const Slo& slo : slos) needs.add(judged(slo, open_loop).needs);
    return needs;
}

// The first of these rules that applies decides:
// 1. Each limit is missed if the server did not keep up (kept_up()): it does not serve this load, whatever
//   the times of the requests that it served are. Waiting times grow for as long as the load lasts.
// 2. What is shown at 99 % (shown_on()) is met or missed, and what is far within the limit
//   (is_far_within()) is met.
// 3. A percentile without a value is missed if it falls among failures; otherwise the evidence is
//   insufficient.
// 4. A percentile over the limit is missed. It is shown for p75 and above if the median is over the limit
//   too, because more than half of the requests were, and for each percentile if all of 20 requests were.
// 5. With fewer than 20 requests, or fewer than are in flight, the evidence is insufficient.
// 6. Otherwise the percentile is within the limit.
SloFinding finding_on(const RunResult& result, const Slo& slo) {
    constexpr std::uint64_t kFewest = 20;
    constexpr double kHigh = .75;
    const Metric& metric = judged(slo, result.open_loop());
    const bool higher_is_better = metric.better == Better::higher;
    const MetricSummary* const summary = result.metric(key_of(metric));
    const PercentileValue* const held = percentile_for(slo, summary);
    if (held == nullptr) return {};
    if (!kept_up(result)) return {SloVerdict::missed, true, held->value};
    if (const auto shown = shown_on(*held, slo.limit, higher_is_better))
        return {*shown ? SloVerdict::met : SloVerdict::missed, true, held->value};
    if (is_far_within(result, *summary, *held, slo, higher_is_better))
        return {SloVerdict::met, true, held->value};
    const auto misses = [&](double value) { return is_over(value, slo.limit, higher_is_better); };
    const PercentileValue* const median = summary->at(.5);
    const bool most_are_over = held->p >= kHigh && median != nullptr &&
                               (median->value ? misses(*median->value) : falls_among_failures(*summary, .5));
    if (!held->value) {
        if (falls_among_failures(*summary, held->p)) return {SloVerdict::missed, most_are_over, {}};
        return {};
    }
    const auto best = worst_of(*summary, !higher_is_better);
    const bool all_are_over = summary->n >= kFewest && best && misses(*best);
    if (misses(*held->value)) return {SloVerdict::missed, most_are_over || all_are_over, held->value};
    if (summary->n < std::max(kFewest, result.concurrency.value_or(0)))
        return {SloVerdict::insufficient, false, held->value};
    return {SloVerdict::within, false, held->value};
}

std::optional<double> times_to_certify(const RunResult& result, const MetricSummary& summary,
                                       const PercentileValue& held) {
    if (!(held.effective_n.value_or(0) > 0)) return std::nullopt;
    const double rounds =
        result.concurrency ? static_cast<double>(summary.n) / static_cast<double>(*result.concurrency) : 0;
    return certifying(held.p) / std::max({*held.effective_n, rounds, 1.0});
}

// The fields below are those of the limited percentile (PercentileValue). There is no factor if the run is
// not steady although it has twice as many independent values as certify the percentile: it is not their
// number that is missing. The first of three cases that applies is used:
// - `decided` is absent and `enough_n` is known. The factor is `enough_n` ÷ the present number of values, at
//   most that of the second case.
// - `decided` or `value` is absent, `value` equals the limit, or `decided` has an infinite end on the side of
//   `value` on which the limit lies. The factor is the number of samples that can certify the percentile ÷
//   the most of `effective_n`, the rounds of a closed loop and 1, because `effective_n` is often far too
//   small where few values were measured; there is none if `effective_n` is unknown or 0.
// - Otherwise the distance from `value` to that end of `decided` is assumed to shrink with the square root of
//   the number of requests. The factor is (this distance ÷ the distance from `value` to the limit)². If no
//   value is beyond the limit, the factor of the second case suffices if it is smaller.
// A factor is at least 1.1.
std::optional<double> times_enough(const RunResult& result, const Slo& slo) {
    constexpr double kLeast = 1.1;
    const Metric& metric = judged(slo, result.open_loop());
    const MetricSummary* summary = result.metric(key_of(metric));
    const PercentileValue* held = percentile_for(slo, summary);
    if (held == nullptr) return std::nullopt;
    if (!held->value && falls_among_failures(*summary, held->p)) return std::nullopt;
    const bool is_counted = held->effective_n && *held->effective_n > 0;
    if (!result.window.steady && is_counted && *held->effective_n >= 2 * certifying(held->p))
        return std::nullopt;
    const auto n = static_cast<double>(summary->n);
    auto for_any = times_to_certify(result, *summary, *held);
    if (for_any) for_any = std::max(kLeast, *for_any);
    if (!held->decided && held->enough_n && summary->n > 0) {
        const double for_interval = std::max(kLeast, static_cast<double>(*held->enough_n) / n);
        return for_any ? std::min(for_interval, *for_any) : for_interval;
    }
    if (!held->decided || !held->value) return for_any;
    const double away = slo.limit - *held->value;
    const double reach = away > 0 ? held->decided->high - *held->value : *held->value - held->decided->low;
    if (!std::isfinite(reach) || away == 0) return for_any;
    const double by_root = std::max(kLeast, reach * reach / (away * away));
    const bool higher_is_better = metric.better == Better::higher;
    const auto worst = worst_of(*summary, higher_is_better);
    const bool none_misses = worst && !is_over(*worst, slo.limit, higher_is_better);
    return none_misses && for_any ? std::min(by_root, *for_any) : by_root;
}

namespace {

/// Returns whether the load of an open loop is so close to what the server can serve that the evidence hardly
/// grows with the requests: the queue stays long or short for minutes.
bool is_near_capacity(const RunResult& run, const SloResult& result) {
    constexpr double kRequestsPerSample = 500;
    return run.open_loop() && result.n_effective &&
           static_cast<double>(result.n) >= kRequestsPerSample * *result.n_effective;
}

}  // namespace

std::vector<SloResult> slo_results(const RunResult& result, const std::vector<Slo>& slos, Facts unknown) {
    std::vector<SloResult> results;
    for (const Slo& slo : slos) {
        const SloFinding finding = finding_on(result, slo);
        SloResult own{.key = name_of(slo),
                      .p = slo.p.value_or(kSloPercentile),
                      .limit = slo.limit,
                      .value = finding.value,
                      .verdict = finding.verdict,
                      .shown = finding.shown};
        const Metric& metric = judged(slo, result.open_loop());
        own.note = why_unknown(metric.needs, unknown);
        if (const MetricSummary* summary = result.metric(key_of(metric))) {
            own.n = summary->n;
            own.worst = worst_of(*summary, metric.better == Better::higher);
            if (const PercentileValue* held = summary->at(own.p)) own.n_effective = held->effective_n;
        }
        if (!finding.shown && !is_near_capacity(result, own)) own.times_enough = times_enough(result, slo);
        results.push_back(std::move(own));
    }
    return results;
}

std::optional<double> times_to_offer(const SloResult& slo) {
    constexpr double kIfNoneIsOver = 1.2;
    constexpr double kIfSomeAreOver = 2.4;  // (2.33 + 1.28)² ÷ 2.33²: 9 in 10 instead of half, at 99 %
    constexpr double kLeast = 4;            // a small factor was found in a run that was good by chance
    if (slo.shown || !slo.times_enough) return std::nullopt;
    const Metric* const metric = metric_of(slo);
    const bool least = metric != nullptr && metric->better == Better::higher;
    const bool none_is_over = slo.worst && slo.over == 0 && !is_over(*slo.worst, slo.limit, least);
    if (none_is_over) return kIfNoneIsOver * *slo.times_enough;
    return std::max(kLeast, kIfSomeAreOver * *slo.times_enough);
}

void count_over(std::vector<SloResult>& results, const std::vector<Slo>& slos, bool open_loop,
                const RequestRecord& request) {
    if (request.outcome == Outcome::abandoned) return;  // neither good nor bad
    for (std::size_t i = 0; i < slos.size(); ++i)
        if (results[i].note.empty() && !judged(slos[i], open_loop).of_jobs)
            results[i].over += request.outcome != Outcome::ok || !meets(request, slos[i], open_loop) ? 1 : 0;
}

std::string over_text(const SloResult& result) {
    std::string text = fmt::format("{} of {} {} miss it", result.over, result.n, unit_of(result));
    if (!result.worst || !(result.limit > 0)) return text;
    const Metric* const metric = metric_of(result);
    const bool least = metric != nullptr && metric->better == Better::higher;
    const bool failed = result.over > 0 && !is_over(*result.worst, result.limit, least);
    text += fmt::format("{} is at {} of it",
                        failed ? ", because they failed; the worst of the others" : ", the worst",
                        percent_text(*result.worst / result.limit));
    return text;
}

std::string slo_text(const RunResult& run, const SloResult& result) {
    const Metric* const metric = metric_of(result);
    const bool is_time = metric != nullptr && metric->unit == "s";
    const bool least = metric != nullptr && metric->better == Better::higher;
    const auto amount = [&](double value) {
        return is_time ? fmt::format("{} ms", number_text(value * 1e3)) : number_text(value);
    };
    const std::string_view units = unit_of(result);
    std::string text = result.key;
    text += result.value ? fmt::format(" is {}", amount(*result.value)) : std::string(" has no value");
    const std::string limit =
        fmt::format("the limit of {}{}", least ? "at least " : "", amount(result.limit));
    if (!result.note.empty())
        return fmt::format("{}: not held against {}, because {}", result.key, limit, result.note);
    const std::string over = over_text(result);
    if (result.verdict == SloVerdict::met) return fmt::format("{}: meets {} ({})", text, limit, over);
    if (result.verdict == SloVerdict::missed && result.shown) {
        const bool value_misses = result.value && is_over(*result.value, result.limit, least);
        if (!value_misses && !kept_up(run))
            return fmt::format("{}: counts as missing {}, because {}", text, limit, overload_text(run));
        return fmt::format("{}: misses {} ({})", text, limit,
                           value_misses ? over : fmt::format("{}; {} failed", over, units));
    }
    std::string evidence = fmt::format("the number of independent {} is not known", units);
    if (result.n_effective)
        evidence = *result.n_effective < 1
                       ? fmt::format("{} {} count as less than one independent one", result.n, units)
                       : fmt::format("{} {} count as {} independent ones", result.n, units,
                                     number_text(std::floor(*result.n_effective)));
    if (is_near_capacity(run, result))
        evidence +=
            "; the load is close to what the server can serve, so that its queue stays long or short for "
            "minutes, and a longer run hardly decides";
    else if (const auto times = times_to_offer(result))
        evidence += fmt::format("; about {} times as many may decide",
                                *times < 100 ? fmt::format("{:.2g}", *times) : fmt::format("{:.0f}", *times));
    if (result.verdict == SloVerdict::within)
        return fmt::format("{}: within {}, which is not shown at 99 % ({}; {})", text, limit, over, evidence);
    if (result.verdict == SloVerdict::missed)
        return fmt::format("{}: over {}, which is not shown at 99 % ({}; {})", text, limit, over, evidence);
    return fmt::format("{}: too few {} to tell anything about {} ({}; {}); measure more {} or a longer run",
                       text, units, limit, over, evidence, units);
}

SloVerdict worst_of(SloVerdict a, SloVerdict b) {
    for (const SloVerdict verdict : {SloVerdict::missed, SloVerdict::insufficient, SloVerdict::within})
        if (a == verdict || b == verdict) return verdict;
    return SloVerdict::met;
}

SloVerdict verdict_on_all(const std::vector<SloResult>& results) {
    SloVerdict all = SloVerdict::met;
    for (const SloResult& result : results) all = worst_of(all, result.verdict);
    return all;
}

std::string_view name_of(SloVerdict verdict) {
    switch (verdict) {
        case SloVerdict::met:
            return "met";
        case SloVerdict::within:
            return "within";
        case SloVerdict::missed:
            return "missed";
        case SloVerdict::insufficient:
            return "insufficient";
    }
    return "";
}

std::optional<SloVerdict> slo_verdict_named(std::string_view name) {
    if (name == "pass") return SloVerdict::met;  // in results of "paretoken/run/2"
    if (name == "fail") return SloVerdict::missed;
    for (const SloVerdict verdict :
         {SloVerdict::met, SloVerdict::within, SloVerdict::missed, SloVerdict::insufficient})
        if (name_of(verdict) == name) return verdict;
    return std::nullopt;
}

std::optional<bool> shown_on(const PercentileValue& percentile, double limit, bool higher_is_better) {
    if (!percentile.decided) return std::nullopt;
    const auto& [low, high] = *percentile.decided;
    const bool is_met = higher_is_better ? limit <= low : limit >= high;
    const bool is_missed = higher_is_better ? limit > high : limit < low;
    if (!is_met && !is_missed) return std::nullopt;
    return is_met;
}

const std::vector<Slo>& RequestSlos::of(const std::string& text) {
    const auto found = read_.find(text);
    if (found != read_.end()) return found->second;
    std::vector<Slo> slos;
    for (const std::string& one : slo_texts(text)) slos.push_back(parse_request_slo(one));
    return read_.emplace(text, std::move(slos)).first->second;
}

bool is_good(const RequestRecord& record, const std::vector<Slo>& slos, bool open_loop) {
    if (record.outcome != Outcome::ok) return false;
    return std::ranges::all_of(slos, [&](const Slo& slo) { return meets(record, slo, open_loop); });
}

}  // namespace paretoken
