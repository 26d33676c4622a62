#pragma once
// Writes numbers for sentences. The functions are pure.
#include <string>

namespace paretoken {

/// Returns a text with three significant digits and no exponent: "0.00123", "12.3", but "1467"; at least a
/// millionth in size unless it is 0. Infinity is "inf".
std::string number_text(double value);

/// Returns a share as "3.1 %".
std::string percent_text(double share);

}  // namespace paretoken
