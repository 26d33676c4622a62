#pragma once
// How deep a JSON text nests, without parsing it. What writes JSON recursively must not be given a text that
// nests so deep that the stack ends. Pure.
#include <cstddef>
#include <string_view>

namespace paretoken {

/// More levels than any file of ours has.
inline constexpr std::size_t kDeepestJson = 64;

/// Whether arrays and objects of `json` lie in one another more than `most` deep. Of what is no JSON it says
/// something, too.
bool nests_deeper_than(std::size_t most, std::string_view json);

}  // namespace paretoken
