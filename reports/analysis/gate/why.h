#pragma once
// Writes the headline of a gate's report, and the likely cause of a failure from the combination of metrics
// that became worse: a worse ITL with an unchanged TTFT points to the decode step.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// Whether at least half of the runs of a side kept up with their arrivals (kept_up()). If the candidate's
/// did not, its latency follows from the length of the runs, and a gate cannot pass.
bool keeps_up(const std::vector<GateRun>& runs);

/// The likely cause in sentences. Worse means failed, or an interval beyond the limit; not worse means
/// passed, or an interval within it. Whatever the verdict, it says which sides did not keep up. Empty if all
/// did and no row failed, or no cause can be derived.
std::string why_of(std::span<const GateRow> rows, const GateInput& input);

/// "only 1 pair was measured, and at least 3 are needed", with `within` after "measured"; empty if a look was
/// taken or nothing was measured, and for designs without looks.
std::string too_few_text(const GateReport& report, std::string_view within = "");

/// The first line of a report: the verdict, the metrics that decided it, what became better, and what to do
/// next. Everything but `headline` and the fields that a caller sets later (names, checklist) must be set.
std::string headline_of(const GateReport& report);

/// What the data shows after a look that did not decide, without what would decide: a sentence for a progress
/// line. Before the first look, and if only limits are open, it is the headline.
std::string progress_of(const GateReport& report);

}  // namespace paretoken::reports
