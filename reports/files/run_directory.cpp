#include "reports/files/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/run/result_of.h"
#include "core/text/natural_order.h"
#include "reports/files/file_io.h"
#include "reports/files/json/run_json.h"
#include "reports/files/json/sweep_json.h"
#include "reports/files/recorded_files.h"
#include "reports/files/watch_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;
namespace {

constexpr const char* kShownNameFile = "shown_name";

/// Whether a point that is not done left records that can be summarised.
bool holds_records(const fs::path& directory) {
    std::error_code error;
    return holds_recorded(directory) && fs::exists(directory / kRecordsFileName, error) &&
           fs::file_size(directory / kRecordsFileName, error) > 0;
}

bool is_run(const fs::path& directory) {
    return fs::exists(directory / kRunFileName) || holds_recorded(directory);
}

/// Refuses the records of a run that lacks the files without which they cannot be read.
void refuse_incomplete_run(const fs::path& directory) {
    std::error_code error;
    if (!fs::exists(directory / kRecordsFileName, error)) return;
    if (!fs::exists(directory / kEventsFileName, error) && !fs::exists(directory / kEndedFileName, error))
        return;
    throw UsageError(fmt::format(
        "{} holds the {} of a run, but neither {} nor {}, which say what was measured; put one of them back, "
        "or move the directory away and measure again",
        directory.string(), kRecordsFileName, kRunFileName, kBegunFileName));
}

/// Adds the run directories at or below `path`, and the directories of gates. The runs of an experiment on
/// prefix caching count as runs like any others if `runs_of_caches` is true; otherwise its directory is
/// added.
void add_run_directories(const fs::path& path, ResultDirectories& found, bool runs_of_caches) {
    const bool is_cache = !runs_of_caches && fs::exists(path / kCacheFileName);
    if (is_cache) found.caches.push_back(path);
    if (fs::exists(path / kGateFileName)) found.gates.push_back(path);
    if (is_run(path)) {
        found.runs.push_back(path);
        return;
    }
    if (fs::exists(path / kSweepFileName)) {
        for (const SweepPoint& point : read_sweep(path).points) {
            const fs::path directory = path / point.directory;
            const bool is_done = point.state == PointState::done;
            if (is_done && !is_run(directory))
                throw UsageError(fmt::format(
                    "{}: point {} is recorded as done, but {} is missing; run the sweep again",
                    (path / kSweepFileName).string(), point.load_label, (directory / kRunFileName).string()));
            if (is_done || holds_records(directory)) found.runs.push_back(directory);
        }
        return;
    }
    if (is_cache) return;
    refuse_incomplete_run(path);
    std::vector<fs::path> below;
    std::error_code error;
    for (const auto& entry :
         fs::directory_iterator(path, fs::directory_options::skip_permission_denied, error))
        if (entry.is_directory() && !entry.is_symlink()) below.push_back(entry.path());
    std::ranges::sort(below, NaturalLess(), [](const fs::path& one) { return one.string(); });
    for (const fs::path& directory : below) add_run_directories(directory, found, runs_of_caches);
}

void expect_directory(const fs::path& path, std::string_view commands) {
    std::error_code error;
    if (!fs::is_directory(path, error))
        throw UsageError(
            fmt::format("{} is not a directory; give a directory that {} wrote", path.string(), commands));
}

}  // namespace

void write_run(const fs::path& directory, const RunResult& result) {
    write_file_atomically(directory / kRunFileName, run_json(result));
}

bool has_result(const fs::path& directory) {
    return fs::exists(directory / kRunFileName) ||
           (holds_recorded(directory) && fs::exists(directory / kEndedFileName));
}

