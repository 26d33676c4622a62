#include "datasets/prompt_maker.h"

#include "core/random.h"

namespace paretoken::datasets {

PromptMaker::PromptMaker(const DatasetOptions& options)
    : seed_(options.seed),
      form_(options.form),
      ids_(safe_token_ids(options.vocabulary)),
      writer_(options.calibration.value_or(uncalibrated())),
      prompts_("prompts " + options.salt),
      pieces_("pieces " + options.salt),
      opening_(derived_seed(options.seed, "openings " + options.salt)) {}

Prompt PromptMaker::prompt(std::int64_t tokens, std::uint64_t place) const {
    const Random random(derived_seed(seed_, prompts_, place));
    const std::uint64_t opening = opening_ + place;
    if (form_ == PromptForm::text) return writer_.prompt(tokens, opening, random);
    return ids(tokens, opening, random);
}

TokenIds PromptMaker::ids(std::int64_t count, std::uint64_t opening, Random random) const {
    const auto choices = static_cast<std::uint64_t>(ids_.high - ids_.low);
    TokenIds ids(static_cast<std::size_t>(count));
    for (auto& id : ids) id = ids_.low + static_cast<std::int32_t>(random.below(choices));
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
        writer_.append(*text, tokens, random);
        return;
    }
    TokenIds& all = std::get<TokenIds>(prompt);
    const auto choices = static_cast<std::uint64_t>(ids_.high - ids_.low);
    for (std::int64_t i = 0; i < tokens; ++i)
        all.push_back(ids_.low + static_cast<std::int32_t>(random.below(choices)));
}

}  // namespace paretoken::datasets
