#pragma once
// The gap between each run and the limit.
#include <optional>
#include <vector>

#include "cards/model.h"
#include "reports/analysis/model/gap.h"
#include "reports/analysis/model/join/served.h"
#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// Limits the requests that run at once to the largest number of slots of the runs, if it is known for all.
void cap_at_slots(LimitInputs& inputs, const std::vector<ReportPoint>& points);

GapRun gap_run_of(const ReportPoint& point);

void add_gaps(Configuration& configuration, const GapInputs& inputs, const Served& served,
              const cards::ModelCard* model);

GapInputs gap_inputs_of(const LimitInputs& limit, const std::optional<LimitInputs>& datasheet,
                        const Provenance& provenance);

}  // namespace paretoken::reports
