#pragma once
// The arguments of this process without secrets, and the steps that every command that measures needs around
// the experiment: keys, directories, errors.
#include <exception>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/plan_arguments.h"
#include "core/text/secrets.h"
#include "experiments/target/provenance.h"
#include "reports/files/output_directory.h"

namespace paretoken::cli {

/// Returns this process's arguments for provenance, after without_secrets().
experiments::Invocation this_invocation();

/// Returns `argv` with the values of -H, --header and of secret variables in --server-env, credentials in
/// URLs and keys in query strings hidden, because results are shared.
std::vector<std::string> without_secrets(std::vector<std::string> argv);

/// Returns the API key of an environment variable, without the spaces and line ends that an editor or `$(cat
/// key)` leaves. Throws UsageError when it is `required` and missing, or cannot be sent in a header.
std::string api_key_in(const std::string& variable, bool required);

/// Returns the API key and the proxy variable. Throws UsageError as api_key_in() does, if the user named the
/// key's variable.
experiments::Access access_of(const LoadPlan& plan);

/// Returns the output directory of a command: --out, or else a new "runs/20261121-094512".
reports::OutputRequest output_request(const LoadPlan& plan, reports::OutputKind kind);

/// Calls `action`. Secrets are hidden in the message of an error that it throws.
template <class Action>
void without_telling(const Secrets& secrets, const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        throw Error(error.code(), secrets.redacted(error.what()));
    } catch (const std::exception& error) {
        throw RuntimeError(secrets.redacted(error.what()));
    }
}

}  // namespace paretoken::cli
