#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/utilisation.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kColours = 10;  // colours of bars that the page's script has

const Gap* answer_gap(const Configuration& configuration) {
    const ReportPoint* point = answer_point(configuration);
    return point != nullptr && point->gap ? &*point->gap : nullptr;
}

/// The indices of the parts that `is_used` holds for in at least one run.
template <class IsUsed>
std::vector<std::size_t> parts_used(const Configuration& configuration, const IsUsed& is_used) {
    std::vector<std::size_t> used;
    for (std::size_t part = 0; part < answer_gap(configuration)->parts.size(); ++part)
        if (std::ranges::any_of(configuration.points, [&](const ReportPoint& point) {
                return point.gap && is_used(point.gap->parts[part].ms);
            }))
            used.push_back(part);
    return used;
}

/// One row per run, one column per part that takes time in at least one run.
Table gap_table(const Configuration& configuration) {
    const std::vector<std::size_t> known =
        parts_used(configuration, [](const std::optional<double>& ms) { return ms && *ms != 0; });
    Table table{{{"Run", Align::left}, {"Step, ms"}}, {}};
    for (const std::size_t part : known)
        table.columns.push_back({answer_gap(configuration)->parts[part].name});
    for (const ReportPoint& point : configuration.points) {
        if (!point.gap) continue;
        std::vector<std::string> row{point.load_label, significant(point.gap->step_ms)};
        for (const std::size_t part : known) row.push_back(significant(point.gap->parts[part].ms));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Bars gap_bars(const Configuration& configuration) {
    Bars bars{.title = {},
              .what = "Milliseconds of one step by part, one bar per run",
              .unit = "ms",
              .x_title = "ms of one step"};
    const std::vector<std::size_t> drawn =
        parts_used(configuration, [](const std::optional<double>& ms) { return ms && *ms != 0; });
    for (const std::size_t part : drawn) {
        const std::string& name = answer_gap(configuration)->parts[part].name;
        bars.parts.push_back({.name = name, .group = name, .colour = part % kColours});
    }
    for (const ReportPoint& point : configuration.points) {
        if (!point.gap || !point.reached) continue;
        bars.bars.push_back({.name = point.load_label,
                             .title = fmt::format("{} · {}", point.load_label, configuration.title),
                             .total = point.gap->step_ms});
        for (std::size_t i = 0; i < drawn.size(); ++i)
            bars.parts[i].lengths.push_back(point.gap->parts[drawn[i]].ms);
    }
    return bars;
}

/// The parts of one run's step, with the source of each. Parts that take no time are left out.
Table source_table(const Gap& gap) {
    Table table{{{"Part", Align::left}, {"ms"}, {"$ per M output"}, {"From", Align::left}}, {}};
    for (const GapPart& part : gap.parts) {
        if (part.ms == 0.0) continue;
        table.rows.push_back({part.name, significant(part.ms),
                              part.usd_per_m ? dollars(*part.usd_per_m) : "–",
                              part.ms ? part.source : "unattributed: nothing was measured for it"});
    }
    return table;
}

Part gap_part(const Configuration& configuration, std::size_t index) {
    const Gap& gap = *answer_gap(configuration);
    const ReportPoint& point = *answer_point(configuration);
    Part part{.title = configuration.title, .series = index, .blocks = {}};
    if (!gap.first_to_fix.empty())
        part.blocks.push_back(
            {Paragraph{fmt::format(", at {}: {}", point.load_label, gap.first_to_fix), "What to fix first"}});
    if (std::string used = utilisation_sentence(point); !used.empty())
        part.blocks.push_back({Paragraph{std::move(used)}});
    part.blocks.push_back(
        {BarChart{fmt::format("gap-{}", index), gap_bars(configuration), gap_table(configuration)}});
    part.blocks.push_back(
        {Folded{fmt::format("Parts of the step at {}, and where each comes from", point.load_label),
                {{source_table(gap)}}}});
    return part;
}

}  // namespace

std::vector<Section> gap_sections(const ReportModel& model) {
    Section section{
        "gap",
        "Where the gap goes",
        {{Paragraph{
            "The time of a step in milliseconds, split into parts from the hardware limit to the measured "
            "time. A step is one forward pass of every request in flight. Each part is the time that its "
            "cause adds in a model of the run. The residual is the measured time that no part explains."}}}};
    for (std::size_t i = 0; i < model.configurations.size(); ++i)
        if (answer_gap(model.configurations[i]) != nullptr)
            section.blocks.push_back({gap_part(model.configurations[i], i)});
    if (section.blocks.size() < 2) return {};
    return {std::move(section)};
}

}  // namespace paretoken::reports
