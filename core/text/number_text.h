#pragma once
// Writes numbers for sentences. The functions are pure.
#include <string>

namespace paretoken {

/// Returns a text with three significant digits and no exponent: "0.00123", "12.3", but "1467", with at most
/// six decimals and no zeros at their end above 0.0001. Values nearer to 0 than a millionth are written as a
/// millionth; infinity is "inf".
std::string number_text(double value);

/// Returns a share as "3.1 %".
std::string percent_text(double share);

}  // namespace paretoken
