#include "reports/analysis/model/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cards/gpu.h"
#include "core/error.h"
#include "core/formats.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/choice.h"
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

double tokens_per_request(const Totals& work) {
    return 1 + (work.prompts > 0 ? work.decoded_tokens / work.prompts : 0);
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

std::optional<LoadChange> simulated_change(const MeasuredLoad& load, SimulatedLoad here, SimulatedLoad there,
                                           std::optional<double> hit, const SimulatedRate& rate) {
    const Totals& work = load.work;
    const double input = work.fresh_input_tokens + work.cached_input_tokens;
    if (!(work.prompts > 0) || !(input > 0)) return {};
    const auto rounded = [](double in_flight) { return std::max(1.0, std::round(in_flight)); };
    for (SimulatedLoad* const one : {&here, &there}) {
        one->in_flight = rounded(load.batch);
        if (load.kept_up) one->arrivals_per_s = load.arrivals_per_s;
        one->input_tokens = input / work.prompts;
        one->output_tokens = tokens_per_request(work);
        one->hit = work.cached_input_tokens / input;
    }
    there.hit = hit.value_or(there.hit);
    if (load.pauses > 0) {
        // By Little's law a pause is to the time of a request as those that pause are to those in flight.
        const auto busy = rate(here);
        if (!busy || !(busy->output_tokens_per_s > 0)) return {};
        const double request_s = here.in_flight * here.output_tokens / busy->output_tokens_per_s;
        for (SimulatedLoad* const one : {&here, &there}) {
            one->in_flight = rounded(load.batch + load.pauses);
            one->pause_s = request_s * load.pauses / load.batch;
        }
    }
    const auto before = rate(here);
    const auto after = before ? rate(there) : std::nullopt;
    if (!after || !(before->output_tokens_per_s > 0) || !(after->output_tokens_per_s > 0)) return {};
    LoadChange change{.rate = after->output_tokens_per_s / before->output_tokens_per_s};
    if (!here.arrivals_per_s && !(load.pauses > 0)) {
        change.interactivity = change.rate;  // as many in flight
        return change;
    }
    if (before->in_flight > 0) change.in_flight = after->in_flight / before->in_flight;
    if (!here.arrivals_per_s || (before->keeps_up && after->keeps_up))
        if (before->interactivity && after->interactivity && *before->interactivity > 0)
            change.interactivity = *after->interactivity / *before->interactivity;
    if (here.arrivals_per_s) {
        change.keeps_up = after->keeps_up || change.rate >= 1;
        change.rate = change.keeps_up ? 1 : std::min(1.0, change.rate);
    }
    return change;
}

namespace {

/// The change of a load whose rate would change by the factor `faster` with as many requests in flight;
/// nothing for arrivals that a slower server would have to answer with more of them in flight.
std::optional<LoadChange> change_by_limits(const MeasuredLoad& load, double faster) {
    if (load.arrivals_per_s && load.kept_up) {
        if (faster < 1) return {};
        return LoadChange{.rate = 1, .in_flight = 1 / faster, .interactivity = faster};
    }
    if (load.pauses > 0) {
        const double rate = (load.batch + load.pauses) / (load.batch / faster + load.pauses);
        return LoadChange{.rate = rate, .in_flight = rate / faster, .interactivity = faster};
    }
    return LoadChange{.rate = faster, .interactivity = faster};
}

std::optional<Estimate> estimate_of(const ReportPoint& point, const MeasuredLoad& load,
                                    const WhatIfLimits& limits) {
    if (!point.output_tokens_per_s) return {};
    const double measured = *point.output_tokens_per_s;
    const Totals there_work = limits.hit ? with_hit(load.work, *limits.hit) : load.work;
    const auto limit_there = [&](double batch) {
        return limit_at(limits.there, LimitKind::hard, there_work, std::max(1.0, batch));
    };
    const auto here = limit_at(limits.here, LimitKind::hard, load.work, load.batch);
    const auto same_batch = limit_at(limits.there, LimitKind::hard, there_work, load.batch);
    if (!here || !same_batch) return {};
    const auto change = load.simulated_change
                            ? load.simulated_change
                            : change_by_limits(load, std::min(1.0, measured / here->output_tokens_per_s) *
                                                         same_batch->output_tokens_per_s / measured);
    if (!change) return {};
    const auto limit_of_change =
        change->in_flight == 1 ? same_batch : limit_there(load.batch * change->in_flight);
    if (!limit_of_change) return {};
    const double limit = limit_of_change->output_tokens_per_s;
    const bool arrivals_set_the_rate = load.arrivals_per_s && load.kept_up && change->keeps_up;
    const double within_limit = arrivals_set_the_rate ? 1 : std::min(1.0, limit / (measured * change->rate));
    Estimate estimate{.point = load.point,
                      .load_label = point.load_label,
                      .output_tokens_per_s = measured * change->rate * within_limit,
                      .simulated = load.simulated_change.has_value(),
                      .keeps_up = change->keeps_up};
    if (load.arrivals_per_s && !load.kept_up) {  // a part of each request's time was a queue that grew
        const double arriving = *load.arrivals_per_s * tokens_per_request(load.work);
        estimate.keeps_up = estimate.output_tokens_per_s >= arriving;
        estimate.output_tokens_per_s = std::min(estimate.output_tokens_per_s, arriving);
    } else if (point.interactivity && change->interactivity) {
        estimate.interactivity = *point.interactivity * *change->interactivity * within_limit;
    }
    estimate.of_limit = std::min(1.0, estimate.output_tokens_per_s / limit);
    if (limits.usd_per_s)
        estimate.usd_per_m_output = usd_per_m_output(*limits.usd_per_s, estimate.output_tokens_per_s);
    return estimate;
}

}  // namespace

std::vector<Estimate> estimates_of(const Configuration& configuration, const std::vector<MeasuredLoad>& loads,
                                   const WhatIfLimits& limits) {
    std::vector<Estimate> estimates;
    for (const MeasuredLoad& load : loads)
        if (auto estimate = estimate_of(configuration.points[load.point], load, limits))
            estimates.push_back(*std::move(estimate));
    return estimates;
}

std::string note_on(const Estimate& estimate, const ReportModel& model, const WhatIf& what_if) {
    if (!estimate.keeps_up) return "it does not keep up with the arrivals";
    const ReportPoint& point = model.configurations[what_if.configuration].points[estimate.point];
    if (point.limits != SloVerdict::missed) return "";
    std::vector<Slo> slos;
    for (const std::string& text : model.choice.slos) slos.push_back(parse_slo(text, SloPercentiles::any));
    return fmt::format("the measured run {}", missed_slo(point, slos));
}

std::string what_if_sentence(const ReportModel& model, const WhatIf& what_if) {
    const Configuration& from = model.configurations[what_if.configuration];
    if (!what_if.why_not.empty() || what_if.points.empty())
        return fmt::format("what if {}: no estimate for {}: {}", what_if.asked, from.title, what_if.why_not);
    const ReportPoint* const answer = answer_point(from);
    auto chosen = std::ranges::find_if(
        what_if.points, [&](const Estimate& estimate) { return answer == &from.points[estimate.point]; });
    if (chosen == what_if.points.end())
        chosen = std::ranges::max_element(what_if.points, {}, &Estimate::output_tokens_per_s);
    std::string text = fmt::format("what if {}: {}: {} tok/s", what_if.asked, what_if.title,
                                   significant(chosen->output_tokens_per_s));
    if (chosen->interactivity) text += fmt::format(", {} tok/s per user", significant(chosen->interactivity));
    if (chosen->usd_per_m_output)
        text += fmt::format(", ${} per million output tokens", dollars(*chosen->usd_per_m_output));
    text += " at " + chosen->load_label;
    if (const std::string note = note_on(*chosen, model, what_if); !note.empty()) text += "; " + note;
    if (chosen->simulated)
        return fmt::format("{} (estimated by simulated servers from what was measured on {})", text,
                           from.title);
    return fmt::format("{} (estimated: {} % of the limit there, from what was measured on {})", text,
                       significant(chosen->of_limit * 100), from.title);
}

}  // namespace paretoken::reports
