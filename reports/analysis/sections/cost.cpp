#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

std::string cell(const std::optional<double>& usd) {
    return usd ? dollars(*usd) : "–";
}

/// The chosen run of a configuration with its cost; null if no run was chosen, or if it has no price.
const ReportPoint* priced_run(const Configuration& configuration, const Choice& choice) {
    const auto found = std::ranges::find_if(configuration.points, [&](const ReportPoint& point) {
        return point.load_label == choice.load_label && point.cost;
    });
    return found == configuration.points.end() ? nullptr : &*found;
}

Table cost_table(const ReportModel& model) {
    Table table{{{"Configuration", Align::left},
                 {"Load", Align::left},
                 {"All costs on output"},
                 {"All alike"},
                 {"Fresh input"},
                 {"Cached input"},
                 {"Output"},
                 {"Good output"}},
                {}};
    for (const Choice& one : model.choice.ranked) {
        const Configuration& configuration = model.configurations[one.configuration];
        const ReportPoint* const point = priced_run(configuration, one);
        if (point == nullptr) continue;
        const PointCost& cost = *point->cost;
        table.titles.push_back({one.configuration, configuration.workload});
        table.rows.push_back({configuration.title, point->load_label, dollars(cost.usd_per_m_output),
                              cell(cost.usd_per_m_total), cell(cost.usd_per_m_input_split),
                              cell(cost.usd_per_m_cached_split), cell(cost.usd_per_m_output_split),
                              cell(cost.usd_per_m_goodput)});
    }
    return table;
}

Facts facts_of(const ReportModel& model, const CostSheet& sheet) {
    const Configuration& chosen = model.configurations[sheet.configuration];
    const bool is_only = std::ranges::count(model.configurations, chosen.title, &Configuration::title) == 1;
    Facts facts{{{"The chosen deployment", fmt::format("{} at {}{}", chosen.title, sheet.load_label,
                                                       is_only ? "" : fmt::format(" ({})", chosen.workload))},
                 {"Output tokens per dollar", significant(sheet.output_tokens_per_usd)},
                 {"Its rent, per month of 720 h", "$" + significant(sheet.usd_per_month)}}};
    if (sheet.target_usd_per_m)
        facts.items.emplace_back(fmt::format("Output tok/s for ${} per M", dollars(*sheet.target_usd_per_m)),
                                 significant(sheet.needed_output_tokens_per_s));
    if (model.measurement_usd)
        facts.items.emplace_back("What all runs of this report cost", "$" + dollars(*model.measurement_usd));
    return facts;
}

Table api_table(const std::vector<ApiLine>& apis) {
    Table table{{{"API", Align::left},
                 {"Prices of", Align::left},
                 {"Fresh input"},
                 {"Cached input"},
                 {"Output"},
                 {"At this mix"},
                 {"With writes"},
                 {"Break-even, billion tokens/month"}},
                {}};
    for (const ApiLine& api : apis)
        table.rows.push_back({api.name, api.as_of, dollars(api.input), cell(api.cached), dollars(api.output),
                              dollars(api.usd_per_m_at_mix), cell(api.usd_per_m_with_writes),
                              api.break_even_tokens_per_month
                                  ? significant(*api.break_even_tokens_per_month / 1e9)
                                  : "never: more tokens than it can generate"});
    return table;
}

Part apis_of(const ReportModel& model, const CostSheet& sheet) {
    const std::string cached = sheet.hit ? fmt::format(", {:.0f} % of input cached", *sheet.hit * 100) : "";
    return {.title = fmt::format("Beside hosted APIs, at {} : {} tokens{}", tokens_text(sheet.input_tokens),
                                 tokens_text(sheet.output_tokens), cached),
            .blocks = {{Paragraph{fmt::format(
                           "{} at {} costs ${} per million tokens of this mix. Above the break-even "
                           "the deployment is cheaper. “At this mix” assumes that nothing is written to the "
                           "API's cache. “With writes” assumes that all fresh input is written and kept for "
                           "the cache's lifetime. The true price lies between them.",
                           model.configurations[sheet.configuration].title, sheet.load_label,
                           dollars(sheet.usd_per_m_total))}},
                       {api_table(sheet.apis)}}};
}

}  // namespace

std::vector<Section> cost_sections(const ReportModel& model) {
    Table table = cost_table(model);
    if (table.rows.empty()) return {};
    Section section{
        "cost",
        "What tokens cost",
        {{Paragraph{fmt::format("The table has dollars per million tokens for the chosen run of each "
                                "configuration. The prices of fresh input, cached input and output together "
                                "cover the whole cost; their ratios follow this rule: {}.",
                                model.split_source)}},
         {std::move(table)}}};
    if (model.cost) {
        section.blocks.push_back({facts_of(model, *model.cost)});
        if (!model.cost->apis.empty()) section.blocks.push_back({apis_of(model, *model.cost)});
    }
    return {std::move(section)};
}

}  // namespace paretoken::reports
