#pragma once
// Gives the arguments of this process without secrets. Also has the steps before and after an experiment that
// all commands which measure share: reading API keys, choosing output directories, hiding secrets in errors.
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text/secrets.h"
#include "experiments/server/provenance.h"
#include "reports/files/output_directory.h"

namespace paretoken {
struct LoadPlan;
}

namespace paretoken::experiments {
struct Access;
}

namespace paretoken::cli {

std::optional<std::string> variable_of_environment(const std::string& name);

/// Returns this process's arguments for provenance, after without_secrets().
experiments::Invocation this_invocation();

/// Returns `argv` with "***" in place of secrets: values of -H and --header, of variables in --server-env
/// with secret names, and credentials and query values of URLs.
std::vector<std::string> without_secrets(std::vector<std::string> argv);

/// Returns the API key in an environment variable, without white space around it; empty if it is missing and
/// not `required`. Throws UsageError if it is required and missing, or contains a control character.
std::string api_key_in(const std::string& variable, bool required);

/// Returns the API key (in the variable that --api-key-env names, or else in OPENAI_API_KEY, which may be
/// missing) and the name of the first proxy variable that is set. Throws UsageError as api_key_in() does.
experiments::Access access_of(const LoadPlan& plan);

/// Returns where a command's output directory shall be (reports/files/output_directory.h): at --out, or
/// else in a new directory that is named after the local time, "runs/20261121-094512". Creates nothing.
reports::OutputRequest output_request(const LoadPlan& plan, reports::OutputKind kind);

/// Returns where a shard that does not decide keeps its runs: beside the output directory, "…-shard-2".
std::filesystem::path directory_of_shard(const LoadPlan& plan);

/// Checks that the value of an option is a finite number from `least` to `most`, or 0 if `zero` is set. The
/// checks of CLI11 are not used, because they accept "nan".
struct AmountWithin {
    double least = 0;
    double most = 0;
    bool zero = true;  ///< whether 0 is allowed even if it is below `least`

    /// Returns why a text is not such a number; empty if it is one.
    std::string operator()(const std::string& text) const;
};

/// Calls `action`, and hides secrets in the message of an exception that it throws. An Error keeps its exit
/// code; std::bad_alloc stays as it is, and any other std::exception becomes a RuntimeError.
template <class Action>
void without_telling(const Secrets& secrets, const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        throw Error(error.code(), secrets.redacted(error.what()));
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw RuntimeError(secrets.redacted(error.what()));
    }
}

}  // namespace paretoken::cli
