#pragma once
// The directory of a command's result, which one process at a time holds. An empty new one is removed again.
#include <filesystem>

namespace paretoken::reports {

enum class OutputKind { run, sweep, gate, cache, watch };

struct OutputRequest {
    std::filesystem::path path;  ///< value of --out; empty means a new directory with the name `fresh`
    /// Path of a new directory: "runs/20261121-094512". If it exists, "-2", "-3", … is appended.
    std::filesystem::path fresh = {};
    OutputKind kind = OutputKind::run;
    bool overwrite = false;  ///< whether a result of the same kind may be replaced
};

/// Holds a lock (flock) on DIRECTORY/.paretoken.lock, whose text names the holder; a held lock is waited for,
/// up to a second. On a file system without locks it keeps nobody out.
class OutputDirectory {
  public:
    /// Creates the directory. Throws UsageError if something else is there, a result of another kind, or
    /// without `overwrite` a run, cache experiment or watch; a sweep or gate goes on. Throws RuntimeError
    /// when another process holds the directory or it cannot be created.
    explicit OutputDirectory(const OutputRequest& request);
    ~OutputDirectory();
    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

    /// Releases the lock, and removes the directory if this object created it and it is still empty. Another
    /// thread may call this, once, right before it ends the process without running destructors.
    void release() noexcept;

  private:
    void create(const OutputRequest& request);
    void lock();

    std::filesystem::path path_;
    bool created_ = false;
    int lock_ = -1;
};

/// Removes the files of a run from `directory`, if there are any.
void remove_run(const std::filesystem::path& directory);

}  // namespace paretoken::reports
