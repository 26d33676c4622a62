#pragma once
// One run: makes a load for a target and writes a run directory.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken {
struct LoadPlan;
}

namespace paretoken::experiments {

struct Session;
class Target;

/// The directory in a run's where the parts of a load are until they are joined.
inline constexpr std::string_view kShardsName = "shards";

struct Measured {
    RunResult result;
    std::filesystem::path directory;
    std::string not_written = {};  ///< reason why the result is not on the disk; empty if it is
};

/// Makes one run in `directory`, in place of an earlier one. Measured::not_written tells of later failures to
/// write; an interruption throws nothing. Throws UsageError when the plan or a file that it names is wrong;
/// RuntimeError when nothing can be written or a command fails; ServerFailed when the started server ended.
Measured measure(const Target& target, const LoadPlan& asked, const std::filesystem::path& directory,
                 const Session& session);

/// Throws RuntimeError when a result was interrupted or could not be written, Error with
/// ExitCode::measurement_invalid when it is invalid.
void require_valid(const Measured& measured);

/// Throws for a run with limits on percentiles: Error with ExitCode::gate_failed when one is shown to be
/// missed, with ExitCode::gate_inconclusive when one is missed without that being shown, when nothing can be
/// said about one, or when the run is only within one although `met` is required.
void require_slos(const RunResult& result, bool met);

/// Checks a run that is a part of an experiment. Throws RuntimeError when its result could not be written, it
/// was interrupted ("interrupted; " and `then`), or no request succeeded because the server does not answer.
void require_whole(const Measured& run, const Target& target, const std::string& then);

/// Throws RuntimeError when this process may not open enough files for `streams` streams at once.
void require_descriptors(std::uint64_t streams);

}  // namespace paretoken::experiments
