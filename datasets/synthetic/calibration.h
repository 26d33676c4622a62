#pragma once
// Finds out how many tokens a server makes of each word of vocabulary() (text.h). Counts from /tokenize are
// exact per word; the usage in an answer gives only the mean over words.
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paretoken::datasets {

struct Calibration {
    double overhead_tokens = 0;       ///< tokens that the chat template (or a BOS) adds to every prompt
    std::vector<double> word_tokens;  ///< tokens of " word", by position in vocabulary() (text.h)
    /// The tokens of the first opening_words() words of vocabulary() at the start of a text.
    std::vector<double> opening_word_tokens;
    double prose_word_tokens = 1;  ///< mean over the words of the prose that prompts are cut from
    std::string source = {};       ///< "/tokenize", "usage" or "uncalibrated"

    bool operator==(const Calibration&) const = default;
};

/// Returns the calibration that is assumed when a server gives no counts: one token per word and no overhead.
Calibration uncalibrated();

/// Returns the text that the server must tokenize for calibration_from_pieces().
std::string calibration_text();

/// Counts the tokens of every word from the tokens of calibration_text(), each as text; the overhead is 0. A
/// BOS and a blank before the first word are ignored. Nothing if the others are not that text.
std::optional<Calibration> calibration_from_pieces(std::span<const std::string> pieces);

struct CountSample {
    double words = 0;
    double tokens = 0;
};

/// Fits overhead (at least 0) and tokens per word (1 within 0.001) by least squares; nothing without two
/// different numbers of words, or without tokens per word.
std::optional<Calibration> calibration_from_counts(std::span<const CountSample> samples);

/// The tokens that a calibrated text was expected to have, and those that the server counted.
struct OverheadSample {
    double expected_text_tokens = 0;
    double prompt_tokens = 0;
};

/// Returns the mean of counted less expected tokens, which a chat template adds; nothing without samples.
/// Below 0: the calibration expects too many tokens.
std::optional<double> overhead_from(std::span<const OverheadSample> samples);

}  // namespace paretoken::datasets
