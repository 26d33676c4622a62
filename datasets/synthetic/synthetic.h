#pragma once
// Random prompts of a wanted length. The length of request i depends on the seed and i only. Its words or
// token ids depend on the salt too, so another salt makes every prompt new to a cache and keeps its length.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "synthetic:isl=512,osl=128[,ratio=0.2]": isl and osl are distributions (datasets/synthetic/lengths.h), to
/// which ratio applies if they are plain numbers. "synthetic:isl=pairs:…" takes LengthPairs instead.
std::unique_ptr<Dataset> make_synthetic(const DatasetOptions& options);

/// The ids that are ordinary tokens in every common tokenizer: [1000, min(vocabulary − 16, 8000)), as
/// Mistral's Tekken reserves those below 1000. Below 2000, the vocabulary's upper half without the last 16.
struct IdRange {
    std::int32_t low = 0;
    std::int32_t high = 0;  ///< first id behind the range

    bool operator==(const IdRange&) const = default;
};
IdRange safe_token_ids(std::optional<std::uint32_t> vocabulary);

}  // namespace paretoken::datasets
