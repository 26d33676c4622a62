#include "reports/files/baseline_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "core/result/validity.h"
#include "core/run/distinct_runs.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"
#include "reports/files/server_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;
namespace {

void require_name(const std::string& name) {
    const bool plain = !name.empty() && name.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789._-") == std::string::npos;
    if (!plain || name.front() == '.' || name.front() == '-')
        throw UsageError(
            fmt::format("'{}' cannot be a baseline's name: use letters, digits, '.', '_' and '-', and do "
                        "not begin with '.' or '-'",
                        name));
}

[[noreturn]] void cannot(std::string_view what, const fs::path& path, const std::error_code& error) {
    throw RuntimeError(
        fmt::format("cannot {} {}: {}; choose another --store", what, path.string(), error.message()));
}

/// Copies a run without its events, which are large. Its result is written anew, because run.json may be
/// missing.
void copy_run(const fs::path& from, const fs::path& to, const RunResult& result) {
    std::error_code error;
    fs::create_directories(to, error);
    if (error) cannot("create", to, error);
    write_run(to, result);
    for (const std::string_view name :
         {kBegunFileName, kEndedFileName, kRecordsFileName, std::string_view(kServerFileName),
          kAnswersFileName, kProbeFileName}) {
        if (!fs::exists(from / name)) continue;
        fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing, error);
        if (error) cannot("write", to / name, error);
    }
}

}  // namespace

void BaselineStore::save(const std::string& name, const std::vector<fs::path>& runs, bool replace) const {
    require_name(name);
    const fs::path directory = root_ / name;
    if (fs::exists(directory) && !replace)
        throw UsageError(
            fmt::format("{} holds a baseline '{}'; --overwrite replaces it", root_.string(), name));
    DistinctRuns distinct;
    std::vector<RunResult> results;
    for (const fs::path& run : runs) {
        const RunResult& result = results.emplace_back(read_run_directory(run));
        distinct.add(result, run.string());
        if (result.validity.verdict != Verdict::invalid) continue;
        const std::string why = gravest_reason(result.validity);
        throw UsageError(fmt::format("{} is invalid and cannot be a baseline ({}); measure it again",
                                     run.string(), why.empty() ? "no reason is given" : why));
    }
    // The new baseline is built in a directory beside the final one and then renamed, so that a baseline is
    // always complete.
    const fs::path beside = root_ / fmt::format(".{}.new", name);
    std::error_code error;
    fs::remove_all(beside, error);
    for (std::size_t i = 0; i < runs.size(); ++i)
        copy_run(runs[i], beside / fmt::format("{:02}", i + 1), results[i]);
    fs::remove_all(directory, error);
    fs::rename(beside, directory, error);
    if (error) cannot("write", directory, error);
}

std::vector<StoredBaseline> BaselineStore::list() const {
    std::vector<StoredBaseline> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_, error)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_directory() || name.starts_with('.')) continue;
        found.push_back({name, entry.path(), {}});
        for (const auto& run : fs::directory_iterator(entry.path(), error))
            if (has_result(run.path())) found.back().runs.push_back(run.path());
        std::sort(found.back().runs.begin(), found.back().runs.end());
    }
    std::sort(found.begin(), found.end(),
              [](const StoredBaseline& a, const StoredBaseline& b) { return a.name < b.name; });
    return found;
}

StoredBaseline BaselineStore::find(const std::string& name) const {
    std::string known;
    for (StoredBaseline& baseline : list()) {
        if (baseline.name == name) return std::move(baseline);
        known += (known.empty() ? "" : ", ") + baseline.name;
    }
    throw UsageError(fmt::format("{} holds no baseline '{}'; {}", root_.string(), name,
                                 known.empty()
                                     ? "there is none yet, `paretoken baseline save NAME DIR…` stores one"
                                     : "known: " + known));
}

bool BaselineStore::holds(const std::string& name) const {
    const auto all = list();
    return std::any_of(all.begin(), all.end(), [&](const StoredBaseline& b) { return b.name == name; });
}

void BaselineStore::drop(const std::string& name) const {
    std::error_code error;
    fs::remove_all(find(name).directory, error);
    if (error) cannot("remove", root_ / name, error);
}

}  // namespace paretoken::reports
