#pragma once
// The exceptions that end a command unless a caller handles them. Each says what went wrong, where, and what
// to do; main() prints that. A failed request is data (core/record/record.h); a bug is an assert.
#include <stdexcept>
#include <string>
#include <string_view>

namespace paretoken {

/// Exit codes of every command.
enum class ExitCode : int {
    ok = 0,
    gate_failed = 1,          ///< a gate, a limit (SLO), an alert, a comparison or a search failed
    usage = 2,                ///< the command line or an input file is wrong
    runtime = 3,              ///< the environment is wrong: unreachable host, refused request, full disk
    measurement_invalid = 4,  ///< the run ended, but its result proves nothing
    gate_inconclusive = 5,    ///< the evidence does not decide a gate, a search or a limit
    interrupted = 130,        ///< a signal ended the command before anything was measured
};

class Error : public std::runtime_error {
  public:
    Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ExitCode code() const { return code_; }

  private:
    ExitCode code_;
};

/// The command line or an input file is wrong: exit 2.
class UsageError : public Error {
  public:
    explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

/// Calls `parse` and returns its result. If `parse` throws a UsageError, `name` is put in front of the
/// message; it is e.g. the name of the option whose value `parse` reads.
template <typename Parse>
auto naming(std::string_view name, Parse&& parse) {
    try {
        return parse();
    } catch (const UsageError& error) {
        throw UsageError(std::string(name) + " " + error.what());
    }
}

/// The command was right but failed: exit 3.
class RuntimeError : public Error {
  public:
    explicit RuntimeError(const std::string& message) : Error(ExitCode::runtime, message) {}
};

}  // namespace paretoken
