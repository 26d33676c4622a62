#include "reports/files/file_io.h"

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

GrowingFile::GrowingFile(fs::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {
    if (file_ < 0)
        throw RuntimeError(
            fmt::format("cannot write {}: {}; give an output directory that can be written (--out)",
                        path_.string(), std::strerror(errno)));
}

void GrowingFile::write(std::string_view bytes) {
    while (error_ == 0 && !bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

void GrowingFile::close() {
    if (file_ < 0) return;
    if (error_ == 0 && ::fsync(file_) != 0 && errno != EINVAL) error_ = errno;
    if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
}

void ensure_directory(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error || !fs::is_directory(directory))
        throw RuntimeError(fmt::format("cannot create the directory {}: {}; choose another --out",
                                       directory.string(),
                                       error ? error.message() : "something else has that name"));
}

}  // namespace paretoken::reports
