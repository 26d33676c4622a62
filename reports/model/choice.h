#pragma once
// The question that people come with: what is the cheapest way to serve within my limits? One row per
// configuration, the cheapest first; a configuration that cannot says why not. Pure.
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// All requests of a run, warm-ups and cancelled ones too.
std::uint64_t requests_sent(const RunResult& result);

/// The first SLO that is not certainly met, in words; empty when all are.
std::string missed_slo(const ReportPoint& point, const std::vector<Slo>& slos);

/// Why a point cannot be on any front; empty when it can.
std::string unfit_because(const ReportPoint& point, const std::vector<Slo>& slos);

/// The limits that the runs themselves were judged by (--goodput), where all of them have the same; else
/// none.
std::vector<std::string> common_goodput(const std::vector<Configuration>& configurations);

/// The finished configurations held against `slos`, which `texts` give as the user wrote them.
ChoiceTable choices_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                       const std::vector<std::string>& texts);

}  // namespace paretoken::reports
