#pragma once
// Computations of a shell: "((n = 2 * m))", "let n=2*m" and "$((2 * m))".
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cli {

using Words = std::vector<std::string>;

/// Returns the value of a variable; nothing if it is not known.
using ValueOf = std::function<std::optional<std::string>(const std::string& name)>;

/// Returns the value of a computation with whole numbers, variables, + - * / %, comparisons, "A ? B : C" and
/// parentheses; nothing if it is another one, a value is not known, or a number is above 2^31.
std::optional<std::int64_t> value_of_computation(std::string_view text, const ValueOf& value_of);

/// Returns what a computation sets, as words NAME=$((…)): "n *= 2, i++" is n=$((n*(2))) and i=$((i+1)).
Words assignments_in_computation(std::string_view text);

/// Returns the computation in "((…))"; nothing if the word is another one.
std::optional<std::string_view> computation_in(std::string_view word);

/// Returns the names in a text that may be those of variables.
std::set<std::string> names_in(std::string_view text);

}  // namespace paretoken::cli
