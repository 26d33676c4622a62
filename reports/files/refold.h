#pragma once
// A finished run folded anew from its record files (requests.jsonl, events.bin): with other SLOs, and with
// percentiles that run.json does not hold. The files of the run stay as they are.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "core/result/slo.h"

namespace paretoken::reports {

/// SLOs that each request is held against, with the texts that say them.
struct Goodput {
    std::vector<std::string> texts = {};
    std::vector<Slo> slos = {};
};

struct Refold {
    std::optional<Goodput> goodput = {};          ///< of all requests; nothing: those of the run
    std::map<std::string, Goodput> classes = {};  ///< of the requests of a class, before `goodput`
    std::vector<double> percentiles = {};         ///< besides those that run.json holds
};

/// "ttft:500 tpot:15" or, for one class, "interactive=ttft:500"; presets as for slo_texts(). Throws
/// UsageError.
void add_goodput(Refold& refold, const std::string& text);

/// Replaces counts, totals, figures and metrics of `result`, and its SLOs in the plan, by what the files in
/// `directory` hold. A run that was stopped because its load diverged keeps its metrics. Throws UsageError
/// when a file is missing or malformed, or the run has no such class.
void refold(RunResult& result, const std::filesystem::path& directory, const Refold& options);

}  // namespace paretoken::reports
