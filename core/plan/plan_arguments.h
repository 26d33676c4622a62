#pragma once
// Computes a command line, or the texts of options, from a plan's echo. The functions are pure.
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken {

/// Returns arguments as one line for a POSIX shell.
std::string shell_line(const std::vector<std::string>& argv);

/// Returns the arguments with the value of option `name` ("--out") replaced, or added if it is not given.
std::vector<std::string> with_option(std::vector<std::string> argv, std::string_view name,
                                     std::string_view value);

/// Returns the URL (unless a command starts the server) and the options for the fields of `echo` that are not
/// at their defaults, without secrets, salt, --out, --overwrite, --metadata and named classes.
std::vector<std::string> arguments_of(const PlanEcho& echo);

/// Returns the texts of the same fields, and the URL in any case, from which plan_of() makes a plan.
PlanTexts texts_of(const PlanEcho& echo);

}  // namespace paretoken
