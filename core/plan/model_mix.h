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

/// Reads "A=.7,B=.3"; a text without "=" is the name of one model. Throws UsageError for a part that is not
/// MODEL=SHARE, or a share that is not a number above 0. The returned shares add up to 1.
std::vector<ModelShare> parse_model_mix(std::string_view text);

/// Returns the model of the conversation at `index`, drawn by the shares; it depends on the arguments only.
const std::string& model_of(const std::vector<ModelShare>& mix, std::uint64_t seed, std::uint64_t index);

}  // namespace paretoken
