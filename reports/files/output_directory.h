#pragma once
// The directory that a command writes its result to, held by one process at a time. A result that is there is
// never replaced unless the user said so, and a directory that got no result is removed again.
#include <filesystem>
#include <string>

namespace paretoken::reports {

enum class OutputKind { run, sweep, gate, cache, watch };

struct OutputRequest {
    std::filesystem::path path;   ///< what --out says; empty: a new directory, `fresh` or `fresh`-2, -3, …
    std::filesystem::path fresh;  ///< "runs/20261121-094512"
    OutputKind kind = OutputKind::run;
    bool overwrite = false;  ///< a result of the same kind may be replaced
};

/// Holds a lock (flock) on DIRECTORY/.paretoken.lock, which names the holder's process and host. The system
/// drops the lock of a process that died, and the next process takes the file over. On a file system without
/// locks the file only informs.
class OutputDirectory {
  public:
    /// Creates the directory where there is none. Throws UsageError when it holds a result that would be
    /// replaced or hidden, RuntimeError when another process writes to it or it cannot be created.
    explicit OutputDirectory(const OutputRequest& request);
    ~OutputDirectory();
    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

    /// Gives the directory free; one that was created here and is still empty is removed. May be called from
    /// another thread, once, before the process ends without running destructors.
    void release() noexcept;

  private:
    void create(const OutputRequest& request);
    void lock();

    std::filesystem::path path_;
    bool created_ = false;
    int lock_ = -1;
};

/// Removes the files of a run from `directory`, so that a new run into it cannot be mixed with them. No error
/// when there are none.
void remove_run(const std::filesystem::path& directory);

}  // namespace paretoken::reports
