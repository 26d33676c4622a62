#pragma once
// A program that this process starts and that ends with this object. We read its standard output, and it
// shares our standard error. Its standard input ends when we end, even if we are killed.
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
    ~ChildProcess();  ///< closes its input, then asks it to end, then kills it
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Returns the next line, without its newline; nothing if no newline comes by the end or `patience`.
    std::optional<std::string> read_line(Duration patience);

    /// Sends a signal; does nothing if the program has ended.
    void signal(int number);

    /// Waits for its end. Returns its exit status, or 128 + the signal that ended it.
    int wait();

  private:
    std::optional<std::string> take_line();

    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string unread_;
    std::optional<int> status_;
};

/// Returns the directory of this program's executable.
std::filesystem::path own_directory();

}  // namespace paretoken::experiments
