#pragma once
// What a search for the highest load that meets limits has found, in words and as charts: each limit's
// percentile against load with the limit as a line and the bracket marked. Pure.
#include <string>
#include <vector>

#include "reports/files/sweep_file.h"
#include "reports/model/loaded_run.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// A search as sweep.json holds it.
struct LoadedSearch {
    std::string directory;  ///< of the sweep, as LoadedRun::sweep names it
    std::string axis;       ///< "concurrency" or "request_rate"
    SweepSearch search;
};

/// What was found, in sentences: "91 in flight is the highest load that was shown to meet ttft_p95:500; …".
std::string found_text(const SweepSearch& search, const std::string& axis);

/// `runs`: all that were read; those of other sweeps are left out.
SearchPicture picture_of(const LoadedSearch& search, const std::vector<LoadedRun>& runs);

}  // namespace paretoken::reports
