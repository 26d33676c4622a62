#pragma once
// Reads and writes the results in run directories. run.json is written in one step when a run has ended, so
// that a half-written file never counts as a result. It follows from the records of the run
// (reports/files/recorded_files.h) and can be deleted: readers then compute the result again. If the program
// ended before the run did, they mark the result as interrupted.
#include <filesystem>
#include <vector>

#include "core/result/result.h"
#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

/// Writes run.json, the result of a run that has ended. Throws RuntimeError.
void write_run(const std::filesystem::path& directory, const RunResult& result);

/// Reads a run. If there is a run.json, its result is returned as it is stored, otherwise that which
/// result_of() makes of the records; it is invalid with the check "interrupted" if the run has not ended.
/// Throws a UsageError that names what is missing or malformed, as read_recorded() does.
RunResult read_run_directory(const std::filesystem::path& directory);

/// Returns whether the directory holds the result of a run that has ended, or the records from which it
/// follows.
bool has_result(const std::filesystem::path& directory);

/// Writes the run.json of a run that has ended if it is missing. Errors are ignored, because the directory
/// may be read-only.
void restore_run(const std::filesystem::path& directory, const RunResult& result);

/// Writes sweep.json. Creates `directory` if necessary. Throws RuntimeError.
void write_sweep(const std::filesystem::path& directory, const SweepFile& sweep);

/// Reads sweep.json. Throws a UsageError that names what is missing or malformed.
SweepFile read_sweep(const std::filesystem::path& directory);

/// The run directories at or below `path`. A directory with a run.json or a begun.json is a run. Otherwise, a
/// directory with a sweep.json contributes those of its points that are done or left records, in the order of
/// that file. Any other directory contributes the run directories below its subdirectories, sorted by name;
/// symbolic links are not followed. Throws UsageError when `path` is not a directory, when there is no run,
/// when a sweep.json is malformed, or when a point that is marked as done is no run.
std::vector<std::filesystem::path> find_run_directories(const std::filesystem::path& path);

/// The directories that a report is made from.
struct ResultDirectories {
    std::vector<std::filesystem::path> runs;
    std::vector<std::filesystem::path>
        caches;  ///< results of `paretoken cache`; the runs in them are not in `runs`
    std::vector<std::filesystem::path> gates;  ///< directories with a gate.json
};

/// Finds runs like find_run_directories(), and also experiments on prefix caching (directories with a
/// cache.json) and gates. Throws UsageError like that function, except that a path without a run is accepted
/// if it has such an experiment or a gate.
ResultDirectories find_result_directories(const std::filesystem::path& path);

}  // namespace paretoken::reports
