#pragma once
// How this process was called, without secrets, and what every command that measures does around the
// experiment: keys, directories, errors.
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

/// This process's arguments, for provenance: without_secrets.
experiments::Invocation this_invocation();

/// `argv` with the values of -H, --header and of secret variables in --server-env, credentials in URLs and
/// keys in query strings hidden: results are passed around.
std::vector<std::string> without_secrets(std::vector<std::string> argv);

/// The API key that an environment variable holds, without the spaces and line ends that an editor or `$(cat
/// key)` leaves. Throws UsageError when it is `required` and not there, or could not be sent in a header.
std::string api_key_in(const std::string& variable, bool required);

/// The API key and the proxy variable. Throws UsageError as api_key_in() does for a variable that the user
/// named.
experiments::Access access_of(const LoadPlan& plan);

/// Where a command of this kind writes to: what --out says, else a new "runs/20261121-094512".
reports::OutputRequest output_request(const LoadPlan& plan, reports::OutputKind kind);

/// Does `action`; an error that leaves it has the secrets hidden in its message.
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
