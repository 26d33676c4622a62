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

/// Lengths are given as one of these texts (inside another spec, ';' stands for ','):
/// - "512": always this length.
/// - "512:ratio=0.2": uniform from 512 · 0.8 to 512 · 1.2, like the range ratio of vLLM's benchmark.
/// - "uniform:min=1,max=8"
/// - "normal:mean=512,stddev=64" and "lognormal:mean=512,cv=1": both need stddev= or cv=, but not both of
///   them. They also accept min= and max=, to which draws are clamped.
/// - "zipf:s=1.1,max=4096": min= is 1 if it is not given.
/// - "empirical:path=FILE,column=K": the values in a column of a file of comma-separated values. K is the
///   number of the column, counted from 1, or its name in the header.
class Lengths {
  public:
    /// Throws UsageError naming the text and what was expected; RuntimeError when a file cannot be read.
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
