#include "reports/files/gate/baseline_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/run/distinct_runs.h"
#include "core/stable_sort.h"
#include "core/text/natural_order.h"
#include "core/validity/validity.h"
#include "reports/analysis/gate/same_work.h"
#include "reports/files/gate/gate_run.h"
#include "reports/files/run_directory.h"

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

/// Reads runs for a baseline. Throws UsageError when one is invalid.
std::vector<GateRun> valid_runs(const std::vector<fs::path>& directories) {
    std::vector<GateRun> runs;
    for (const fs::path& directory : directories) {
        const GateRun& run = runs.emplace_back(read_gate_run(directory));
        if (run.result.validity.verdict != Verdict::invalid) continue;
        const std::string why = gravest_reason(run.result.validity);
        throw UsageError(fmt::format("{} is invalid and cannot be a baseline ({}); measure it again",
                                     directory.string(), why.empty() ? "no reason is given" : why));
    }
    return runs;
}

/// Returns how the work of a run differs from that of the runs of a baseline, as difference_of_work() does
/// but without the option that would allow it, which only a gate has. Runs may be of several hosts.
std::optional<std::string> other_work(const GateRun& first, const GateRun& run) {
    auto found = difference_of_work(first.result, run.result, {Across::host});
    if (found) found->erase(std::min(found->rfind(" (--across "), found->size()));
    return found;
}

void require_same_work(const std::vector<GateRun>& runs) {
    for (const GateRun& run : runs)
        if (const auto found = other_work(runs.front(), run))
            throw UsageError(
                fmt::format("{} and {} did not do the same work: {}; a baseline has runs of one load",
                            runs.front().directory, run.directory, *found));
}

void require_distinct(const std::vector<GateRun>& runs) {
    DistinctRuns distinct;
    for (const GateRun& run : runs) distinct.add(run.result, run.directory);
}

/// Keeps other processes out of a store while this one changes it: it waits for them. On a file system
/// without locks it keeps nobody out.
class StoreLock {
  public:
    explicit StoreLock(const fs::path& root) {
        std::error_code error;
        fs::create_directories(root, error);
        const fs::path file = root / ".lock";
        file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (file_ < 0) cannot("write", file, std::error_code(errno, std::generic_category()));
        while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~StoreLock() { ::close(file_); }
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;

  private:
    int file_;
};

/// Writes the runs as the baseline in `directory`. They are written beside it first, and take the place of
/// the runs before by renaming, so that a baseline is always complete.
void write_baseline(const fs::path& directory, const std::vector<GateRun>& runs) {
    const std::string name = directory.filename().string();
    const fs::path beside = directory.parent_path() / fmt::format(".{}.new", name);
    const fs::path before = directory.parent_path() / fmt::format(".{}.old", name);
    std::error_code error;
    for (const fs::path& path : {beside, before}) fs::remove_all(path, error);
    for (std::size_t i = 0; i < runs.size(); ++i)
        write_gate_run(beside / fmt::format("{:02}", i + 1), runs[i]);
    fs::rename(directory, before, error);  // which fails if there is none
    fs::rename(beside, directory, error);
    if (error) cannot("write", directory, error);
    fs::remove_all(before, error);
}

}  // namespace

void BaselineStore::save(const std::string& name, const std::vector<fs::path>& runs, bool replace) const {
    require_name(name);
    const std::vector<GateRun> valid = valid_runs(runs);
    require_distinct(valid);
    require_same_work(valid);
    const StoreLock lock(root_);
    if (holds(name) && !replace)
        throw UsageError(fmt::format(
            "{0} holds a baseline '{1}'; `paretoken baseline update {1} RUN…` adds runs to it, and "
            "--overwrite replaces it",
            root_.string(), name));
    write_baseline(root_ / name, valid);
}

void BaselineStore::update(const std::string& name, const std::vector<fs::path>& runs,
                           std::size_t keep) const {
    const StoreLock lock(root_);
    const StoredBaseline stored = find(name);
    std::vector<GateRun> all;
    for (const fs::path& run : stored.runs) {
        if (!has_result(run))
            throw UsageError(
                fmt::format("{} holds no result any more; `paretoken baseline save {} RUN… "
                            "--overwrite` stores the baseline anew",
                            run.string(), name));
        all.push_back(read_gate_run(run));
    }
    for (GateRun& run : valid_runs(runs)) {
        if (const auto found = all.empty() ? std::nullopt : other_work(all.front(), run))
            throw UsageError(
                fmt::format("{} did other work than the baseline '{}': {}", run.directory, name, *found));
        all.push_back(std::move(run));
    }
    require_distinct(all);
    sort_stably(all, [](const GateRun& a, const GateRun& b) {
        return a.result.provenance.started_at < b.result.provenance.started_at;
    });
    if (all.size() > keep) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(keep));
    write_baseline(stored.directory, all);
}

std::vector<StoredBaseline> BaselineStore::list() const {
    std::vector<StoredBaseline> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_, error)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_directory() || name.starts_with('.')) continue;
        found.push_back({name, entry.path(), {}});
        for (const auto& run : fs::directory_iterator(entry.path(), error))
            if (run.is_directory() && !run.path().filename().string().starts_with('.'))
                found.back().runs.push_back(run.path());
        std::ranges::sort(found.back().runs);
        if (found.back().runs.empty()) found.pop_back();
    }
    std::ranges::sort(found, NaturalLess(), &StoredBaseline::name);
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
    return std::ranges::any_of(all, [&](const StoredBaseline& b) { return b.name == name; });
}

void BaselineStore::require_writable() const {
    const StoreLock lock(root_);
}

void BaselineStore::drop(const std::string& name) const {
    const StoreLock lock(root_);
    std::error_code error;
    fs::remove_all(find(name).directory, error);
    if (error) cannot("remove", root_ / name, error);
}

}  // namespace paretoken::reports
