#include "loadgen/load/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/result/metric_summary.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/spec.h"

namespace paretoken::loadgen {
namespace {

constexpr std::array kStopRules = {
    StopRow{"requests", "requests=N", "N measured requests were started", StopKind::requests},
    StopRow{"duration", "duration=60s", "this time has passed since the first measured request",
            StopKind::duration},
    StopRow{"tokens", "tokens=1M", "this many output tokens came", StopKind::tokens},
    StopRow{"errors", "errors=5%", "a larger share of at least 20 requests failed", StopKind::errors},
    StopRow{"precision", "precision:ttft_p99=10%",
            "half the 95 % interval of a percentile is at most this share of it", StopKind::precision},
    StopRow{"slo", "slo:ttft_p95:800", "the limit (as for --slo) is certainly missed", StopKind::slo},
    StopRow{"diverging", "diverging, diverging=off",
            "requests in flight and waiting times grow significantly (on where the rate of arrivals "
            "is constant)",
            StopKind::diverging},
};

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    std::string known;
    for (const StopRow& row : kStopRules) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.form);
    throw UsageError(fmt::format("'{}': {}; the rules are {}", text, why, known));
}

double share_of(std::string_view text, std::string_view share) {
    const bool percent = share.ends_with('%');
    if (percent) share.remove_suffix(1);
    const double value = parse_number(share) / (percent ? 100 : 1);
    if (!(value > 0) || value > 1) refuse(text, "a share lies above 0 % and at most at 100 %");
    return value;
}

/// Splits "ttft_p99" into its tag and 0.99.
void read_percentile(std::string_view text, std::string_view key, StopRule& rule) {
    const auto at = key.rfind("_p");
    if (at == std::string_view::npos) refuse(text, "a percentile is named like ttft_p99");
    rule.metric = key.substr(0, at);
    const std::string_view digits = key.substr(at + 2);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos ||
        digits[0] == '0')
        refuse(text, "a percentile is named like ttft_p99");
    rule.percentile = parse_number(fmt::format("0.{}", digits));
    if (std::ranges::find(kPercentiles, rule.percentile) == kPercentiles.end())
        refuse(text, fmt::format("p{} is not among the percentiles that are kept", digits));
    const Metric* metric = metric_named(rule.metric);
    if (metric == nullptr || metric->of_request == nullptr)
        refuse(text, fmt::format("'{}' is not a metric of single requests", rule.metric));
}

double count_of(std::string_view text, std::string_view value) {
    const auto count = static_cast<double>(parse_count(value));
    if (count < 1) refuse(text, "a count is at least 1");
    return count;
}

}  // namespace

std::span<const StopRow> stop_table() {
    return kStopRules;
}

std::string_view name_of(StopKind kind) {
    for (const StopRow& row : kStopRules) {
        if (row.kind == kind) return row.name;
    }
    return "";
}

StopRule parse_stop_rule(std::string_view text) {
    const auto name = text.substr(0, text.find_first_of(":="));
    const auto* const row = std::ranges::find(kStopRules, name, &StopRow::name);
    if (row == kStopRules.end()) refuse(text, "not a stop rule");
    std::string_view rest = text.substr(name.size());
    const bool detailed = row->kind == StopKind::precision || row->kind == StopKind::slo;
    StopRule rule;
    rule.kind = row->kind;
    rule.text = text;
    if (rule.kind == StopKind::diverging) {
        rule.off = rest == "=off";
        if (!rest.empty() && !rule.off && rest != "=on") refuse(text, "it is on or off");
        return rule;
    }
    if (rest.size() < 2 || rest.front() != (detailed ? ':' : '='))
        refuse(text, fmt::format("expected {}", row->form));
    rest.remove_prefix(1);
    switch (rule.kind) {
        case StopKind::requests:
        case StopKind::tokens:
            rule.limit = count_of(text, rest);
            break;
        case StopKind::duration:
            rule.limit = seconds(parse_duration(rest));
            if (rule.limit <= 0) refuse(text, "a duration is above 0");
            break;
        case StopKind::errors:
            rule.limit = share_of(text, rest);
            if (rule.limit == 1)
                refuse(text,
                       "more than 100 % of the requests cannot fail; errors=5% ends the load when more "
                       "than 5 % of at least 20 requests have failed");
            break;
        case StopKind::precision: {
            const auto equals = rest.find('=');
            if (equals == std::string_view::npos) refuse(text, fmt::format("expected {}", row->form));
            read_percentile(text, rest.substr(0, equals), rule);
            rule.limit = share_of(text, rest.substr(equals + 1));
            break;
        }
        case StopKind::slo: {
            // "ttft_p95>2s" is the condition of the end, and "ttft_p95<2s" and "ttft_p95:2s" are the limit.
            const auto sign = rest.find_first_of(":<>");
            if (sign == std::string_view::npos) refuse(text, fmt::format("expected {}", row->form));
            const Slo slo = parse_slo(fmt::format("{}:{}", rest.substr(0, sign), rest.substr(sign + 1)));
            if (!slo.p) refuse(text, "a percentile is named like ttft_p99");
            if (metric_named(slo.tag)->of_jobs)
                refuse(text, fmt::format("{} is known only when the run has ended", slo.tag));
            rule.metric = slo.tag;
            rule.percentile = *slo.p;
            rule.limit = slo.limit;
            break;
        }
        case StopKind::diverging:
            break;
    }
    return rule;
}

}  // namespace paretoken::loadgen
