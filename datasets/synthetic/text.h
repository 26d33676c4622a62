#pragma once
// Makes texts of a wanted number of tokens from common English words, by a Calibration. Neighbouring requests
// never begin with the same word, so that a prefix cache finds nothing in them.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "datasets/synthetic/calibration.h"

namespace paretoken::datasets {

/// Returns words of 2 to 7 letters, lower case, all different.
std::span<const std::string_view> vocabulary();

std::size_t opening_words();

class TextWriter {
  public:
    explicit TextWriter(Calibration calibration);

    /// Returns a text that makes a prompt of `tokens` tokens with the calibration's overhead, at least one
    /// word. Texts whose `opening` differs modulo openings() begin with different words.
    std::string prompt(std::int64_t tokens, std::uint64_t opening, Random random) const;

    /// Appends words of `tokens` tokens. The words do not depend on the text before them.
    void append(std::string& text, std::int64_t tokens, Random random) const;

    /// Returns a text of `words` words, for calibration_from_counts().
    std::string of_words(std::size_t words, std::uint64_t opening, Random random) const;

    /// Returns the number of tokens that a text of vocabulary() is expected to have, without overhead.
    double expected_tokens(std::string_view text) const;

    std::size_t openings() const { return openings_.size(); }
    const Calibration& calibration() const { return calibration_; }

  private:
    /// Draws a word that brings a text nearer to `left` more tokens; returns nothing if no word does.
    std::optional<std::uint32_t> next_word(double left, Random& random) const;
    /// Appends words of about `left` tokens.
    void append_words(std::string& text, double left, Random& random) const;

    Calibration calibration_;
    /// The words that can begin a text: those of one token there, or all opening_words() if under 64.
    std::vector<std::uint32_t> openings_;
    /// The words that have exactly one token; empty if there are fewer than 64 of them.
    std::vector<std::uint32_t> singles_;
    std::vector<std::uint32_t> by_cost_;  ///< words of more than 0 tokens, those of the fewest first
};

}  // namespace paretoken::datasets
