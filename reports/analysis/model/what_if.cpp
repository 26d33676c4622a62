#include "reports/analysis/model/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cards/gpu.h"
#include "core/error.h"
#include "core/formats.h"
#include "reports/analysis/cost/cost.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw UsageError(fmt::format("--what-if {}: {}", text, why));
}

template <class T>
void set_once(std::optional<T>& field, T value, std::string_view text, std::string_view key) {
    if (field) refuse(text, fmt::format("{} is given twice", key));
    field = std::move(value);
}

double number(std::string_view value, std::string_view text, std::string_view key) {
    const std::string digits(value);
    char* end = nullptr;
    const double parsed = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(parsed))
        refuse(text, fmt::format("{}={} is not a number", key, value));
    return parsed;
}

std::string format_in(std::string_view value, std::string_view text) {
    try {
        return std::string(number_format(value).name);
    } catch (const UsageError& error) {
        refuse(text, error.what());
    }
}

void set(WhatIfSpec& spec, std::string_view key, std::string_view value) {
    const std::string_view text = spec.text;
    if (key == "gpu") {
        const cards::GpuSpec gpu = cards::parse_gpu_spec(value);
        set_once(spec.gpu, cards::gpu_card(gpu.name).name, text, key);
        if (gpu.count > 1) set_once(spec.tp, gpu.count, text, "the number of GPUs");
    } else if (key == "tp") {
        const double tp = number(value, text, key);
        constexpr double kMost = 1024;
        if (tp < 1 || tp > kMost || tp != std::floor(tp))
            refuse(text, fmt::format("tp={} must be a whole number of GPUs from 1 to {:.0f}", value, kMost));
        set_once(spec.tp, static_cast<std::uint32_t>(tp), text, key);
    } else if (key == "weights") {
        set_once(spec.weights, format_in(value, text), text, key);
    } else if (key == "kv") {
        set_once(spec.kv, format_in(value, text), text, key);
    } else if (key == "hit") {
        const double hit = number(value, text, key);
        if (hit < 0 || hit >= 1) refuse(text, fmt::format("hit={} must be a share from 0 to below 1", value));
        set_once(spec.hit, hit, text, key);
    } else {
        refuse(text, fmt::format("there is no \"{}\"; known are gpu, tp, weights, kv and hit", key));
    }
}

/// The attention pairs of prompts of which the share `hit` is cached, relative to prompts without a cache: (Σ
/// fresh · cached + fresh² / 2) ÷ (length² / 2).
double pairs_left(double hit) {
    return 1 - hit * hit;
}

}  // namespace

WhatIfSpec parse_what_if(std::string_view text) {
    WhatIfSpec spec{.text = std::string(text)};
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view field = rest.substr(0, comma);
        const std::size_t equals = field.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == field.size())
            refuse(text, fmt::format("\"{}\" is not KEY=VALUE, e.g. gpu=h100-sxm,weights=fp8,kv=fp8,tp=2,"
                                     "hit=.9",
                                     field));
        set(spec, field.substr(0, equals), field.substr(equals + 1));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (spec == WhatIfSpec{.text = spec.text}) refuse(text, "it names no change");
    return spec;
}

Totals with_hit(Totals work, double hit) {
    const double input = work.fresh_input_tokens + work.cached_input_tokens;
    const double before = input > 0 ? work.cached_input_tokens / input : 0;
    const double pairs = pairs_left(before) > 0 ? pairs_left(hit) / pairs_left(before) : 1;
    work.fresh_input_tokens = input * (1 - hit);
    work.cached_input_tokens = input * hit;
    work.prefill_pairs *= pairs;
    for (double& sum : work.prefill_pairs_within.within) sum *= pairs;
    work.decoded_cached_tokens =
        before > 0 ? work.decoded_cached_tokens * hit / before
                   : hit * (work.prompts > 0 ? work.decoded_tokens * input / work.prompts : 0);
    return work;
}

std::optional<double> simulated_change(const MeasuredLoad& load, SimulatedLoad here, SimulatedLoad there,
                                       std::optional<double> hit, const SimulatedRate& rate) {
    const Totals& work = load.work;
    const double input = work.fresh_input_tokens + work.cached_input_tokens;
    if (!(work.prompts > 0) || !(input > 0)) return {};
    for (SimulatedLoad* const one : {&here, &there}) {
        one->in_flight = load.batch;
        one->input_tokens = input / work.prompts;
        one->output_tokens = 1 + work.decoded_tokens / work.prompts;
        one->hit = work.cached_input_tokens / input;
    }
    there.hit = hit.value_or(there.hit);
    const auto before = rate(here);
    const auto after = before ? rate(there) : std::nullopt;
    if (!after || !(*before > 0) || !(*after > 0)) return {};
    return *after / *before;
}

std::vector<Estimate> estimates_of(const Configuration& configuration, const std::vector<MeasuredLoad>& loads,
                                   const WhatIfLimits& limits) {
    std::vector<Estimate> estimates;
    for (const MeasuredLoad& load : loads) {
        const ReportPoint& point = configuration.points[load.point];
        if (!point.output_tokens_per_s) continue;
        const Totals there_work = limits.hit ? with_hit(load.work, *limits.hit) : load.work;
        const auto here = limit_at(limits.here, LimitKind::hard, load.work, load.batch);
        const auto there = limit_at(limits.there, LimitKind::hard, there_work, load.batch);
        if (!here || !there) continue;
        const double measured = *point.output_tokens_per_s;
        const double share = load.simulated_change
                                 ? measured * *load.simulated_change / there->output_tokens_per_s
                                 : measured / here->output_tokens_per_s;
        Estimate estimate{.point = load.point,
                          .load_label = point.load_label,
                          .of_limit = std::min(1.0, share),
                          .output_tokens_per_s = std::min(1.0, share) * there->output_tokens_per_s,
                          .simulated = load.simulated_change.has_value()};
        if (point.interactivity)
            estimate.interactivity =
                *point.interactivity * estimate.output_tokens_per_s / *point.output_tokens_per_s;
        if (limits.usd_per_s)
            estimate.usd_per_m_output = usd_per_m_output(*limits.usd_per_s, estimate.output_tokens_per_s);
        estimates.push_back(std::move(estimate));
    }
    return estimates;
}

std::string what_if_sentence(const ReportModel& model, const WhatIf& what_if) {
    const std::string& from = model.configurations[what_if.configuration].title;
    if (!what_if.why_not.empty() || what_if.points.empty())
        return fmt::format("what if {}: no estimate for {}: {}", what_if.asked, from, what_if.why_not);
    const Estimate& best = *std::ranges::max_element(what_if.points, {}, &Estimate::output_tokens_per_s);
    std::string text = fmt::format("what if {}: {}: {} tok/s", what_if.asked, what_if.title,
                                   significant(best.output_tokens_per_s));
    if (best.interactivity) text += fmt::format(", {} tok/s per user", significant(best.interactivity));
    if (best.usd_per_m_output)
        text += fmt::format(", ${} per million output tokens", dollars(*best.usd_per_m_output));
    if (best.simulated)
        return fmt::format("{} at {} (estimated by simulated servers from what was measured on {})", text,
                           best.load_label, from);
    return fmt::format("{} at {} (estimated: {} % of the limit, as measured on {})", text, best.load_label,
                       significant(best.of_limit * 100), from);
}

}  // namespace paretoken::reports
