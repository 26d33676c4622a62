#pragma once
// Sizes of memory in options: "24GiB", "80GB".
#include <string_view>

namespace paretoken {

/// Reads a size of memory as bytes: "24GiB", "16.5 GiB", "80GB", "512MiB", "0". A number other than 0 needs a
/// unit, because GB and GiB differ by 7 %. Throws UsageError naming the text and what was expected.
double parse_bytes(std::string_view text);

}  // namespace paretoken
