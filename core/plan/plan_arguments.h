#pragma once
// A command line that asks for a plan again, from its echo in a result. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken {

/// Arguments as one line that a POSIX shell takes back.
std::string shell_line(const std::vector<std::string>& argv);

/// The arguments with the value of option `name` ("--out") replaced, wherever it is given, or added.
std::vector<std::string> with_option(std::vector<std::string> argv, std::string_view name,
                                     std::string_view value);

/// Options for the fields of `echo` that are not at their defaults. Left out: where results go, the salt (a
/// run has a fresh one), and what is secret.
std::vector<std::string> arguments_of(const PlanEcho& echo);

}  // namespace paretoken
