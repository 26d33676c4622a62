#pragma once
// A program that this process starts and ends with the object. This process reads its standard output. Its
// standard input is a pipe without data, which closes when this process ends, even if it is killed.
#include <sys/types.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::experiments {

class ChildProcess {
  public:
    /// Throws RuntimeError naming the program when it cannot be started.
    ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments);
    ~ChildProcess();  ///< closes the child's input; if it still runs, sends SIGTERM and later SIGKILL
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Returns the next line of output; nothing if it ends, or `patience` passes, before a newline comes.
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

std::filesystem::path own_directory();

/// Returns where a file of this installation may be, for a program in `directory`: beside it, as in a build
/// and in a Python environment, or below the prefix of an installation, in libexec/paretoken.
std::array<std::filesystem::path, 2> places_of(const std::filesystem::path& directory, std::string_view name);
/// Returns the first of these places that has the file; nothing if none has.
std::optional<std::filesystem::path> installed_file(const std::filesystem::path& directory,
                                                    std::string_view name);

}  // namespace paretoken::experiments
