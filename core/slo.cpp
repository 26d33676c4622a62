#include "core/slo.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/metrics.h"
#include "core/spec.h"

namespace paretoken {
namespace {

/// The tag behind what users of other tools write.
std::string_view canonical(std::string_view tag) {
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

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Times in milliseconds unless they carry a unit; everything else in the metric's own unit.
double parse_limit(const Metric& metric, std::string_view text) {
    if (metric.unit.substr(0, 1) == "s") {  // "s", "s_per_tok"
        return seconds(parse_duration(is_number(text) ? std::string(text) + "ms" : std::string(text)));
    }
    const Spec spec{std::string(metric.tag), {{"limit", std::string(text)}}};
    return spec.number("limit");
}

/// In an open loop users wait from the moment they meant to start, and limits hold for that.
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

}  // namespace

Slo parse_slo(std::string_view text) {
    const auto colon = text.find(':');
    const auto tag = canonical(text.substr(0, colon));
    const Metric* metric = metric_named(tag);
    if (colon == std::string_view::npos) {
        throw UsageError(
            fmt::format("SLO '{}': expected TAG:LIMIT, e.g. ttft:500 (milliseconds) or ttft:0.5s", text));
    }
    if (metric == nullptr) {
        throw UsageError(
            fmt::format("SLO '{}': there is no metric '{}'; known: {}", text, tag, known_tags()));
    }
    if (!can_limit(*metric)) {
        throw UsageError(fmt::format(
            "SLO '{}': {} is pooled over requests and cannot judge one; use tpot or stall", text, tag));
    }
    return {std::string(tag), parse_limit(*metric, text.substr(colon + 1))};
}

std::string_view name_of(SloVerdict verdict) {
    switch (verdict) {
        case SloVerdict::pass:
            return "pass";
        case SloVerdict::fail:
            return "fail";
        case SloVerdict::insufficient:
            return "insufficient";
    }
    return "";
}

SloVerdict verdict_on(const PercentileValue& percentile, double limit, bool higher_is_better) {
    if (!percentile.decided) return SloVerdict::insufficient;
    const auto& [low, high] = *percentile.decided;
    if (higher_is_better) {
        if (limit <= low) return SloVerdict::pass;
        return limit > high ? SloVerdict::fail : SloVerdict::insufficient;
    }
    if (limit >= high) return SloVerdict::pass;
    return limit < low ? SloVerdict::fail : SloVerdict::insufficient;
}

bool is_good(const RequestRecord& record, const std::vector<Slo>& slos, bool open_loop) {
    if (record.outcome != Outcome::ok) return false;
    return std::all_of(slos.begin(), slos.end(),
                       [&](const Slo& slo) { return meets(record, slo, open_loop); });
}

}  // namespace paretoken
