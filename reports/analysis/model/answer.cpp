#include "reports/analysis/model/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result/validity.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/model/gap.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

std::string what_it_delivers(const ReportPoint& point) {
    const std::string served = served_text(point.result);
    const std::string load =
        served.empty() ? point.load_label : fmt::format("{} ({})", point.load_label, served);
    if (point.cost)
        return fmt::format("${} per million output tokens at {} tok/s per user, {} ({})",
                           dollars(point.cost->usd_per_m_output), significant(point.interactivity), load,
                           price_text(*point.cost));
    return fmt::format("{} output tok/s in all at {} tok/s per user, {}",
                       significant(point.output_tokens_per_s), significant(point.interactivity), load);
}

std::string what_the_hardware_could(const ReportPoint& point, const LimitPoint& floor) {
    const std::string what = point.cost && floor.usd_per_m_output
                                 ? "$" + dollars(*floor.usd_per_m_output)
                                 : significant(floor.output_tokens_per_s) + " tok/s";
    return fmt::format(
        ". At the same speed per user, the hardware's limit is {} with {:.0f} requests in flight", what,
        floor.batch);
}

/// A text that names the part that is more than half of the step's time beyond the limit; empty if there is
/// none, or if the step is near the limit. A step counts the requests that wait for a slot. They are left out
/// if the limit has fewer requests in flight, too: both throughputs are then without them.
std::string where_the_gap_goes(const Gap& gap, const std::optional<LimitPoint>& floor) {
    constexpr double kMost = 0.5;
    constexpr double kNear = 0.95;
    const double limit = gap.parts.front().ms.value_or(0);
    const auto is_left_out = [&](const GapPart& part) {
        return part.name == kBatchPart && floor && floor->batch < gap.in_flight;
    };
    double step = gap.step_ms;
    for (const GapPart& part : gap.parts)
        if (is_left_out(part)) step -= part.ms.value_or(0);
    if (limit >= kNear * step) return "";
    for (std::size_t i = 1; i < gap.parts.size(); ++i)
        if (!is_left_out(gap.parts[i]) && gap.parts[i].ms.value_or(0) > kMost * (step - limit))
            return fmt::format("; most of the gap is {}",
                               gap.parts[i].name == kResidualPart ? "not attributed" : gap.parts[i].name);
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
    if (const std::string& other = configuration.points.front().result.provenance.measured_by; !other.empty())
        text += ", measured by " + other;
    return date.empty() ? text + "." : text + ", " + date + ".";
}

}  // namespace

std::string price_text(const PointCost& cost) {
    return fmt::format("{} at ${} per hour", cost.priced_as, dollars(cost.usd_per_h));
}

const ReportPoint* answer_point(const Configuration& configuration) {
    const ReportPoint* const shown = cheapest_fitting(configuration, true);
    return shown != nullptr ? shown : cheapest_fitting(configuration, false);
}

std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs) {
    const ReportPoint* point = answer_point(configuration);
    const std::string trust = how_far_to_trust(configuration);
    if (point == nullptr)
        return fmt::format("{}: no point can be used; {}. {}", configuration.title,
                           why_none_fits(configuration, inputs.slos), trust);
    std::string text = configuration.title + ": " + what_it_delivers(*point);
    if (inputs.floor) text += what_the_hardware_could(*point, *inputs.floor);
    if (point->gap) text += where_the_gap_goes(*point->gap, inputs.floor);
    text += '.';
    if (!point->certified) text += fmt::format(" The speed per user is not certified: {}.", kWhyUncertified);
    return text + " " + trust;
}

}  // namespace paretoken::reports