RunResult read_run_directory(const fs::path& directory) {
    const fs::path path = directory / kRunFileName;
    if (!fs::exists(path)) {
        if (!holds_recorded(directory))
            throw UsageError(
                fmt::format("{} holds no {} and no {}: it is not a run directory, or it lacks both; give a "
                            "directory that `paretoken run --out` wrote",
                            directory.string(), kRunFileName, kBegunFileName));
        const StoredRun stored = read_recorded(directory);
        return result_of(stored.recorded, stored.judging);
    }
    refuse_other_lengths(directory);
    try {
        return parse_run_json(read_file(path), path.string());
    } catch (const UsageError& error) {
        if (!holds_recorded(directory)) throw;
        throw UsageError(
            fmt::format("{}; if {} is deleted, `paretoken report` makes it again from the records",
                        error.what(), kRunFileName));
    }
}

RunResult read_whole_run(const fs::path& directory) {
    RunResult run = read_run_directory(directory);
    if (const auto shard = run.plan.find("shard"); shard != run.plan.end())
        throw UsageError(fmt::format(
            "{} has the requests of shard {} alone; join the shards (paretoken merge), and give their run",
            directory.string(), shard->second));
    return run;
}

std::string shown_name(const fs::path& directory) {
    const fs::path file = directory / kShownNameFile;
    return fs::exists(file) ? read_file(file) : directory.string();
}

void show_as(const fs::path& directory, const std::string& name) {
    write_file_atomically(directory / kShownNameFile, name);
}

void restore_run(const fs::path& directory, const RunResult& result) {
    if (fs::exists(directory / kRunFileName) || !fs::exists(directory / kEndedFileName)) return;
    try {
        write_run(directory, result);
    } catch (const RuntimeError&) {  // the result can be computed again
    }
}

void write_sweep(const fs::path& directory, const SweepFile& sweep) {
    ensure_directory(directory);
    write_file_atomically(directory / kSweepFileName, sweep_json(sweep));
}

SweepFile read_sweep(const fs::path& directory) {
    const fs::path path = directory / kSweepFileName;
    return parse_sweep_json(read_file(path), path.string());
}

std::vector<fs::path> find_run_directories(const fs::path& path) {
    constexpr std::string_view kCommands = "`paretoken run` or `paretoken sweep`";
    expect_directory(path, kCommands);
    ResultDirectories found;
    add_run_directories(path, found, true);
    if (found.runs.empty() && fs::exists(path / kWatchFileName))
        throw UsageError(
            fmt::format("{}: a watch keeps no runs that others can be compared with; give the directory of a "
                        "run that `paretoken run` measured with the same options",
                        path.string()));
    if (found.runs.empty())
        throw UsageError(fmt::format("no {} at or below {}; give a directory that {} wrote", kRunFileName,
                                     path.string(), kCommands));
    return found.runs;
}

ResultDirectories find_result_directories(const fs::path& path) {
    constexpr std::string_view kCommands = "`paretoken run`, `paretoken sweep` or `paretoken cache`";
    expect_directory(path, kCommands);
    ResultDirectories found;
    add_run_directories(path, found, false);
    if (!found.runs.empty() || !found.caches.empty() || !found.gates.empty()) return found;
    if (fs::exists(path / kWatchFileName))
        throw UsageError(
            fmt::format("{}: a watch leaves no runs to report on; {} has the figures and alerts of each "
                        "interval, one JSON object per line (jq . {} shows them)",
                        path.string(), kWatchFileName, (path / kWatchFileName).string()));
    throw UsageError(fmt::format("no {} and no {} at or below {}; give a directory that {} wrote",
                                 kRunFileName, kCacheFileName, path.string(), kCommands));
}

ResultDirectories find_result_directories(const std::vector<std::string>& paths) {
    ResultDirectories found;
    std::set<std::pair<const void*, fs::path>> known;  // list and directory
    const auto add = [&](const std::vector<fs::path>& from, std::vector<fs::path>& to) {
        for (const fs::path& directory : from)
            if (known.emplace(&to, fs::weakly_canonical(directory)).second) to.push_back(directory);
    };
    for (const std::string& path : paths) {
        const ResultDirectories some = find_result_directories(fs::path(path));
        add(some.runs, found.runs);
        add(some.caches, found.caches);
        add(some.gates, found.gates);
    }
    return found;
}

}  // namespace paretoken::reports
