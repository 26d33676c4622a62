#pragma once
// One configuration of a report: its runs, price, limit and gap.
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/pricing.h"
#include "reports/analysis/model/join/served.h"
#include "reports/analysis/model/labels.h"
#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

AnswerInputs answer_inputs(const Configuration& configuration, const LimitInputs& inputs,
                           const std::optional<AppliedPrice>& price);

struct Joined {
    Configuration configuration;
    std::optional<AppliedPrice> price;
    std::optional<LimitInputs> limit;
    std::optional<LimitInputs> datasheet;    ///< limit by the datasheet, if `limit` is measured
    std::vector<const MicroResults*> micro;  ///< devices that the limit was computed from
    Served served = {};
    std::string card_spec = {};  ///< model card that the runs were made with; empty if none is known
};

Joined joined(RunGroup group, const JoinOptions& options);

}  // namespace paretoken::reports
