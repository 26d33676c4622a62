#include "reports/files/output_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"
#include "reports/files/watch_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kLockName = ".paretoken.lock";
constexpr int kMostSuffixes = 10'000;
/// The time for which a lock is waited for. A process that was killed holds its lock until the system has
/// freed what it had.
constexpr auto kLongestEnd = std::chrono::seconds(1);

[[noreturn]] void cannot_create(const fs::path& path, const std::string& why) {
    throw RuntimeError(
        fmt::format("cannot create the directory {}: {}; choose another --out", path.string(), why));
}

/// Whether `path` is a regular file. Links to devices, which tests use as a full disk, do not count as
/// results.
bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

/// The holder of the lock as it wrote itself into the file: "process 4711 on build-7".
std::string holder_of(int file) {
    std::array<char, 256> text{};
    const ssize_t got = ::pread(file, text.data(), text.size(), 0);
    std::string holder(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    holder.erase(std::min(holder.find('\n'), holder.size()));
    return holder.empty() ? "another process" : holder;
}

std::string this_process() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
    return fmt::format("process {} on {}\n", ::getpid(), host.data());
}

/// Whether `path` still names the open file; its last holder may have removed the file meanwhile.
bool is_same_file(int file, const fs::path& path) {
    struct stat open {};
    struct stat named {};
    return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
           open.st_dev == named.st_dev;
}

/// A kind of result, and the file by which its directory is recognised. Rows are in the order of OutputKind.
struct ResultKind {
    OutputKind kind;
    std::string_view name;  ///< "a run"
    std::string_view file;
    bool continued = false;  ///< whether a command goes on with an unfinished result in the directory
};
constexpr std::array kResultKinds{
    ResultKind{OutputKind::run, "a run", kRunFileName},
    ResultKind{OutputKind::sweep, "a sweep", kSweepFileName, true},
    ResultKind{OutputKind::gate, "a gate", kGateFileName, true},
    ResultKind{OutputKind::cache, "an experiment on prefix caching", kCacheFileName},
    ResultKind{OutputKind::watch, "a watch", kWatchFileName},
};

bool holds(const fs::path& path, const ResultKind& kind) {
    if (is_there(path / kind.file)) return true;
    return kind.kind == OutputKind::run &&
           (is_there(path / kBegunFileName) || is_there(path / kRecordsFileName));
}

/// Throws UsageError if the path, or what it begins with, is there and is no directory, such as /dev/stdout.
void refuse_what_is_no_directory(const fs::path& path) {
    std::error_code ignored;
    for (fs::path above = fs::absolute(path, ignored); above.has_relative_path(); above = above.parent_path())
        if (const auto status = fs::status(above, ignored); fs::exists(status) && !fs::is_directory(status))
            throw UsageError(fmt::format(
                "--out {}: a result is a directory, and {} is there and is none; give another --out",
                path.string(), above.string()));
}

/// Throws UsageError if the directory has a result of another kind, or one that may not be replaced.
void refuse_to_lose(const OutputRequest& request, const fs::path& path) {
    const ResultKind& wanted = kResultKinds[static_cast<std::size_t>(request.kind)];
    const std::string place = path.string();
    for (const ResultKind& other : kResultKinds)
        if (other.kind != wanted.kind && holds(path, other) && !(wanted.continued && holds(path, wanted)))
            throw UsageError(
                fmt::format("{} holds the result of {}; {} needs a directory of its own, give another --out",
                            place, other.name, wanted.name));
    if (request.kind == OutputKind::run) {
        std::error_code ignored;
        const fs::path above = fs::absolute(path, ignored).lexically_normal();
        const fs::path parent =
            above.has_filename() ? above.parent_path() : above.parent_path().parent_path();
        if (is_there(parent / kSweepFileName))
            throw UsageError(
                fmt::format("{} holds a sweep, and {} would be among its points; give another --out",
                            parent.string(), place));
    }
    if (!wanted.continued && holds(path, wanted) && !request.overwrite)
        throw UsageError(
            fmt::format("{} holds the result of {}; give another --out, or --overwrite to replace it", place,
                        wanted.name));
}

}  // namespace

OutputDirectory::OutputDirectory(const OutputRequest& request) {
    if (!request.path.empty()) {
        refuse_what_is_no_directory(request.path);
        refuse_to_lose(request, request.path);
    }
    create(request);
    try {
        lock();
        if (!created_) refuse_to_lose(request, path_);  // another process may have left a result meanwhile
    } catch (...) {
        release();
        throw;
    }
}

OutputDirectory::~OutputDirectory() {
    release();
}

void OutputDirectory::create(const OutputRequest& request) {
    std::error_code error;
    if (!request.path.empty()) {
        path_ = request.path;
        created_ = fs::create_directories(path_, error);
        if (error || !fs::is_directory(path_, error))
            cannot_create(path_, error ? error.message() : "something else has that name");
        return;
    }
    if (request.fresh.has_parent_path()) fs::create_directories(request.fresh.parent_path(), error);
    if (error) cannot_create(request.fresh, error.message());
    for (int number = 1; number <= kMostSuffixes; ++number) {
        path_ = request.fresh;
        if (number > 1) path_ += fmt::format("-{}", number);
        if (::mkdir(path_.c_str(), 0777) == 0) {
            created_ = true;
            return;
        }
        if (errno != EEXIST) cannot_create(path_, std::strerror(errno));
    }
    cannot_create(request.fresh, "that name is taken, also with every number appended");
}

void OutputDirectory::lock() {
    constexpr auto kPoll = std::chrono::milliseconds(20);
    const auto give_up = std::chrono::steady_clock::now() + kLongestEnd;
    const fs::path file = path_ / kLockName;
    while (true) {
        lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (lock_ < 0)
            throw RuntimeError(
                fmt::format("cannot write {}: {}; give an output directory that can be written (--out)",
                            file.string(), std::strerror(errno)));
        if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            const std::string holder = holder_of(lock_);
            ::close(std::exchange(lock_, -1));
            if (std::chrono::steady_clock::now() < give_up) {
                std::this_thread::sleep_for(kPoll);
                continue;
            }
            throw RuntimeError(fmt::format("{} is writing to {}; wait for its end, or give another --out",
                                           holder, path_.string()));
        }
        if (is_same_file(lock_, file)) break;
        ::close(std::exchange(lock_, -1));
    }
    const std::string holder = this_process();
    // The text is only information, so errors are ignored; later writes report a full disk.
    [[maybe_unused]] const int cut = ::ftruncate(lock_, 0);
    [[maybe_unused]] const ssize_t written = ::pwrite(lock_, holder.data(), holder.size(), 0);
}

void OutputDirectory::release() noexcept {
    const int file = std::exchange(lock_, -1);
    if (file >= 0) {
        ::unlink((path_ / kLockName).c_str());
        ::close(file);
    }
    if (std::exchange(created_, false)) ::rmdir(path_.c_str());  // fails if the directory is not empty
}

void remove_run(const fs::path& directory) {
    for (const std::string_view name : {kRunFileName, kBegunFileName, kEndedFileName, kRecordsFileName,
                                        kEventsFileName, kAnswersFileName, kProbeFileName})
        if (std::error_code ignored; is_there(directory / name)) fs::remove(directory / name, ignored);
}

}  // namespace paretoken::reports
