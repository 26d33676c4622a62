#include "reports/analysis/model/what_if.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {

std::vector<Section> what_if_sections(const ReportModel& model) {
    if (model.what_ifs.empty()) return {};
    Table table{{{"Estimated", Align::left},
                 {"Load", Align::left},
                 {"% of limit"},
                 {"tok/s"},
                 {"tok/s per user"},
                 {"$ per M output"}},
                {}};
    Notices notices;
    bool noted = false;
    for (const WhatIf& what_if : model.what_ifs) {
        const Configuration& from = model.configurations[what_if.configuration];
        const std::string& name = from.name.empty() ? from.title : from.name;
        for (const Estimate& estimate : what_if.points) {
            table.titles.push_back({what_if.configuration, fmt::format("{}, from {}", what_if.asked, name)});
            table.rows.push_back({what_if.title, estimate.load_label, significant(estimate.of_limit * 100),
                                  significant(estimate.output_tokens_per_s),
                                  significant(estimate.interactivity),
                                  estimate.usd_per_m_output ? dollars(*estimate.usd_per_m_output) : "–",
                                  note_on(estimate, model, what_if)});
            noted = noted || !table.rows.back().back().empty();
        }
        if (!what_if.why_not.empty()) notices.items.push_back({what_if_sentence(model, what_if)});
    }
    if (noted)
        table.columns.push_back({"Note", Align::left});
    else
        for (std::vector<std::string>& row : table.rows) row.pop_back();
    Section section{
        "what-if",
        "What if",
        {{Paragraph{"These values are estimated, not measured. An estimate is the measured rate × "
                    "the rate of a simulated server of the imagined deployment ÷ that of a "
                    "simulated server of the measured one, and at most the hard limit. Where "
                    "one of them cannot be simulated, it is the hard limit × the share of the "
                    "hard limit that the run reached. Arrivals with which a server keeps up set "
                    "the rate, and only the speed per user changes. Estimates are not on any "
                    "front."}}}};
    if (!table.rows.empty()) section.blocks.push_back({std::move(table)});
    if (!notices.items.empty()) section.blocks.push_back({std::move(notices)});
    return {std::move(section)};
}

}  // namespace paretoken::reports
