#pragma once
// Computes formulas that are text, such as "usd_per_h / 3600 * 1e6 / tokens_per_s".
#include <map>
#include <string>
#include <string_view>

namespace paretoken::reports {

/// Knows + - * / ^, comparisons (which are 1 or 0), parentheses, names, and the functions min, max, ceil, exp
/// and if(condition, then, else). Throws a std::logic_error for anything else.
double value_of(std::string_view formula, const std::map<std::string, double>& names);

}  // namespace paretoken::reports
