#pragma once
// Chooses the cheapest configuration that meets the user's limits: a row per configuration, the cheapest
// first, with the run that meets them or the reason why there is none.
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The number of all requests of a run, including failed, cancelled and warm-up requests.
std::uint64_t requests_sent(const RunResult& result);

/// A clause about the first SLO that a point does not keep, missed ones first: not measured, without a value,
/// missed, or with too few requests. Empty if it meets or is within all.
std::string missed_slo(const ReportPoint& point, const std::vector<Slo>& slos);

/// The reason why a point is on no front, as a clause: the run is invalid, never reached its load, has no
/// output tokens or no tokens/s per user, the server did not keep up (kept_up()), another run measured its
/// load better, or missed_slo() gives one. Empty if there is none.
std::string unfit_because(const ReportPoint& point, const std::vector<Slo>& slos);

/// The reason why no point of a configuration can be used: the limit that even the smallest load misses, else
/// what is wrong with the cheapest point.
std::string why_none_fits(const Configuration& configuration, const std::vector<Slo>& slos);

/// The verdict on all limits together (worst_of()) of a point that is usable.
SloVerdict verdict_on_all(const ReportPoint& point, const std::vector<Slo>& slos);

/// The value by which points are ranked, the smallest first: dollars per million output tokens if they are
/// known, otherwise the deployment's time per output token in seconds, or infinity without output tokens.
double cost_of(const ReportPoint& point);

/// The run with the lowest cost of those that fit and were (or, without `shown`, were not) shown to meet the
/// limits; null if there is none. If several cost the same within 3 %, it is the fastest for a user.
const ReportPoint* cheapest_fitting(const Configuration& configuration, bool shown);

/// The limits of the runs' plans by this name ("slo", "goodput"), as texts; empty unless all have the same.
std::vector<std::string> common_limits(const std::vector<Configuration>& configurations,
                                       const std::string& name);

/// "missed its own SLO ttft_p99:45", of the limits of the run on percentiles that `slos` does not limit;
/// empty if it missed none.
std::string missed_own_slo(const RunResult& result, const std::vector<Slo>& slos);

/// Compares the configurations with `slos`; `texts` holds the same limits as the user wrote them. The
/// members of the points must be set, as build_report() (reports/analysis/model/join.h) does.
ChoiceTable choices_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                       const std::vector<std::string>& texts);

/// Sets Choice::worse_than of every choice by the qualities of the configurations.
void mark_worse_answers(ChoiceTable& table, const std::vector<Configuration>& configurations);

/// ", whose answers (60.0 % right) are certainly worse than those of weights=bf16 (80.0 % right)"; empty if
/// they are not.
std::string worse_answers_clause(const ReportModel& model, std::size_t configuration);

/// Whether the configurations with a choice differ in a member, such as the workload.
bool choices_differ(const ReportModel& model, std::string Configuration::*member);

}  // namespace paretoken::reports
