#pragma once
// Upper and lower case of letters. The function is pure.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the text with "A" to "Z" replaced by "a" to "z". All other bytes, UTF-8 among them, stay.
std::string lower_case(std::string_view text);

}  // namespace paretoken
