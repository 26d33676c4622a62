#pragma once
// The first message of a process to shard 0, the check that both belong to one load, and how errors are told.
#include <string>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/shard.h"
#include "core/record/provenance.h"

namespace paretoken::experiments {

struct Hello {
    std::string token = {};  ///< that of the place where they meet
    std::string version = {};
    std::string host = {};
    Shard shard = {};
    PlanEcho plan = {};  ///< the options that must be equal

    bool operator==(const Hello&) const = default;
};

/// Returns the hello of this process; `asked` is a plan after with_dataset(), with files' hashes.
Hello hello_of(const LoadPlan& asked, const std::string& token);

std::string text_of(const Hello& hello);
/// Throws UsageError if the text is no hello.
Hello parse_hello(const std::string& text);

/// Returns why a process with this hello cannot take part in the load of shard 0; empty if it can.
std::string objection_to(const Hello& hello, const Hello& leader);

// An error that one process tells another.
std::string text_of(const Error& error);
Error parse_error(const std::string& text);

}  // namespace paretoken::experiments
