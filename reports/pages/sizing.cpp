#include "reports/pages/sizing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kMostRows = 24;
constexpr std::size_t kMostRemarks = 8;
constexpr std::size_t kNameColumns = 20;
constexpr std::size_t kColumns = 100;

std::string facts_text(const Facts& facts) {
    std::string text;
    for (const auto& [name, value] : facts.items)
        if (!value.empty()) {
            const std::vector<std::string> lines = wrapped(value, kColumns - kNameColumns);
            text += fmt::format("  {:18}{}\n", name, fmt::join(lines, "\n" + std::string(kNameColumns, ' ')));
        }
    return text;
}

}  // namespace

std::string sizing_console(const DeploymentPlan& plan) {
    std::string text = paragraph(answer_of(plan));
    if (const std::string caution = caution_on(plan); !caution.empty()) text += paragraph(caution);
    if (const std::string prices = prices_text(plan); !prices.empty())
        text += paragraph(fmt::format("Prices: the price card {}.", prices));
    text += "\n";
    Table table = cells_table(plan);
    const std::size_t left_out = table.rows.size() > kMostRows ? table.rows.size() - kMostRows : 0;
    if (left_out > 0) table.rows.resize(kMostRows);
    text += text_of(table);
    if (left_out > 0) text += fmt::format("  and {} more: --out writes them all\n", left_out);
    std::size_t remarks = 0;
    for (const PlannedCell* const cell : ranked_cells(plan))
        if (const std::string remark = remark_on(*cell); !remark.empty() && ++remarks <= kMostRemarks)
            text += paragraph(fmt::format("{}: {}.", name_of_cell(*cell), remark), 2);
    if (plan.cells.empty()) return text;
    const PlannedCell& cell = plan.cells[plan.best.value_or(0)];
    if (plan.staircase) text += "\n" + facts_text(hours_facts(plan));
    text += "\n" + text_of(memory_table(cell)) + "\n" + facts_text(cache_facts(plan, cell));
    if (!plan.inputs.empty()) text += "\n" + facts_text(input_facts(plan));
    if (!plan.decisions.empty()) text += "\n" + facts_text(decision_facts(plan));
    if (plan.slos.empty())
        text += "\n" +
                paragraph(
                    "Speed and the number of GPUs need limits: add e.g. --slo ttft_p95:800 --demand 50rps.");
    else
        text += "\n" + paragraph("Estimated from cards and simulated runs; nothing was measured.");
    return text;
}

}  // namespace paretoken::reports
