#pragma once
// Computes the result of a run again from its records, with other SLOs or with percentiles that run.json does
// not hold. The files of the run are not changed.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The changes with which the results are computed.
struct Refold {
    /// The SLOs of all requests ("ttft:500"); absent means those of the run.
    std::optional<std::vector<std::string>> goodput = {};
    /// The SLOs of a class; they take precedence over `goodput`.
    std::map<std::string, std::vector<std::string>> classes = {};
    std::vector<double> percentiles = {};  ///< further percentiles, as shares: 0.97
};

/// Adds the SLOs of a text: "ttft:500 tpot:15" (limits in milliseconds) or, for one class,
/// "interactive=ttft:500". Throws UsageError for a text that cannot be parsed, and for a limit on a
/// percentile, which one request cannot meet or miss. A named preset of SLOs contains such a limit and is
/// refused too.
void add_goodput(Refold& refold, const std::string& text);

/// Returns the result of the run in `directory`, made from its records with these changes. The SLOs in its
/// plan are then the changed ones. Throws UsageError when a file of the records is missing or malformed, or
/// when the run has no class of a given name.
RunResult refolded(const std::filesystem::path& directory, const Refold& options);

}  // namespace paretoken::reports
