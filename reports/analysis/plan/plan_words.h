#pragma once
// A deployment plan in words and tables: the answer, the table of cells, and where the memory goes.
#include <string>
#include <vector>

#include "reports/analysis/plan/plan.h"
#include "reports/document/section.h"

namespace paretoken::reports {

/// The answer: "4 × l40s, fp8: $3,170 per month for 50 req/s, …".
std::string answer_of(const DeploymentPlan& plan);

/// A sentence that the demand leaves little of what the servers of the best cell carry; empty if it leaves
/// enough.
std::string caution_on(const DeploymentPlan& plan);

/// "2026-11-cloud of 2026-11-20, on_demand": the price card, its date and the basis; empty without prices.
std::string prices_text(const DeploymentPlan& plan);

/// Every cell with its fit, its load and its bill, in the order of ranked_cells().
Table cells_table(const DeploymentPlan& plan);

/// The remark on a cell: why it cannot run and what would fit, which load it misses, or its notes.
std::string remark_on(const PlannedCell& cell);

/// "h100-sxm, fp8 weights, bf16 cache, TP 2"
std::string name_of_cell(const PlannedCell& cell);

/// Where the memory of one GPU of a cell goes, in GiB.
Table memory_table(const PlannedCell& cell);

/// Names and values about the cache and the suggested settings of a cell.
Facts cache_facts(const DeploymentPlan& plan, const PlannedCell& cell);

/// Names and values of the inputs of the speed, and where they come from.
Facts input_facts(const DeploymentPlan& plan);

/// Names and values about the servers by hour and the autoscaler; empty for a demand that does not change.
Facts hours_facts(const DeploymentPlan& plan);

/// The answers of `paretoken cost` about the best cell, by the names of the questions.
Facts decision_facts(const DeploymentPlan& plan);

/// The plan as sections of a page.
std::vector<Section> sizing_sections(const DeploymentPlan& plan);

/// Why a plan has no best cell.
std::string reason_without_best(const DeploymentPlan& plan);

}  // namespace paretoken::reports
