#pragma once
// The limit of the hardware for the runs of a configuration.
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "core/result/result.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/pricing.h"
#include "reports/analysis/model/join/served.h"
#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/loaded_run.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The model card of --model-card, or the one that these runs name; null when there is none.
const cards::ModelCard* model_of(const std::vector<LoadedRun>& runs, const JoinOptions& options);

/// The known terms of the hardware that serves: measured ones if there are any, else those of the datasheet.
HardwareTerms hardware_terms_of(const Served& served, const cards::ModelCard& model);

/// The inputs of the limit. When no limit can be computed: nothing, with the reason added to `missing`.
std::optional<LimitInputs> limit_of(const Served& served, const RunResult& result,
                                    const cards::ModelCard* model, std::vector<std::string>& missing);

/// Adds to `missing` that micro results of other machines are not used for this configuration's limit, or how
/// far the results of equal devices differ.
void mention_other_micro(const Served& served, const JoinOptions& options, std::vector<std::string>& missing);

void price_curve(std::vector<LimitPoint>& curve, const std::optional<AppliedPrice>& price);

void hold_against_limit(ReportPoint& point, const LimitInputs& inputs);

}  // namespace paretoken::reports
