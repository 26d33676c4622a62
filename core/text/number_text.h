#pragma once
// Numbers as people read them in a sentence. Pure.
#include <string>

namespace paretoken {

/// Three significant digits and never an exponent: "0.00123", "12.3", "1467". What is nearer to 0 than a
/// millionth is written as a millionth.
std::string number_text(double value);

/// A share as "3.1 %".
std::string percent_text(double share);

}  // namespace paretoken
