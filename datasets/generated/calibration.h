#pragma once
// How many tokens a server makes of our words, found out by asking it. Pure: the questions are texts and
// counts, who asks them is not our business. Counts from /tokenize are exact per word; from usage only their
// mean is known.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::datasets {

struct Calibration {
    double overhead_tokens = 0;       ///< what the chat template (or a BOS) adds to every prompt
    std::vector<double> word_tokens;  ///< of " word", by position in vocabulary() (text.h)
    std::vector<double>
        opening_word_tokens;       ///< of "word" without its blank, of the first opening_words() words
    double prose_word_tokens = 1;  ///< mean of the words of the text that prompts are cut from
    std::string source = {};       ///< "/tokenize", "usage" or "uncalibrated"

    bool operator==(const Calibration&) const = default;
};

/// One token per word, nothing around: what is assumed when a server tells nothing.
Calibration uncalibrated();

/// The text to have tokenized, for calibration_from_pieces().
std::string calibration_text();

/// `pieces`: the tokens of calibration_text() as text, in order. Nothing when they do not make up that text.
std::optional<Calibration> calibration_from_pieces(std::span<const std::string> pieces);

/// A text of `words` words and the prompt tokens that the server counted.
struct CountSample {
    double words = 0;
    double tokens = 0;
};

/// Overhead and tokens per word by least squares. Nothing without two different numbers of words, or when the
/// fit makes no sense (no tokens per word).
std::optional<Calibration> calibration_from_counts(std::span<const CountSample> samples);

/// What a calibrated text was expected to have and what the server counted.
struct OverheadSample {
    double expected_text_tokens = 0;
    double prompt_tokens = 0;
};

/// The mean surplus; nothing for no samples. Below 0 when the calibration counts too much.
std::optional<double> overhead_from(std::span<const OverheadSample> samples);

}  // namespace paretoken::datasets
