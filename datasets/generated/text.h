#pragma once
// Text of a wanted number of tokens, made of common short English words. What a word costs comes from a
// Calibration; which words are used is drawn, except for the first: neighbouring requests never begin with
// the same word, so a prefix cache finds nothing in them.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "datasets/generated/calibration.h"

namespace paretoken::datasets {

/// Words of 2 to 7 letters, lower case, all different.
std::span<const std::string_view> vocabulary();

/// A text begins with one of the first opening_words() of them.
std::size_t opening_words();

class TextWriter {
  public:
    explicit TextWriter(Calibration calibration);

    /// A text that makes a prompt of `tokens` tokens with the overhead (at least one word, whatever
    /// `tokens`). `opening`: texts of different openings (modulo openings()) begin differently.
    std::string prompt(std::int64_t tokens, std::uint64_t opening, Random random) const;

    /// Words of `tokens` tokens behind what is there; the same words wherever they stand.
    void append(std::string& text, std::int64_t tokens, Random random) const;

    /// A text of so many words; for calibration_from_counts().
    std::string of_words(std::size_t words, std::uint64_t opening, Random random) const;

    /// Tokens that such a text is expected to have, without overhead.
    double expected_tokens(std::string_view text) const;

    std::size_t openings() const { return openings_.size(); }
    const Calibration& calibration() const { return calibration_; }

  private:
    /// A word that brings a text nearer to `left` more tokens; nothing when none does.
    std::optional<std::uint32_t> next_word(double left, Random& random) const;

    Calibration calibration_;
    std::vector<std::uint32_t> openings_;  ///< words to begin with: those of one token, all when they are few
    std::vector<std::uint32_t> singles_;   ///< words of exactly one token; empty when they are few
    std::vector<std::uint32_t> by_cost_;   ///< all, cheapest first
};

}  // namespace paretoken::datasets
