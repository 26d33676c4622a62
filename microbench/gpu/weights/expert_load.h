#pragma once
// The number of different experts that a decode step of a model with a mixture of experts touches, and the
// number of tokens per expert. The functions are pure.
#include <cstddef>

namespace paretoken::microbench::gpu {

/// The capacity of a launch over a list of experts. An entry of the list is one expert, and a column of an
/// entry is one of its tokens.
struct ExpertLoad {
    std::size_t entries = 0;  ///< different experts, each streamed once
    std::size_t columns = 0;  ///< largest number of tokens of one expert

    bool operator==(const ExpertLoad&) const = default;
    /// Number of places for tokens.
    std::size_t places() const { return entries * columns; }
};

/// Returns the load of a batch of `tokens` tokens, each of which chooses `active` of `experts` experts. The
/// number of different experts (`entries`) is the expected number, rounded, if every token chooses evenly and
/// independently. `columns` is the number of tokens per expert, rounded up, if all these experts get equally
/// many tokens.
ExpertLoad expert_load(std::size_t experts, std::size_t active, std::size_t tokens);

}  // namespace paretoken::microbench::gpu
