#pragma once
// Answers the question: which is the cheapest way to serve within my limits? There is one row per
// configuration, the cheapest first; the row of a configuration that cannot meet the limits says why. Pure.
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The number of all requests of a run, including failed, cancelled and warm-up requests.
std::uint64_t requests_sent(const RunResult& result);

/// A text about the first SLO that was not shown to be met: it is missed, undecided because of too few
/// requests, or was not measured. Empty if all SLOs are met.
std::string missed_slo(const ReportPoint& point, const std::vector<Slo>& slos);

/// The reason why a point is on no front: the run is invalid, never reached its load, has no output tokens or
/// no tokens/s per user, or missed_slo(). Empty if there is no reason.
std::string unfit_because(const ReportPoint& point, const std::vector<Slo>& slos);

/// The SLOs that the runs themselves were judged by (--goodput); empty unless all runs have the same SLOs.
std::vector<std::string> common_goodput(const std::vector<Configuration>& configurations);

/// Compares the finished configurations with `slos`; `texts` holds the same limits as the user wrote them.
ChoiceTable choices_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                       const std::vector<std::string>& texts);

}  // namespace paretoken::reports
