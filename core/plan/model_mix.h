#pragma once
// The models that requests name: one, or several with shares, for a server with LoRA adapters.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

struct ModelShare {
    std::string model;
    double share = 1;

    bool operator==(const ModelShare&) const = default;
};

/// Reads "A=.7,B=.3"; any other text is one model's name. Throws UsageError when a share is not a number
/// above 0. The returned shares add up to 1.
std::vector<ModelShare> parse_model_mix(std::string_view text);

/// Returns the model of the conversation at `index`.
const std::string& model_of(const std::vector<ModelShare>& mix, std::uint64_t seed, std::uint64_t index);

}  // namespace paretoken
