#pragma once
// Writes numbers for sentences. Pure.
#include <string>

namespace paretoken {

/// Returns a text with three significant digits, or all digits before the point if these are more, and at
/// most six decimals, without an exponent: "0.00123", "12.3", "1467". Zeros at the end of the decimals are
/// left out ("3"), except for values below 0.0001. A value other than 0 that is nearer to 0 than a millionth
/// is written as a millionth with its sign. Infinity is "inf".
std::string number_text(double value);

/// Returns a share as "3.1 %".
std::string percent_text(double share);

}  // namespace paretoken
