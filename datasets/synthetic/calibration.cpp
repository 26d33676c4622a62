#include "datasets/synthetic/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "datasets/synthetic/text.h"

namespace paretoken::datasets {
namespace {

/// The place of a word in the calibration text, with its blank: bytes [begin, end).
struct Place {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint32_t word = 0;
    bool opening = false;  ///< whether it begins a line and has no blank
};

struct CalibrationText {
    std::string text;
    std::vector<Place> places;  ///< places of all words, in order
};

/// Makes the text: one line per opening word, with that word without and with its blank ("time time"); the
/// other words end the last line.
CalibrationText make_calibration_text() {
    CalibrationText made;
    const auto add = [&](std::uint32_t word, bool opening) {
        const std::size_t begin = made.text.size();
        if (!opening) made.text += ' ';
        made.text += vocabulary()[word];
        made.places.push_back({begin, made.text.size(), word, opening});
    };
    const auto words = static_cast<std::uint32_t>(vocabulary().size());
    const auto openings = static_cast<std::uint32_t>(opening_words());
    for (std::uint32_t word = 0; word < openings; ++word) {
        if (word != 0) made.text += '\n';
        add(word, true);
        add(word, false);
    }
    for (std::uint32_t word = openings; word < words; ++word) add(word, false);
    return made;
}

/// Returns the first piece in the form of `text`. SentencePiece writes a blank before the first word, and
/// some servers return a BOS although none was requested.
std::string_view as_first_piece(std::string_view piece, std::string_view text) {
    if (text.starts_with(piece)) return piece;
    if (piece.starts_with(' ') && text.starts_with(piece.substr(1))) return piece.substr(1);
    return piece.starts_with('<') || piece.starts_with('[') ? std::string_view{} : piece;
}

}  // namespace

Calibration uncalibrated() {
    return {.overhead_tokens = 0,
            .word_tokens = std::vector<double>(vocabulary().size(), 1.0),
            .opening_word_tokens = std::vector<double>(opening_words(), 1.0),
            .source = "uncalibrated"};
}

std::string calibration_text() {
    return make_calibration_text().text;
}

std::optional<Calibration> calibration_from_pieces(std::span<const std::string> pieces) {
    const CalibrationText made = make_calibration_text();
    Calibration calibration{.overhead_tokens = 0,
                            .word_tokens = std::vector<double>(vocabulary().size(), 0.0),
                            .opening_word_tokens = std::vector<double>(opening_words(), 0.0),
                            .source = "/tokenize"};
    std::size_t at = 0;
    auto place = made.places.begin();
    for (std::string_view piece : pieces) {
        const std::string_view rest = std::string_view(made.text).substr(at);
        if (at == 0) piece = as_first_piece(piece, rest);
        if (piece.empty()) continue;
        if (!rest.starts_with(piece)) return std::nullopt;
        at += piece.size();
        // A token counts for the word that holds its last byte; line ends belong to no word.
        while (place != made.places.end() && place->end < at) ++place;
        if (place == made.places.end() || place->begin >= at) continue;
        ++(place->opening ? calibration.opening_word_tokens : calibration.word_tokens)[place->word];
    }
    if (at != made.text.size()) return std::nullopt;
    return calibration;
}

std::optional<Calibration> calibration_from_counts(std::span<const CountSample> samples) {
    if (samples.empty()) return std::nullopt;
    const double n = static_cast<double>(samples.size());
    double words = 0, tokens = 0;
    for (const CountSample& sample : samples) {
        words += sample.words / n;
        tokens += sample.tokens / n;
    }
    double spread = 0, together = 0;
    for (const CountSample& sample : samples) {
        spread += (sample.words - words) * (sample.words - words);
        together += (sample.words - words) * (sample.tokens - tokens);
    }
    if (spread == 0 || together <= 0) return std::nullopt;
    double per_word = together / spread;
    // If the mean is almost exactly 1, the server makes one token of each word; then counts are exact.
    if (std::abs(per_word - 1) < 1e-3) per_word = 1;
    return Calibration{.overhead_tokens = std::max(0.0, tokens - per_word * words),
                       .word_tokens = std::vector<double>(vocabulary().size(), per_word),
                       .opening_word_tokens = std::vector<double>(opening_words(), per_word),
                       .source = "usage"};
}

std::optional<double> overhead_from(std::span<const OverheadSample> samples) {
    if (samples.empty()) return std::nullopt;
    double surplus = 0;
    for (const OverheadSample& sample : samples)
        surplus += sample.prompt_tokens - sample.expected_text_tokens;
    return surplus / static_cast<double>(samples.size());
}

}  // namespace paretoken::datasets
