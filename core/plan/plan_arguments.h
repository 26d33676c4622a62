#pragma once
// Makes a command line for a plan from its echo in a result. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken {

/// Returns arguments as one line for a POSIX shell.
std::string shell_line(const std::vector<std::string>& argv);

/// Returns the arguments with the value of option `name` ("--out") replaced, or added if it is not given.
std::vector<std::string> with_option(std::vector<std::string> argv, std::string_view name,
                                     std::string_view value);

/// Returns options for the fields of `echo` that are not at their defaults. Left out are hidden secrets, the
/// salt (each run has a new one), --out, --overwrite and --metadata.
std::vector<std::string> arguments_of(const PlanEcho& echo);

}  // namespace paretoken
