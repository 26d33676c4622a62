#pragma once
// Tests whether a JSON text nests too deep, without parsing it. Code that processes JSON recursively must
// not get a text so deep that the stack overflows. The function is pure.
#include <cstddef>
#include <string_view>

namespace paretoken {

/// The most levels allowed; none of our files has as many.
inline constexpr std::size_t kDeepestJson = 64;

/// Returns whether `json`, if it is JSON, nests more than `most` deep.
bool nests_deeper_than(std::size_t most, std::string_view json);

}  // namespace paretoken
