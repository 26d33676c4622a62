#pragma once
// Lengths in tokens, fixed or drawn from a distribution. They are whole numbers, never below 1.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
    std::int64_t low = 1;      ///< smallest length; draws are clamped
    std::int64_t high = 1;
};

/// The lengths low, low + 1, low + 2 and so on have the ranks 1, 2, 3 and so on, and probabilities ∝ rank^−s.
struct ZipfLengths {
    std::int64_t low = 1;
    std::vector<double> below;  ///< cumulative probability: of this rank or a lower one
};

/// Lengths that were observed, all equally likely.
struct EmpiricalLengths {
    std::vector<std::int64_t> seen;
};

/// A distribution of lengths, given as "512", "512:ratio=0.2" (uniform from 512 · 0.8 to 512 · 1.2),
/// "uniform:min=1,max=8", "normal:mean=512,stddev=64" or "lognormal:mean=512,cv=1" (clamped by min= and
/// max=), "zipf:s=1.1,max=4096" or "empirical:path=FILE,column=K" (a column of a csv file, by its number from
/// 1 or its name). Inside another spec, ';' stands for ','.
class Lengths {
  public:
    /// Throws UsageError naming the text and what was expected, or the file that cannot be read.
    explicit Lengths(std::string_view text);

    std::int64_t draw(Random& random) const;
    double mean() const;  ///< mean of the distribution before clamping
    const std::string& text() const { return text_; }

  private:
    std::string text_;
    std::variant<UniformLengths, NormalLengths, ZipfLengths, EmpiricalLengths> shape_;
};

struct LengthPair {
    std::int64_t input = 1;
    std::int64_t output = 1;
    double share = 1;

    bool operator==(const LengthPair&) const = default;
};

/// "pairs:512/128=.7;4096/256=.3": pairs of an input and an output length, with their shares. A share that is
/// not given is 1; the shares are then scaled so that they add up to 1.
class LengthPairs {
  public:
    /// `text` must begin with "pairs:". Throws UsageError naming the text and what was expected.
    explicit LengthPairs(std::string_view text);

    LengthPair draw(Random& random) const;
    double mean_input() const;
    double mean_output() const;
    const std::string& text() const { return text_; }

  private:
    std::string text_;
    std::vector<LengthPair> pairs_;  ///< their shares add up to 1
};

}  // namespace paretoken::datasets
