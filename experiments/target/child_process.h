#pragma once
// A program started by a command: its standard output is read, its standard input is held open as the sign
// that we are alive, and it never outlives this object. Its standard error stays ours.
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken::experiments {

class ChildProcess {
  public:
    /// Throws RuntimeError naming the program when it cannot be started.
    ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments);
    ~ChildProcess();  ///< closes its input, then asks it to end, then makes it
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// The next line of its output without the newline; nothing at its end or after `patience`.
    std::optional<std::string> read_line(Duration patience);

    /// Sends a signal; nothing happens when it has ended.
    void signal(int number);

    /// Waits for its end: its exit status, or 128 + the signal that ended it.
    int wait();

  private:
    std::optional<std::string> take_line();

    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string unread_;
    std::optional<int> status_;
};

/// The directory that this program was started from.
std::filesystem::path own_directory();

}  // namespace paretoken::experiments
