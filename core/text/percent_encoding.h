#pragma once
// The percent-encoding of URLs. The function is pure.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the text with "%41" replaced by "A". A percent sign without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

}  // namespace paretoken
