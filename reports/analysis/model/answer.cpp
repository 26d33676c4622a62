#include "reports/analysis/model/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/result/overload.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/model/gap.h"
#include "reports/analysis/model/quality.h"
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

/// Whether a limit is at a higher speed per user than was measured, because it ends at fewer requests in
/// flight.
bool is_faster(const LimitPoint& limit, const ReportPoint& point) {
    constexpr double kSame = 1.005;
    return limit.interactivity > kSame * point.interactivity.value_or(limit.interactivity);
}

/// How many requests are in flight at a limit, and what ends it if it is not the speed per user.
std::string at_how_many(const LimitPoint& limit, const ReportPoint& point, const AnswerInputs& inputs) {
    std::string text = fmt::format("{:.0f} requests in flight", limit.batch);
    if (limit.batch == inputs.most_computed) return text + ", the most for which this report computes it";
    return is_faster(limit, point) && limit.batch == inputs.most_in_memory
               ? text + ", as many as the memory holds"
               : text;
}

std::string what_the_hardware_could(const ReportPoint& point, const AnswerInputs& inputs) {
    const auto rate = [&](const LimitPoint& limit) {
        return point.cost && limit.usd_per_m_output ? "$" + dollars(*limit.usd_per_m_output)
                                                    : significant(limit.output_tokens_per_s) + " tok/s";
    };
    const LimitPoint& floor = *inputs.floor;
    if (inputs.without_slots && rate(floor) == rate(*inputs.without_slots))
        return fmt::format(
            ". At the same speed per user, the limit with the server's {:.0f} slots is {}, and more slots "
            "would not change it",
            floor.batch, rate(floor));
    if (!inputs.without_slots)
        return fmt::format(". At {}, the hardware's limit is {} with {}",
                           is_faster(floor, point)
                               ? fmt::format("{} tok/s per user", significant(floor.interactivity))
                               : "the same speed per user",
                           rate(floor), at_how_many(floor, point, inputs));
    return fmt::format(
        ". At the same speed per user, the limit with the server's {:.0f} slots is {}; the hardware could do "
        "{} with {}",
        floor.batch, rate(floor), rate(*inputs.without_slots),
        at_how_many(*inputs.without_slots, point, inputs));
}

/// A text that names the part of the gap that the report says to fix first; empty if there is none. Requests
/// that wait are no part of a gap to a limit that has fewer requests in flight because of its memory.
std::string where_the_gap_goes(const Gap& gap, const AnswerInputs& inputs) {
    const GapPart* const part = first_to_fix(gap);
    if (part == nullptr) return "";
    if (part->name == kBatchPart && inputs.floor && !inputs.without_slots &&
        inputs.floor->batch < gap.in_flight)
        return "";
    constexpr double kMost = 0.5;
    const double beyond = gap.step_ms - gap.parts.front().ms.value_or(0);
    return fmt::format("; of the time that a step of this load takes beyond its own limit, {} is {}",
                       certain_ms(gap, *part) > kMost * beyond ? "most" : "the largest part",
                       part->name == kResidualPart ? "not attributed" : part->name);
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

/// Whether every run of the report is one of a search.
bool is_about(const ReportModel& model, const SearchPicture& search) {
    namespace fs = std::filesystem;
    const fs::path directory = fs::path(search.directory).lexically_normal();
    return std::ranges::all_of(model.configurations, [&](const Configuration& configuration) {
        return std::ranges::all_of(configuration.points, [&](const ReportPoint& point) {
            const fs::path parent = fs::path(point.directory).lexically_normal().parent_path();
            return (parent.empty() ? fs::path(".") : parent) == directory;
        });
    });
}

}  // namespace

std::string price_text(const PointCost& cost) {
    return fmt::format("{} at ${} per hour{}", cost.priced_as, dollars(cost.usd_per_h),
                       earning_text(cost.earning_share));
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
    if (inputs.floor) text += what_the_hardware_could(*point, inputs);
    if (point->gap) text += where_the_gap_goes(*point->gap, inputs);
    text += '.';
    if (!point->certified) text += fmt::format(" The speed per user is not certified: {}.", kWhyUncertified);
    if (!point->missed_own_slo.empty()) text += fmt::format(" This run {}.", point->missed_own_slo);
    if (configuration.quality) text += " " + quality_text(*configuration.quality, inputs.worse_than);
    return text + " " + trust;
}

std::string answer_title(const ReportModel& model) {
    const auto parsed = [](const std::string& text) { return parse_slo(text, SloPercentiles::any); };
    if (model.searches.size() == 1 && is_about(model, model.searches.front()) &&
        std::ranges::is_permutation(model.searches.front().slos, model.choice.slos, {}, parsed, parsed)) {
        const std::string& text = model.searches.front().text;
        return text.substr(0, std::min(text.find(". "), text.size() - 1));
    }
    const std::vector<Choice>& ranked = model.choice.ranked;
    const auto about_slo = [](const ReportPoint* point) {
        return point == nullptr || point->missed_own_slo.empty()
                   ? ""
                   : fmt::format("; this run {}", point->missed_own_slo);
    };
    if (model.configurations.size() > 1 && !ranked.empty() && ranked.front().usd_per_m_output) {
        const std::size_t first = ranked.front().configuration;
        const Configuration& best = model.configurations[first];
        const bool is_of_one_workload = !choices_differ(model, &Configuration::workload);
        return fmt::format("${} per million output tokens: {}{}{}{}",
                           dollars(*ranked.front().usd_per_m_output), best.title,
                           is_of_one_workload ? "" : fmt::format(" ({})", best.workload),
                           worse_answers_clause(model, first), about_slo(answer_point(best)));
    }
    const ReportPoint* const point =
        model.configurations.size() == 1 ? answer_point(model.configurations.front()) : nullptr;
    if (point == nullptr || !point->cost) return "Cost and performance";
    return fmt::format("${} per million output tokens at {} tok/s per user{}",
                       dollars(point->cost->usd_per_m_output), significant(point->interactivity),
                       about_slo(point));
}

}  // namespace paretoken::reports
