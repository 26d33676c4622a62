#pragma once
// Finds the known name that was probably meant by an unknown word. The functions are pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

/// Returns the fewest inserted, deleted, replaced or swapped letters that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the name that is nearest to `word`; empty if its edit distance is more than a quarter of the
/// word's length (at least 1 is allowed).
std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace paretoken
