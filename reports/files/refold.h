#pragma once
// Computes the results of a finished run again from its record files (requests.jsonl, events.bin), with other
// SLOs or with percentiles that run.json does not hold. The files of the run are not changed.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "core/result/slo.h"

namespace paretoken::reports {

/// The SLOs that each request is judged by, with their texts.
struct Goodput {
    std::vector<std::string> texts = {};
    std::vector<Slo> slos = {};
};

/// The changes with which the results are computed.
struct Refold {
    std::optional<Goodput> goodput = {};          ///< SLOs of all requests; absent means those of the run
    std::map<std::string, Goodput> classes = {};  ///< SLOs of a class; they take precedence over `goodput`
    std::vector<double> percentiles = {};         ///< further percentiles, as shares: 0.97
};

/// Adds the SLOs of a text: "ttft:500 tpot:15" (limits in milliseconds) or, for one class,
/// "interactive=ttft:500". Throws UsageError for a text that cannot be parsed, and for a limit on a
/// percentile, which one request cannot meet or miss. A named preset of SLOs contains such a limit and is
/// refused too.
void add_goodput(Refold& refold, const std::string& text);

/// Replaces the counts, totals, figures and metrics of `result` and of its classes, turns and targets, and
/// the SLOs in its plan, with values computed from the files in `directory`. If a run was stopped because
/// its load exceeded what the server can handle ("diverging"), only the values that depend on SLOs are
/// replaced. Throws UsageError when requests.jsonl is missing, when a file is malformed, when the files are
/// not those of the run (other numbers of requests, a request twice, events at other times than the line of
/// their request says, a wrong checksum), or when the run has no class of a given name. If events.bin is
/// missing, the requests count as requests without events.
void refold(RunResult& result, const std::filesystem::path& directory, const Refold& options);

}  // namespace paretoken::reports
