#pragma once
// Computes a run's result again from its records, with other SLOs or percentiles. Its files stay the same.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The changes with which the results are computed.
struct Refold {
    /// The SLOs of all requests ("ttft:500", in ms); absent means those of the run.
    std::optional<std::vector<std::string>> goodput = {};
    /// The SLOs of a class; they take precedence over `goodput`.
    std::map<std::string, std::vector<std::string>> classes = {};
    std::vector<double> percentiles = {};  ///< further percentiles, as shares: 0.97
};

/// Adds "ttft:500 tpot:15" or, for one class, "interactive=ttft:500". Throws UsageError for a text that
/// cannot be parsed, and for limits on percentiles, which presets contain too.
void add_goodput(Refold& refold, const std::string& text);

/// Returns the result of the run in `directory` with these changes, also in the SLOs of its plan. Throws
/// UsageError for missing or malformed records, or an unknown class.
RunResult refolded(const std::filesystem::path& directory, const Refold& options);

}  // namespace paretoken::reports
