#pragma once
// The directory that a command writes its result to, held by one process at a time. A new directory that
// stays empty is removed again.
#include <filesystem>
#include <string>

namespace paretoken::reports {

enum class OutputKind { run, sweep, gate, cache, watch };

struct OutputRequest {
    std::filesystem::path path;   ///< value of --out; empty: a new directory, `fresh` or `fresh`-2, -3, …
    std::filesystem::path fresh;  ///< "runs/20261121-094512"
    OutputKind kind = OutputKind::run;
    bool overwrite = false;  ///< whether a result of the same kind may be replaced
};

/// Holds a lock (flock) on DIRECTORY/.paretoken.lock, which names the holder's process and host. The system
/// drops the lock of a process that died, and the next process takes the file over. On a file system without
/// locks the file only shows the holder.
class OutputDirectory {
  public:
    /// Creates the directory if there is none. Throws UsageError if it holds a result of another kind, if a
    /// run would be among the points of a sweep, or if a run, a cache experiment or a watch would be replaced
    /// and `overwrite` is false; sweeps and gates go on with what is there, and their commands check that it
    /// fits. Throws RuntimeError when another process writes to the directory or it cannot be created.
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

/// Removes the files of a run from `directory`, so that they cannot be mixed with those of a new run. It is
/// no error if there are none.
void remove_run(const std::filesystem::path& directory);

}  // namespace paretoken::reports
