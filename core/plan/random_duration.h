#pragma once
// A duration that is fixed or drawn from a distribution, for think times and the patience of users.
#include <string>
#include <string_view>

#include "core/random.h"
#include "core/units.h"

namespace paretoken {

/// A distribution of durations. Its text is "2s" (fixed), "uniform:min=1s,max=3s", "exponential:mean=2s",
/// "normal:mean=2s,stddev=500ms" (negative values are drawn again) or "lognormal:mean=2s,cv=1" (cv is the
/// coefficient of variation; stddev= may replace it). Inside another text with commas, ';' replaces ','.
class RandomDuration {
  public:
    /// Throws UsageError naming the text and what was expected.
    explicit RandomDuration(std::string_view text);

    Duration draw(Random& random) const;  ///< never below 0, never above 1e7 s
    const std::string& text() const { return text_; }

    bool operator==(const RandomDuration&) const = default;

  private:
    enum class Shape : std::uint8_t { fixed, uniform, exponential, normal, lognormal };

    std::string text_;
    Shape shape_ = Shape::fixed;
    double a_ = 0;  ///< seconds: value, least value or mean; lognormal: mean of the logarithm
    double b_ = 0;  ///< seconds: largest value or standard deviation; lognormal: that of the logarithm
};

}  // namespace paretoken
