#include "reports/files/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/run/result_of.h"
#include "reports/files/json.h"
#include "reports/files/recorded_files.h"

namespace paretoken::reports {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void cannot_write(const fs::path& path, int error) {
    throw RuntimeError(fmt::format("cannot write {}: {}; choose another place or make room there",
                                   path.string(), std::strerror(error)));
}

/// A file that is always closed, and removed unless it was kept.
class TemporaryFile {
  public:
    explicit TemporaryFile(fs::path path)
        : path_(std::move(path)),
          file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}
    ~TemporaryFile() {
        close();
        if (!kept_) ::unlink(path_.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    bool is_open() const { return file_ >= 0; }
    bool write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(file_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return false;
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        return ::fsync(file_) == 0;
    }
    bool close() {
        const int file = std::exchange(file_, -1);
        return file < 0 || ::close(file) == 0;
    }
    bool rename_to(const fs::path& path) { return kept_ = ::rename(path_.c_str(), path.c_str()) == 0; }

  private:
    fs::path path_;
    int file_;
    bool kept_ = false;
};

/// Syncs a directory, so that a rename in it survives a power failure. Errors are ignored, because some file
/// systems cannot do this.
void sync_directory(const fs::path& directory) {
    const int file = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    ::fsync(file);
    ::close(file);
}

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

/// Adds the run directories at or below `path`. `caches` is null if the runs of an experiment on prefix
/// caching count as runs like any others.
void add_run_directories(const fs::path& path, std::vector<fs::path>& found,
                         std::vector<fs::path>* caches = nullptr) {
    const bool is_cache = caches != nullptr && fs::exists(path / kCacheFileName);
    if (is_cache) caches->push_back(path);
    if (is_run(path)) {
        found.push_back(path);
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
            if (is_done || holds_records(directory)) found.push_back(directory);
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
    std::sort(below.begin(), below.end());
    for (const fs::path& directory : below) add_run_directories(directory, found, caches);
}

void expect_directory(const fs::path& path, std::string_view commands) {
    std::error_code error;
    if (!fs::is_directory(path, error))
        throw UsageError(
            fmt::format("{} is not a directory; give a directory that {} wrote", path.string(), commands));
}

/// Reads a file of at most `most` bytes, which `option` named.
std::string read_at_most(const fs::path& path, std::size_t most, std::string_view option) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string text;
    ssize_t got = file < 0 ? -1 : 1;
    constexpr std::size_t kStep = std::size_t{1} << 16;
    while (got > 0) {
        const std::size_t size = text.size();
        text.resize(size + kStep);
        got = ::read(file, text.data() + size, kStep);
        text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (text.size() <= most) continue;
        ::close(file);
        throw UsageError(fmt::format("{} {}: the file is longer than {} MiB; check the path", option,
                                     path.string(), most >> 20));
    }
    const int error = errno;
    if (file >= 0) ::close(file);
    if (got < 0)
        throw UsageError(
            fmt::format("cannot read {}: {}; check the path", path.string(), std::strerror(error)));
    return text;
}

}  // namespace

void ensure_directory(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error || !fs::is_directory(directory))
        throw RuntimeError(fmt::format("cannot create the directory {}: {}; choose another --out",
                                       directory.string(),
                                       error ? error.message() : "something else has that name"));
}

void write_file_atomically(const fs::path& path, std::string_view text) {
    const fs::path beside =
        path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
    TemporaryFile file(beside);
    if (!file.is_open() || !file.write(text) || !file.close() || !file.rename_to(path))
        cannot_write(path, errno);
    sync_directory(path.parent_path());
}

std::string read_file(const fs::path& path) {
    return read_at_most(path, std::numeric_limits<std::size_t>::max(), {});
}

std::string read_option_file(const fs::path& path, std::string_view option) {
    return read_at_most(path, kLongestOptionFile, option);
}

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
                            "directory that "
                            "`paretoken run --out` wrote",
                            directory.string(), kRunFileName, kBegunFileName));
        const StoredRun stored = read_recorded(directory);
        return result_of(stored.recorded, stored.judging);
    }
    try {
        return parse_run_json(read_file(path), path.string());
    } catch (const UsageError& error) {
        if (!holds_recorded(directory)) throw;
        throw UsageError(
            fmt::format("{}; if {} is deleted, `paretoken report` makes it again from the records",
                        error.what(), kRunFileName));
    }
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
    std::vector<fs::path> found;
    add_run_directories(path, found);
    if (found.empty())
        throw UsageError(fmt::format("no {} at or below {}; give a directory that {} wrote", kRunFileName,
                                     path.string(), kCommands));
    return found;
}

ResultDirectories find_result_directories(const fs::path& path) {
    constexpr std::string_view kCommands = "`paretoken run`, `paretoken sweep` or `paretoken cache`";
    expect_directory(path, kCommands);
    ResultDirectories found;
    add_run_directories(path, found.runs, &found.caches);
    if (found.runs.empty() && found.caches.empty())
        throw UsageError(fmt::format("no {} and no {} at or below {}; give a directory that {} wrote",
                                     kRunFileName, kCacheFileName, path.string(), kCommands));
    return found;
}

}  // namespace paretoken::reports
