#pragma once
// Writes numbers for sentences. The functions are pure.
#include <string>

namespace paretoken {

/// Returns a text with three significant digits and without an exponent: "0.00123", "12.3". A number of four
/// or more digits before the point keeps all of them ("1467"), and there are at most six decimals. Zeros at
/// the end of the decimals are left out ("3"), except for values below 0.0001. A value other than 0 that is
/// nearer to 0 than a millionth is written as a millionth with its sign. Infinity is "inf".
std::string number_text(double value);

/// Returns a share as "3.1 %".
std::string percent_text(double share);

}  // namespace paretoken
