#pragma once
// Random prompts of a wanted length. Lengths are a function of (seed, i), the words or ids of (seed, salt,
// i): a salt makes every prompt new to a cache and changes no length.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "synthetic:isl=512,osl=128[,ratio=0.2]": isl and osl are Lengths, ratio applies to both when they are
/// numbers.
std::unique_ptr<Dataset> make_synthetic(const DatasetOptions& options);

/// Ids that are ordinary tokens in every common tokenizer: [1000, min(vocabulary, 8000)). Below 1000 lie
/// bytes and control tokens (Tekken reserves all of them), at the top of the vocabulary again. Of a
/// vocabulary below 2000, its upper half but for the last 16.
struct IdRange {
    std::int32_t low = 0;
    std::int32_t high = 0;  ///< not in it

    bool operator==(const IdRange&) const = default;
};
IdRange safe_token_ids(std::optional<std::uint32_t> vocabulary);

}  // namespace paretoken::datasets
