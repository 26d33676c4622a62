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
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

double requests_per_s(const ReportPoint& point) {
    return point.result.throughput.at(figure::kRequests).value_or(0);
}

/// The run of a configuration that completed the most requests per second within the limits, or null.
const ReportPoint* fullest_within(const Configuration& configuration, const std::vector<Slo>& slos) {
    const ReportPoint* fullest = nullptr;
    for (const ReportPoint& point : configuration.points)
        if (requests_per_s(point) > 0 && unfit_because(point, slos).empty() &&
            (fullest == nullptr || requests_per_s(point) > requests_per_s(*fullest)))
            fullest = &point;
    return fullest;
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
    row.shown = verdict_on_all(*point, slos) == SloVerdict::met;
    row.replicas = static_cast<std::uint64_t>(
        std::ceil(asked.requests_per_s / (row.requests_per_s * asked.target_utilization) * (1 - 1e-9)));
    row.machines = row.replicas * std::max(1U, point->result.provenance.hardware_count);
    row.utilization = asked.requests_per_s / (row.requests_per_s * static_cast<double>(row.replicas));
    row.queues = !point->open_loop;
    if (point->cost)
        row.usd_per_month =
            point->cost->usd_per_h * static_cast<double>(row.replicas) * cards::kHoursPerMonth;
    return row;
}

/// The order of the table: by cost, then by machines; rows without a run last.
std::tuple<bool, double, std::uint64_t> rank_of(const DemandRow& row) {
    return {!row.why_not.empty(), row.usd_per_month.value_or(std::numeric_limits<double>::infinity()),
            row.machines};
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
        "{} req/s need {} × {}{}", rate, best.replicas, model.configurations[best.configuration].title,
        best.usd_per_month ? fmt::format(", ${} per month", dollars(*best.usd_per_month)) : "");
}

std::string demand_sentence(const ReportModel& model) {
    const DemandTable& demand = *model.demand;
    const std::string title = demand_title(model);
    if (demand.ranked.empty() || !demand.ranked.front().why_not.empty()) return title + ".";
    const DemandRow& best = demand.ranked.front();
    std::string text =
        fmt::format("{}: each carries {} req/s within the limits ({}, {}), and {:.0f} % of that is used.",
                    title, significant(best.requests_per_s), best.load_label,
                    best.shown ? "proved at 99 % confidence"
                               : "measured, with too few requests to prove it at 99 % confidence",
                    best.utilization * 100);
    if (best.queues)
        text +=
            " The run had a fixed number of requests in flight. Requests that arrive at random also queue: "
            "leave a reserve with --target-utilization, or measure with --request-rate.";
    return text;
}

}  // namespace paretoken::reports
