#pragma once
// How long: a number of tokens, fixed or drawn from a distribution. Whole tokens, never below 1.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/random.h"

namespace paretoken::datasets {

struct UniformLengths {
    std::int64_t low = 1;
    std::int64_t high = 1;
};

struct NormalLengths {
    double mean = 0;
    double deviation = 0;
    bool logarithmic = false;  ///< mean and deviation are those of the logarithm
    std::int64_t low = 1;      ///< draws are clamped
    std::int64_t high = 1;
};

/// "512" · "512:ratio=0.2" (uniform in L(1±r), as vLLM's range ratio) · "uniform:min=1,max=8" ·
/// "normal:mean=,stddev=" · "lognormal:mean=512,cv=1" (or stddev=). The last two take min= and max=, which
/// clamp. Inside another spec ';' stands for ','.
class Lengths {
  public:
    /// Throws UsageError naming the text and what was expected.
    explicit Lengths(std::string_view text);

    std::int64_t draw(Random& random) const;
    double mean() const;  ///< of the distribution before clamping
    const std::string& text() const { return text_; }

  private:
    std::string text_;
    std::variant<UniformLengths, NormalLengths> shape_;
};

}  // namespace paretoken::datasets
