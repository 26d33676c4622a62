#pragma once
// The exceptions that end a command. Each says what went wrong, where, and what to do. They are caught once,
// in cli/main. A failed request is not an error but data (core/record/record.h); a bug is an assert.
#include <stdexcept>
#include <string>

namespace paretoken {

/// Exit codes of every command.
enum class ExitCode : int {
    ok = 0,
    gate_failed = 1,
    usage = 2,                ///< the command line or an input file is wrong
    runtime = 3,              ///< the environment is wrong: unreachable host, refused request, full disk
    measurement_invalid = 4,  ///< the run ended, but its result proves nothing
    gate_inconclusive = 5,
};

class Error : public std::runtime_error {
  public:
    Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ExitCode code() const { return code_; }

  private:
    ExitCode code_;
};

/// The user asked for something impossible: exit 2.
class UsageError : public Error {
  public:
    explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

/// The command was right but failed: exit 3.
class RuntimeError : public Error {
  public:
    explicit RuntimeError(const std::string& message) : Error(ExitCode::runtime, message) {}
};

}  // namespace paretoken
