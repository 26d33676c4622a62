#pragma once
// Answers the question: which is the cheapest way to serve within my limits? There is one row per
// configuration, the cheapest first; the row of a configuration that cannot meet the limits says why. Pure.
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The number of all requests of a run, including warm-up requests and cancelled ones.
std::uint64_t requests_sent(const RunResult& result);

/// The first SLO that is not certainly met, in words; empty when all SLOs are met.
std::string missed_slo(const ReportPoint& point, const std::vector<Slo>& slos);

/// The reason why a point cannot be on any front; empty when it can.
std::string unfit_because(const ReportPoint& point, const std::vector<Slo>& slos);

/// The limits that the runs themselves were judged by (--goodput), if all runs have the same limits;
/// otherwise none.
std::vector<std::string> common_goodput(const std::vector<Configuration>& configurations);

/// Compares the finished configurations with `slos`; `texts` holds the same limits as the user wrote them.
ChoiceTable choices_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                       const std::vector<std::string>& texts);

}  // namespace paretoken::reports
