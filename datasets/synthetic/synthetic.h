#pragma once
// Random prompts of a wanted length. The length of request i depends on the seed and i only. Its words or
// token ids depend on the salt too, so another salt makes every prompt new to a cache and keeps its length.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "synthetic:isl=512,osl=128[,ratio=0.2]": isl and osl have the form of Lengths
/// (datasets/synthetic/lengths.h); ratio applies to each of them that is a plain number.
/// "synthetic:isl=pairs:…" takes pairs of lengths in the form of LengthPairs (same header), without osl and
/// ratio.
std::unique_ptr<Dataset> make_synthetic(const DatasetOptions& options);

/// A range of ids that are ordinary tokens in every common tokenizer: [1000, min(vocabulary − 16, 8000)).
/// Bytes and control tokens lie below 1000 (Mistral's tokenizer Tekken reserves all of these ids) and at the
/// top of the vocabulary. `vocabulary` is the number of ids; if it is not known, the range is [1000, 8000).
/// For a vocabulary below 2000, the range is its upper half without the last 16.
struct IdRange {
    std::int32_t low = 0;
    std::int32_t high = 0;  ///< first id behind the range

    bool operator==(const IdRange&) const = default;
};
IdRange safe_token_ids(std::optional<std::uint32_t> vocabulary);

}  // namespace paretoken::datasets
