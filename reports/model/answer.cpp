#include "reports/model/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/pages/table.h"

namespace paretoken::reports {
namespace {

bool is_better_answer(const ReportPoint& candidate, const ReportPoint& best) {
    if (candidate.certified != best.certified) return candidate.certified;
    return candidate.output_tokens_per_s > best.output_tokens_per_s;  // within one deployment: cheaper
}

std::string what_it_delivers(const ReportPoint& point) {
    if (point.cost)
        return fmt::format("at {} tok/s per user ${} per million output tokens",
                           significant(point.interactivity), dollars(point.cost->usd_per_m_output));
    return fmt::format("at {} tok/s per user {} output tok/s in all", significant(point.interactivity),
                       significant(point.output_tokens_per_s));
}

std::string what_the_hardware_could(const ReportPoint& point, const LimitPoint& floor) {
    if (point.cost && floor.usd_per_m_output)
        return fmt::format("; the hardware floor there is ${}", dollars(*floor.usd_per_m_output));
    return fmt::format("; the hardware limit there is {} tok/s", significant(floor.output_tokens_per_s));
}

std::string where_the_gap_goes(const Gap& gap) {
    constexpr double kMost = 0.5;
    if (gap.batch > kMost)
        return fmt::format("; most of the gap is batch shortfall ({} in flight, {} possible at that speed)",
                           significant(gap.requests_in_flight, 2), significant(gap.requests_possible, 2));
    if (gap.kernels > kMost)
        return "; most of the gap is what the fastest known kernels lose to the read ceiling";
    if (gap.no_overlap > kMost) return "; most of the gap is prefill that does not overlap decode";
    if (gap.unattributed > kMost) return "; most of the gap is not attributed";
    return "";
}

std::string how_far_to_trust(const Configuration& configuration) {
    std::size_t valid = 0;
    std::size_t warned = 0;
    std::string date;
    for (const ReportPoint& point : configuration.points) {
        const Verdict verdict = point.result.validity.verdict;
        valid += verdict != Verdict::invalid ? 1 : 0;
        warned += verdict == Verdict::warn ? 1 : 0;
        date = std::max(date, point.result.provenance.started_at.substr(0, 10));
    }
    const std::size_t all = configuration.points.size();
    const std::string points = fmt::format("{} point{}", all, all == 1 ? "" : "s");
    std::string text;
    if (valid == 0)
        text = fmt::format("Not valid: {}", points);
    else if (valid < all)
        text = fmt::format("{} of {} valid", valid, points);
    else
        text = fmt::format("{}, {}", warned > 0 ? "Valid with warnings" : "Valid", points);
    return date.empty() ? text + "." : text + ", " + date + ".";
}

/// A limit whose bandwidth is that of the kernels which were measured, at this load.
LimitInputs with_kernel_bandwidth(const LimitInputs& inputs, const Totals& work, double batch) {
    const double context = work.decoded_tokens > 0 ? work.decoded_context_tokens / work.decoded_tokens : 1;
    const ReachedBandwidth kernels = reached_bandwidth(inputs, batch, context);
    LimitInputs reached = inputs;
    if (kernels.weight_bytes_per_s && inputs.weight_bytes_per_s)
        reached.weight_bytes_per_s = std::min(*inputs.weight_bytes_per_s, *kernels.weight_bytes_per_s);
    if (kernels.kv_bytes_per_s && inputs.kv_bytes_per_s)
        reached.kv_bytes_per_s = std::min(*inputs.kv_bytes_per_s, *kernels.kv_bytes_per_s);
    return reached;
}

}  // namespace

const ReportPoint* answer_point(const Configuration& configuration) {
    const ReportPoint* best = nullptr;
    for (const ReportPoint& point : configuration.points)
        if (point.on_own_front && (best == nullptr || is_better_answer(point, *best))) best = &point;
    return best;
}

std::optional<Gap> gap_of(const ReportPoint& point, const LimitPoint& floor, const LimitInputs& inputs,
                          const Totals& work, double batch) {
    constexpr double kNear = 0.95;
    const auto hard_limit = limit_at(inputs, LimitKind::hard, work, batch);
    if (!hard_limit || !point.output_tokens_per_s) return {};
    const double measured = *point.output_tokens_per_s;
    if (measured >= kNear * floor.output_tokens_per_s) return {};
    const LimitInputs reached = with_kernel_bandwidth(inputs, work, batch);
    const auto rate = [&](LimitKind kind, double at_most) {
        const auto limit = limit_at(reached, kind, work, batch);
        // Held between its neighbours: what was reached all the same is no part of the gap.
        return std::clamp(limit ? limit->output_tokens_per_s : at_most, std::min(measured, at_most), at_most);
    };
    const double hard = std::clamp(hard_limit->output_tokens_per_s, measured, floor.output_tokens_per_s);
    const double kernels = rate(LimitKind::hard, hard);
    const double apart = rate(LimitKind::no_overlap, kernels);
    const double whole = std::log(floor.output_tokens_per_s / measured);
    return Gap{.batch = std::log(floor.output_tokens_per_s / hard) / whole,
               .kernels = std::log(hard / kernels) / whole,
               .no_overlap = std::log(kernels / apart) / whole,
               .unattributed = std::log(apart / measured) / whole,
               .requests_in_flight = batch,
               .requests_possible = floor.batch};
}

std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs) {
    const ReportPoint* point = answer_point(configuration);
    const std::string trust = how_far_to_trust(configuration);
    if (point == nullptr) return fmt::format("{}: no point can be used. {}", configuration.title, trust);
    std::string text = configuration.title + ": " + what_it_delivers(*point);
    if (inputs.floor) text += what_the_hardware_could(*point, *inputs.floor);
    if (inputs.gap) text += where_the_gap_goes(*inputs.gap);
    if (!point->certified) text += " (too few requests to certify that speed)";
    return text + ". " + trust;
}

}  // namespace paretoken::reports
