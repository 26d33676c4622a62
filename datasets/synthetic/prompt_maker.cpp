#include "datasets/synthetic/prompt_maker.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "core/error.h"
#include "core/random_below.h"
#include "datasets/synthetic/prose.h"

namespace paretoken::datasets {
namespace {

constexpr double kOpeningTokens = 4;  ///< tokens of random words before prose

}  // namespace

PromptMaker::PromptMaker(const DatasetOptions& options)
    : seed_(options.seed),
      form_(options.form),
      ids_(safe_token_ids(options.vocabulary)),
      writer_(options.calibration.value_or(uncalibrated())),
      prose_(options.prose),
      prompts_("prompts " + options.salt),
      pieces_("pieces " + options.salt),
      opening_(derived_seed(options.seed, "openings " + options.salt)) {}

Prompt PromptMaker::prompt(std::int64_t tokens, std::uint64_t place) const {
    const Random random(derived_seed(seed_, prompts_, place));
    const std::uint64_t opening = opening_ + place;
    if (form_ == PromptForm::token_ids) return ids(tokens, opening, random);
    if (prose_)
        return cut_prompt(tokens, opening, random, derived_seed(seed_, "prose of " + prompts_, place));
    return writer_.prompt(tokens, opening, random);
}

std::string PromptMaker::cut_prompt(std::int64_t tokens, std::uint64_t opening, const Random& random,
                                    std::uint64_t first_word) const {
    const double overhead = writer_.calibration().overhead_tokens;
    const auto opening_tokens =
        std::min(tokens, static_cast<std::int64_t>(std::llround(kOpeningTokens + overhead)));
    std::string text = writer_.prompt(opening_tokens, opening, random);
    const double left = static_cast<double>(tokens) - overhead - writer_.expected_tokens(text);
    prose_->append(text, prose_words(left), first_word);
    return text;
}

std::size_t PromptMaker::prose_words(double tokens) const {
    return static_cast<std::size_t>(
        std::max(0.0, std::round(tokens / writer_.calibration().prose_word_tokens)));
}

void PromptMaker::require_prose_for(std::int64_t tokens) const {
    if (!cuts_prose()) return;
    if (prose_words(static_cast<double>(tokens)) <= prose_->words()) return;
    throw UsageError(fmt::format(
        "--text {}: the text has {} words, too few for a prompt of {} tokens; give a longer text or "
        "shorter prompts",
        prose_->path(), prose_->words(), tokens));
}

TokenIds PromptMaker::ids(std::int64_t count, std::uint64_t opening, Random random) const {
    const auto choices = static_cast<std::uint64_t>(ids_.high - ids_.low);
    TokenIds ids(static_cast<std::size_t>(count));
    fill_below(random, choices, ids_.low, ids);
    ids.front() = ids_.low + static_cast<std::int32_t>(opening % choices);
    return ids;
}

std::int64_t PromptMaker::overhead_tokens() const {
    if (form_ == PromptForm::token_ids) return 0;
    return static_cast<std::int64_t>(writer_.calibration().overhead_tokens + 0.5);
}

Prompt PromptMaker::begin() const {
    if (form_ == PromptForm::text) return std::string();
    return TokenIds();
}

void PromptMaker::append(Prompt& prompt, std::int64_t tokens, std::uint64_t name) const {
    Random random(derived_seed(seed_, pieces_, name));
    if (auto* text = std::get_if<std::string>(&prompt)) {
        if (prose_) {
            prose_->append(*text, prose_words(static_cast<double>(tokens)), random());
        } else {
            writer_.append(*text, tokens, random);
        }
        return;
    }
    TokenIds& all = std::get<TokenIds>(prompt);
    const std::size_t before = all.size();
    all.resize(before + static_cast<std::size_t>(tokens));
    fill_below(random, static_cast<std::uint64_t>(ids_.high - ids_.low), ids_.low,
               std::span(all).subspan(before));
}

}  // namespace paretoken::datasets
