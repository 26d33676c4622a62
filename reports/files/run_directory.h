#pragma once
// The files of a run directory on disk. A run.json exists from a run's first moment ("running") and is
// replaced whole at its end, so that a half-written file is never taken for a result. After a crash, a result
// is computed from the records in requests.jsonl and marked.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"
#include "reports/sweep/sweep.h"

namespace paretoken::reports {

inline constexpr std::string_view kRunFileName = "run.json";
inline constexpr std::string_view kRecordsFileName = "requests.jsonl";
inline constexpr std::string_view kEventsFileName = "events.bin";
inline constexpr std::string_view kAnswersFileName = "answers.jsonl";
inline constexpr std::string_view kProbeFileName = "probe.jsonl";
inline constexpr std::string_view kSweepFileName = "sweep.json";
inline constexpr std::string_view kCacheFileName = "cache.json";

/// Replaces `path` in one step: a temporary file beside it is synced and renamed over it, so that readers see
/// the old text or the new one, never a part. Throws a RuntimeError with the path and the system's reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Reads a whole file. Throws a UsageError with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// Creates `directory` and marks it as a run that has begun. Throws RuntimeError.
void write_running(const std::filesystem::path& directory, const Provenance& provenance, const PlanEcho& plan,
                   const Workload& workload, std::optional<std::uint64_t> concurrency = {},
                   std::optional<double> request_rate = {});

/// Replaces run.json with the finished result. Throws RuntimeError.
void write_run(const std::filesystem::path& directory, const RunResult& result);

/// Reads a run. A finished run is returned as stored; a run that never finished is computed from its records,
/// partial and invalid for the reason "interrupted". Throws a UsageError that names what is missing or
/// malformed.
RunResult read_run_directory(const std::filesystem::path& directory);

/// Writes sweep.json. Creates `directory` if necessary. Throws RuntimeError.
void write_sweep(const std::filesystem::path& directory, const SweepFile& sweep);

/// Reads sweep.json. Throws a UsageError that names what is missing or malformed.
SweepFile read_sweep(const std::filesystem::path& directory);

/// The run directories at or below `path`. A directory with a run.json is a run. Otherwise, a directory with
/// a sweep.json contributes its points in the order of that file, if they are done or left records. Any other
/// directory contributes those of its subdirectories, sorted by name (symbolic links are not followed).
/// Throws UsageError when there is none, or when a point that is marked as done is missing.
std::vector<std::filesystem::path> find_run_directories(const std::filesystem::path& path);

/// The directories that a report is made from.
struct ResultDirectories {
    std::vector<std::filesystem::path> runs;
    std::vector<std::filesystem::path>
        caches;  ///< results of `paretoken cache`; the runs in them are not in `runs`
};

/// Finds results like find_run_directories(), and experiments on prefix caching besides. Throws UsageError
/// only when there is neither a run nor such an experiment.
ResultDirectories find_result_directories(const std::filesystem::path& path);

}  // namespace paretoken::reports
