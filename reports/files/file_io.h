#pragma once
// Reads and writes whole files, and names the files of a run directory.
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace paretoken::reports {

inline constexpr std::string_view kRunFileName = "run.json";
inline constexpr std::string_view kRecordsFileName = "requests.jsonl";
inline constexpr std::string_view kEventsFileName = "events.bin";
inline constexpr std::string_view kAnswersFileName = "answers.jsonl";
inline constexpr std::string_view kProbeFileName = "probe.jsonl";
inline constexpr std::string_view kSweepFileName = "sweep.json";
inline constexpr std::string_view kCacheFileName = "cache.json";
inline constexpr std::string_view kGateFileName = "gate.json";

/// Replaces the file by renaming a synced temporary one beside it, so that a reader sees the old text or the
/// whole new one. Throws a RuntimeError with the path and the system's reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Reads a whole file. Throws a UsageError with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// The most bytes of a file that an option names, such as a policy.
inline constexpr std::size_t kLongestOptionFile = std::size_t{64} << 20;

/// Reads the file that `option` ("--policy") names. Throws a UsageError if it is longer than
/// kLongestOptionFile, as a device such as /dev/zero is, and as read_file() does.
std::string read_option_file(const std::filesystem::path& path, std::string_view option);

/// A file that only grows. After a failed write nothing more is written: only its end can be incomplete.
class GrowingFile {
  public:
    /// Opens the file and replaces an existing one. Throws RuntimeError.
    explicit GrowingFile(std::filesystem::path path);
    ~GrowingFile() { close(); }
    GrowingFile(const GrowingFile&) = delete;
    GrowingFile& operator=(const GrowingFile&) = delete;

    void write(std::string_view bytes);
    /// Syncs (not devices and pipes) and closes the file; some systems report a full disk only here.
    void close();

    int error() const { return error_; }  ///< errno of the first write that failed; 0 if none did
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    int file_;
    int error_ = 0;
};

void ensure_directory(const std::filesystem::path& directory);

}  // namespace paretoken::reports
