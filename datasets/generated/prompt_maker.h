#pragma once
// Makes prompts of a wanted length, as text or as token ids. Prompts are numbered: equal seed, salt, number
// (`place`) and length make equal prompts. Another salt changes every prompt and no length. Texts are random
// words; or they are a few random words, with which neighbouring prompts begin differently, followed by words
// cut from prose.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/record/request.h"
#include "datasets/catalog.h"
#include "datasets/generated/synthetic.h"
#include "datasets/generated/text.h"

namespace paretoken::datasets {

class PromptMaker {
  public:
    explicit PromptMaker(const DatasetOptions& options);

    /// Returns prompt number `place`. It has `tokens` tokens (at least 1), including overhead_tokens(). It
    /// begins with another word or token than the prompts with the nearest numbers, so that they share no
    /// beginning.
    Prompt prompt(std::int64_t tokens, std::uint64_t place) const;

    /// Appends `tokens` token ids, or words of so many tokens, to `prompt`. They are a function of seed, salt
    /// and `name`: equal names make equal content at any position.
    void append(Prompt& prompt, std::int64_t tokens, std::uint64_t name) const;

    /// Returns an empty prompt of the form that append() continues.
    Prompt begin() const;

    PromptForm form() const { return form_; }
    /// Returns the number of tokens that a chat template adds to a text; 0 for token ids.
    std::int64_t overhead_tokens() const;
    const TextWriter& writer() const { return writer_; }

    /// Returns whether prompts are cut from prose.
    bool cuts_prose() const { return prose_ != nullptr && form_ == PromptForm::text; }
    /// Throws UsageError if prompts are cut from prose that is too short for one of `tokens` tokens.
    void require_prose_for(std::int64_t tokens) const;
    /// Calls require_prose_for() for the longest of the first 4096 requests; `tokens_of(index)` returns the
    /// tokens of a request.
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
    std::shared_ptr<const Prose> prose_;  ///< text that prompts are cut from; null: random words
    std::string prompts_;                 ///< name of the random stream for words and ids
    std::string pieces_;                  ///< name of the random stream for append()
    std::uint64_t opening_;               ///< opening of place 0; the next places count up
};

}  // namespace paretoken::datasets
