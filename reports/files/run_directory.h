#pragma once
// The files of a run directory on disk. A run.json exists from a run's first moment ("running") and is
// replaced whole at its end, so that nothing half-written is ever taken for a result; after a crash the
// records that reached requests.jsonl are summarised anew and marked.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"
#include "reports/files/sweep_file.h"

namespace paretoken::reports {

inline constexpr std::string_view kRunFileName = "run.json";
inline constexpr std::string_view kRecordsFileName = "requests.jsonl";
inline constexpr std::string_view kEventsFileName = "events.bin";
inline constexpr std::string_view kAnswersFileName = "answers.jsonl";
inline constexpr std::string_view kProbeFileName = "probe.jsonl";
inline constexpr std::string_view kSweepFileName = "sweep.json";
inline constexpr std::string_view kCacheFileName = "cache.json";

/// Readers see the old text or the new, never a part: a temporary file beside it is synced and renamed over
/// `path`. Throws RuntimeError with the path and the system's reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Throws UsageError with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// Creates `directory` and marks it as a run that has begun. Throws RuntimeError.
void write_running(const std::filesystem::path& directory, const Provenance& provenance, const PlanEcho& plan,
                   const Workload& workload, std::optional<std::uint64_t> concurrency = {},
                   std::optional<double> request_rate = {});

/// Replaces run.json by the finished result. Throws RuntimeError.
void write_run(const std::filesystem::path& directory, const RunResult& result);

/// A finished run as it is; one that never finished from its records: partial, invalid for the reason
/// "interrupted". Throws UsageError naming what is missing or malformed.
RunResult read_run_directory(const std::filesystem::path& directory);

/// Creates `directory` if need be. Throws RuntimeError.
void write_sweep(const std::filesystem::path& directory, const SweepFile& sweep);

/// Throws UsageError naming what is missing or malformed.
SweepFile read_sweep(const std::filesystem::path& directory);

/// The run directories at or below `path`: itself, the points of its sweep.json in that order (those
/// that are done or left records), or what its subdirectories hold, by name. Throws UsageError when there is
/// none, or a point said to be done is missing.
std::vector<std::filesystem::path> find_run_directories(const std::filesystem::path& path);

/// The directories that a report is made of.
struct ResultDirectories {
    std::vector<std::filesystem::path> runs;
    std::vector<std::filesystem::path> caches;  ///< of `paretoken cache`; the runs within belong to it
};

/// Like find_run_directories(), but experiments on prefix caching are found as such and count as results.
ResultDirectories find_result_directories(const std::filesystem::path& path);

}  // namespace paretoken::reports
