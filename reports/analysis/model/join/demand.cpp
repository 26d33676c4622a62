#include "reports/analysis/model/join/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "cards/price.h"
#include "core/result/figures.h"
#include "core/stable_sort.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/model/quality.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

/// The rate that a deployment carries: in an open loop that of the arrivals, with which unfit_because() says
/// whether it kept up; else the completed requests, whose number in the window depends on chance.
double requests_per_s(const ReportPoint& point) {
    return point.open_loop && point.load > 0 ? point.load
                                             : point.result.throughput.at(figure::kRequests).value_or(0);
}

/// The run of a configuration that carried the most requests per second within the limits, or null.
const ReportPoint* fullest_within(const Configuration& configuration, const std::vector<Slo>& slos) {
    const ReportPoint* fullest = nullptr;
    for (const ReportPoint& point : configuration.points)
        if (requests_per_s(point) > 0 && unfit_because(point, slos).empty() &&
            (fullest == nullptr || requests_per_s(point) > requests_per_s(*fullest)))
            fullest = &point;
    return fullest;
}

/// The deployments of which each carries so many requests per second.
std::uint64_t replicas_at(double requests_per_s, const AskedDemand& asked) {
    return static_cast<std::uint64_t>(
        std::ceil(asked.requests_per_s / (requests_per_s * asked.target_utilization) * (1 - 1e-9)));
}

DemandRow row_of(const Configuration& configuration, std::size_t index, const std::vector<Slo>& slos,
                 const AskedDemand& asked) {
    DemandRow row{.configuration = index};
    const ReportPoint* const point = fullest_within(configuration, slos);
    if (point == nullptr) {
        row.why_not = configuration.points.empty()
                          ? "no run"
                          : fmt::format("{}: {}", configuration.points.front().load_label,
                                        unfit_because(configuration.points.front(), slos));
        return row;
    }
    row.load_label = point->load_label;
    row.requests_per_s = requests_per_s(*point);
    if (!point->open_loop) row.requests_per_s_ci95 = point->result.throughput.interval(figure::kRequests);
    row.shown = verdict_on_all(*point, slos) == SloVerdict::met;
    row.replicas = replicas_at(row.requests_per_s, asked);
    const auto& interval = row.requests_per_s_ci95;
    row.most_replicas = interval && interval->low > 0 ? replicas_at(interval->low, asked) : row.replicas;
    row.machines = row.replicas * std::max(1U, point->result.provenance.hardware_count);
    row.utilization = asked.requests_per_s / (row.requests_per_s * static_cast<double>(row.replicas));
    row.queues = !point->open_loop;
    if (point->cost)
        row.usd_per_month =
            point->cost->usd_per_h * static_cast<double>(row.replicas) * cards::kHoursPerMonth;
    return row;
}

/// " (95 % interval 22.9 to 24.1)"; empty without an interval.
std::string interval_text(const DemandRow& row) {
    const auto& interval = row.requests_per_s_ci95;
    return interval ? fmt::format(" (95 % interval {} to {})", significant(std::max(0.0, interval->low)),
                                  significant(interval->high))
                    : "";
}

/// The order of the table: by cost, then by machines; rows without a run last.
std::tuple<bool, double, std::uint64_t> rank_of(const DemandRow& row) {
    return {!row.why_not.empty(), row.usd_per_month.value_or(std::numeric_limits<double>::infinity()),
            row.machines};
}

/// Whether deployments that are compared serve other models or number formats than the best one, and nothing
/// is known of how well they answer.
bool compares_other_answers(const ReportModel& model) {
    const DemandTable& demand = *model.demand;
    const Configuration& best = model.configurations[demand.ranked.front().configuration];
    return !demand.asked.quality_equal && std::ranges::any_of(demand.ranked, [&](const DemandRow& row) {
        const Configuration& other = model.configurations[row.configuration];
        const bool differs = other.served != best.served || other.precision != best.precision;
        return row.why_not.empty() && differs && !are_comparable(best.quality, other.quality);
    });
}

}  // namespace

DemandTable demand_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                      const AskedDemand& asked) {
    DemandTable table{.asked = asked};
    for (std::size_t i = 0; i < configurations.size(); ++i)
        table.ranked.push_back(row_of(configurations[i], i, slos, asked));
    sort_stably(table.ranked, [](const DemandRow& a, const DemandRow& b) { return rank_of(a) < rank_of(b); });
    return table;
}

std::string demand_title(const ReportModel& model) {
    const DemandTable& demand = *model.demand;
    const std::string rate = significant(demand.asked.requests_per_s);
    if (demand.ranked.empty() || !demand.ranked.front().why_not.empty())
        return fmt::format(
            "No configuration carries requests within the limits, so that {} req/s cannot be planned", rate);
    const DemandRow& best = demand.ranked.front();
    return fmt::format(
        "{} req/s need {} × {}{}{}", rate, best.replicas, model.configurations[best.configuration].title,
        worse_answers_clause(model, best.configuration),
        best.usd_per_month ? fmt::format(", ${} per month", dollars(*best.usd_per_month)) : "");
}

std::string demand_sentence(const ReportModel& model) {
    const DemandTable& demand = *model.demand;
    const std::string title = demand_title(model);
    if (demand.ranked.empty() || !demand.ranked.front().why_not.empty()) return title + ".";
    const DemandRow& best = demand.ranked.front();
    std::string text =
        fmt::format("{}: each carries {} req/s{} within the limits ({}, {}), and {:.0f} % of that is used.",
                    title, significant(best.requests_per_s), interval_text(best), best.load_label,
                    best.shown ? "proved at 99 % confidence"
                               : "measured, with too few requests to prove it at 99 % confidence",
                    best.utilization * 100);
    const std::vector<ReportPoint>& points = model.configurations[best.configuration].points;
    const auto point = std::ranges::find(points, best.load_label, &ReportPoint::load_label);
    if (point != points.end() && point->cost && point->cost->earning_share < 1)
        text += fmt::format(
            " That month is paid whole, while the price per token assumes that {} % of the time earns.",
            significant(point->cost->earning_share * 100));
    if (best.most_replicas > best.replicas)
        text += fmt::format(" With the lower end of the interval, {} are needed.", best.most_replicas);
    if (best.queues && !best.requests_per_s_ci95)
        text += " The run is too short to know how far chance moved this rate: measure this load for longer.";
    if (best.queues)
        text +=
            " The run had a fixed number of requests in flight. Requests that arrive at random also queue: "
            "leave a reserve with --target-utilization, or measure with --request-rate.";
    if (compares_other_answers(model))
        text +=
            " The configurations serve different models or number formats, and how well they answer is not "
            "compared: --quality FILE adds measured quality, and --quality same says that it is equal.";
    return text;
}

}  // namespace paretoken::reports
