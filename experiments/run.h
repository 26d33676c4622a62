#pragma once
// One run: a load is made for a target and leaves a run directory.
#include <filesystem>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "core/result/slo.h"
#include "experiments/target/provenance.h"
#include "experiments/target/target.h"
#include "experiments/watcher.h"

namespace paretoken::experiments {

struct Measured {
    RunResult result;
    std::filesystem::path directory;
    std::string not_written;  ///< why the result is not on the disk; empty when it is
};

/// One run into `directory`, which is created; what an earlier run left there is replaced. Throws
/// RuntimeError when nothing can be written there to begin with, and ServerFailed when the server that a
/// command started ended meanwhile; what fails later is told in the value, which holds the result either way.
Measured measure(const Target& target, const LoadPlan& asked, const std::filesystem::path& directory,
                 const Invocation& invocation, Watcher& watcher, const loadgen::Interruption& interruption);

/// The finished run in `directory` held against what `asked` says in its fields of kind judging: its recorded
/// requests are judged anew, and these fields of its plan replaced. Returns its verdict. Throws UsageError
/// when its files cannot be read, RuntimeError when they cannot be written.
Verdict judge_anew(const std::filesystem::path& directory, const LoadPlan& asked);

/// SLOs as core/result/slo.h reads them.
std::vector<Slo> slos_of(const std::vector<std::string>& texts);

/// The limits on percentiles that a plan is held against.
std::vector<Slo> percentile_slos_of(const LoadPlan& plan);

/// Throws what a result deserves: RuntimeError when it was interrupted or could not be written, Error with
/// ExitCode::measurement_invalid when it proves nothing.
void require_valid(const Measured& measured);

/// Throws what a run deserves that was held against limits on percentiles: Error with ExitCode::gate_failed
/// when one is missed, with ExitCode::gate_inconclusive when the evidence decides one neither way.
void require_slos(const RunResult& result);

/// For a run that is a part of something larger. Throws RuntimeError when its result could not be written, it
/// was interrupted ("interrupted; " and `then`), or nothing succeeded because the server does not answer.
void require_whole(const Measured& run, const Target& target, const std::string& then);

/// Throws RuntimeError when this process may not open as many files as `streams` at once need.
void require_descriptors(std::uint64_t streams);

}  // namespace paretoken::experiments
