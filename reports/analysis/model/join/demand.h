#pragma once
// How many deployments of each configuration carry a rate of requests within the limits, and their cost.
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// Compares the configurations, the cheapest first. A deployment carries the requests/s of the run with the
/// most of them within `slos`: the rate of the arrivals, or what a closed loop completed. Points are those of
/// build_report().
DemandTable demand_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                      const AskedDemand& asked);

/// The beginning of that sentence, which says what is needed: "50 req/s need 4 × L40S, $2,100 per month".
std::string demand_title(const ReportModel& model);

/// The answer in a sentence. `model` has a demand.
std::string demand_sentence(const ReportModel& model);

}  // namespace paretoken::reports
