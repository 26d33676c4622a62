#pragma once
// Prompts of a wanted length, as text or as token ids. The same salt, place and length make the same prompt;
// another salt changes every prompt and no length. Texts are random words, or cut from prose behind a few
// random words that keep a prefix cache from finding them.
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

    /// Throws UsageError where the prose is too short for a prompt of `tokens` tokens.
    void require_prose_for(std::int64_t tokens) const;

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
