#pragma once
// The name that was probably meant by a word that is none of the known ones. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

/// Fewest letters to insert, delete, replace or swap with a neighbour that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `names`, if it is near enough to have been meant; else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace paretoken
