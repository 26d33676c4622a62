#pragma once
// Reads and writes the results in run directories. run.json is written in one step when a run has ended, and
// follows from the records of the run (reports/files/recorded_files.h): readers compute it again if it is
// missing, and mark it as interrupted if the run did not end.
#include <filesystem>
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

struct SweepFile;

/// Writes run.json, the result of a run that has ended. Throws RuntimeError.
void write_run(const std::filesystem::path& directory, const RunResult& result);

/// Reads a run: its run.json, or else what result_of() makes of the records, invalid with the check
/// "interrupted" if it has not ended. Throws as read_recorded() and refuse_other_lengths() do.
RunResult read_run_directory(const std::filesystem::path& directory);

/// Reads a run like read_run_directory(). Throws UsageError also for a shard, which is only a part.
RunResult read_whole_run(const std::filesystem::path& directory);

/// The name of a run directory in messages and pages: the directory, or the name that show_as() gave it.
std::string shown_name(const std::filesystem::path& directory);

/// Gives a run directory another name, such as that of the file that it was made of. Throws RuntimeError.
void show_as(const std::filesystem::path& directory, const std::string& name);

/// Returns whether the directory holds the result of a run that has ended, or its records.
bool has_result(const std::filesystem::path& directory);

/// Writes the run.json of a run that has ended if it is missing, without errors.
void restore_run(const std::filesystem::path& directory, const RunResult& result);

/// Writes sweep.json. Creates `directory` if necessary. Throws RuntimeError.
void write_sweep(const std::filesystem::path& directory, const SweepFile& sweep);

/// Reads sweep.json. Throws a UsageError that names what is missing or malformed.
SweepFile read_sweep(const std::filesystem::path& directory);

/// The run directories at or below `path`: those with a run.json or begun.json, the points of a sweep.json
/// that are done or left records, else those below its subdirectories by name. Throws UsageError when there
/// is none, for a malformed sweep.json, and for a done point without a run.
std::vector<std::filesystem::path> find_run_directories(const std::filesystem::path& path);

/// The directories that a report is made from.
struct ResultDirectories {
    std::vector<std::filesystem::path> runs;
    std::vector<std::filesystem::path>
        caches;  ///< results of `paretoken cache`; the runs in them are not in `runs`
    std::vector<std::filesystem::path> gates;  ///< directories with a gate.json
};

/// Finds runs like find_run_directories(), also none, and experiments on prefix caching and gates.
ResultDirectories find_result_directories(const std::filesystem::path& path);

/// Those of several paths in their order, each directory once, even if the paths name it in different ways.
ResultDirectories find_result_directories(const std::vector<std::string>& paths);

}  // namespace paretoken::reports
