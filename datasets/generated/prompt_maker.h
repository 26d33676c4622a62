#pragma once
// Prompts of a wanted length, as text or as token ids. The same salt, place and length make the same prompt;
// another salt changes every prompt and no length. Texts are random words, or cut from prose behind a few
// random words that keep a prefix cache from finding them.
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

    /// A prompt that shares no beginning with those of other places.
    Prompt prompt(std::int64_t tokens, std::uint64_t place) const;

    /// `count` token ids or the words of so many tokens, appended to `prompt`, a function of salt and `name`:
    /// equal names make equal content wherever it stands.
    void append(Prompt& prompt, std::int64_t tokens, std::uint64_t name) const;

    /// An empty prompt of the form that append() goes on with.
    Prompt begin() const;

    PromptForm form() const { return form_; }
    /// What a chat template adds to a prompt that was begun here.
    std::int64_t overhead_tokens() const;
    const TextWriter& writer() const { return writer_; }

    /// Whether prompts are cut from prose.
    bool cuts_prose() const { return prose_ != nullptr && form_ == PromptForm::text; }
    /// Throws UsageError where prompts are cut from prose that is too short for one of `tokens` tokens.
    void require_prose_for(std::int64_t tokens) const;
    /// Requires enough prose for the longest of many requests, whose tokens `tokens_of(index)` gives.
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
    std::shared_ptr<const Prose> prose_;  ///< null: random words
    std::string prompts_;                 ///< names the stream of randomness for words and ids
    std::string pieces_;                  ///< the same for content that is named
    std::uint64_t opening_;               ///< of place 0; the next ones count up
};

}  // namespace paretoken::datasets
