#pragma once
// Makes prompts of a requested length, as text or token ids. With equal options, equal numbers (`place`) and
// lengths give the same prompt; another salt changes its content only.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "core/record/request.h"
#include "datasets/catalog.h"
#include "datasets/synthetic/synthetic.h"
#include "datasets/synthetic/text.h"

namespace paretoken::datasets {

class PromptMaker {
  public:
    explicit PromptMaker(const DatasetOptions& options);

    /// Returns prompt number `place` of `tokens` tokens (at least 1), as exactly as the calibration allows.
    /// Prompts whose numbers differ by less than writer().openings() begin differently.
    Prompt prompt(std::int64_t tokens, std::uint64_t place) const;

    /// Appends `tokens` token ids, or words that have this many tokens, to `prompt`. The appended content
    /// depends on the seed, the salt, `tokens` and `name`, but not on what `prompt` already has.
    void append(Prompt& prompt, std::int64_t tokens, std::uint64_t name) const;

    /// Returns an empty prompt of the form that append() continues.
    Prompt begin() const;

    PromptForm form() const { return form_; }
    /// Returns the number of tokens that a chat template adds to a text; 0 for token ids.
    std::int64_t overhead_tokens() const;
    const TextWriter& writer() const { return writer_; }

    bool cuts_prose() const { return prose_ != nullptr && form_ == PromptForm::text; }
    /// Throws UsageError if the prose has too few words for a prompt of `tokens` tokens.
    void require_prose_for(std::int64_t tokens) const;
    /// Calls require_prose_for() for the longest of the first 4096 requests, by `tokens_of(index)`.
    template <class TokensOf>
    void require_prose_for_many(TokensOf tokens_of) const {
        constexpr std::uint64_t kMany = 4096;
        if (!cuts_prose()) return;
        std::int64_t longest = 0;
        for (std::uint64_t i = 0; i < kMany; ++i) longest = std::max<std::int64_t>(longest, tokens_of(i));
        require_prose_for(longest);
    }

  private:
    std::string cut_prompt(std::int64_t tokens, std::uint64_t opening, const Random& random,
                           std::uint64_t first_word) const;
    std::size_t prose_words(double tokens) const;

    TokenIds ids(std::int64_t count, std::uint64_t opening, Random random) const;

    std::uint64_t seed_;
    PromptForm form_;
    IdRange ids_;
    TextWriter writer_;
    std::shared_ptr<const Prose>
        prose_;              ///< text that prompts are cut from; null means that prompts are random words
    std::string prompts_;    ///< name of the random stream for words and ids
    std::string pieces_;     ///< name of the random stream for append()
    std::uint64_t opening_;  ///< selects the first word of prompt 0; prompt i has opening_ + i
};

}  // namespace paretoken::datasets
