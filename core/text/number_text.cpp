#include "core/text/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace paretoken {

std::string number_text(double value) {
    constexpr int kDigits = 3;
    constexpr int kMostDecimals = 6;
    if (!std::isfinite(value) || value == 0) return fmt::format("{:g}", value);
    const int before_the_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
    const int decimals = kDigits - before_the_point;
    if (decimals <= 0) return fmt::format("{:.0f}", value);
    if (decimals > kMostDecimals)
        return fmt::format("{:.6f}", std::copysign(std::max(std::abs(value), 1e-6), value));
    std::string text = fmt::format("{:.{}f}", value, decimals);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::string percent_text(double share) {
    return number_text(100 * share) + " %";
}

}  // namespace paretoken
