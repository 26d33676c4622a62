#pragma once
// Shows the result of a search for the highest load within limits, in words and as a chart per limit.
#include <string>
#include <vector>

#include "reports/analysis/model/loaded_run.h"
#include "reports/analysis/model/report_model.h"
#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

struct LoadedSearch {
    std::string directory;  ///< directory of the sweep, as in LoadedRun::sweep
    std::string axis;       ///< "concurrency" or "request_rate"
    SweepSearch search;     ///< its steps and its result
};

/// Two sentences on what the runs say about the limits. "91 in flight is the highest load that was shown to
/// meet ttft_p95:500." and "96 in flight is the highest load that was measured within them (…); 128 misses
/// ttft_p95:500. A run of about 4 minutes would show that 96 meets them."
std::string shown_text(const SweepSearch& answer, const std::string& axis);
std::string within_text(const SweepSearch& answer, const std::string& axis);

/// Sentences on the search itself: why it ended, and where the server saturates.
std::string search_text(const SweepSearch& search, const std::string& axis);

/// The charts and the text of a search. `runs` may contain runs of other sweeps, which are left out. A limit
/// whose percentile no run has gets no chart.
SearchPicture picture_of(const LoadedSearch& search, const std::vector<LoadedRun>& runs);

}  // namespace paretoken::reports
