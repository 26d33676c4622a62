#include <fmt/format.h>

#include "reports/analysis/model/join/demand.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

Table table_of_demand(const ReportModel& model) {
    Table table{{{"Configuration", Align::left},
                 {"Deployments"},
                 {"GPUs or machines"},
                 {"$ per month"},
                 {"req/s of one"},
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
        table.rows.push_back(
            {configuration.title, fmt::format("{}", row.replicas), fmt::format("{}", row.machines),
             row.usd_per_month ? "$" + dollars(*row.usd_per_month) : "–", significant(row.requests_per_s),
             row.load_label, fmt::format("{:.0f} %", row.utilization * 100),
             row.shown ? ""
                       : "measured within the limits, with too few requests to prove it at 99 % confidence"});
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
                 {Paragraph{"A deployment carries the requests per second of the run that completed the most "
                            "of them within the limits." +
                            reserve + " A month has 720 hours."}}}}};
}

}  // namespace paretoken::reports
