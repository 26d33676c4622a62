#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/analysis/model/join/demand.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

/// "23.5 (22.9–24.1)"
std::string rate_text(const DemandRow& row) {
    const std::string rate = significant(row.requests_per_s);
    if (!row.requests_per_s_ci95) return rate;
    return fmt::format("{} ({}–{})", rate, significant(std::max(0.0, row.requests_per_s_ci95->low)),
                       significant(row.requests_per_s_ci95->high));
}

Table table_of_demand(const ReportModel& model) {
    Table table{{{"Configuration", Align::left},
                 {"Deployments"},
                 {"GPUs or machines"},
                 {"$ per month"},
                 {"req/s of one (95 % interval)"},
                 {"Load", Align::left},
                 {"Used"},
                 {"Remark", Align::left}},
                {}};
    for (const DemandRow& row : model.demand->ranked) {
        const Configuration& configuration = model.configurations[row.configuration];
        table.titles.push_back({row.configuration, configuration.workload});
        if (!row.why_not.empty()) {
            table.rows.push_back({configuration.title, "–", "–", "–", "–", "", "–", row.why_not});
            continue;
        }
        std::string remark =
            row.shown ? ""
                      : "measured within the limits, with too few requests to prove it at 99 % confidence";
        const auto choice = std::ranges::find(model.choice.ranked, row.configuration, &Choice::configuration);
        if (choice != model.choice.ranked.end() && !choice->worse_than.empty())
            remark += fmt::format("{}answers certainly worse than those of {}", remark.empty() ? "" : "\n",
                                  choice->worse_than);
        table.rows.push_back(
            {configuration.title, fmt::format("{}", row.replicas), fmt::format("{}", row.machines),
             row.usd_per_month ? "$" + dollars(*row.usd_per_month) : "–", rate_text(row), row.load_label,
             fmt::format("{:.0f} %", row.utilization * 100), std::move(remark)});
    }
    return table;
}

}  // namespace

std::vector<Section> demand_sections(const ReportModel& model) {
    if (!model.demand) return {};
    const AskedDemand& asked = model.demand->asked;
    const std::string reserve =
        asked.target_utilization < 1
            ? fmt::format(" At most {:.0f} % of that is used.", asked.target_utilization * 100)
            : std::string();
    return {
        Section{"demand",
                fmt::format("What {} requests per second need", significant(asked.requests_per_s)),
                {{Paragraph{demand_sentence(model)}},
                 {table_of_demand(model)},
                 {Paragraph{"A deployment carries the requests per second of the run with the most of them "
                            "within the limits: the rate at which they arrived or, with a fixed number in "
                            "flight, the rate at which they were completed." +
                            reserve + " A month has 720 hours."}}}}};
}

}  // namespace paretoken::reports
