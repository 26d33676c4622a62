#pragma once
// Which model requests name: one, or several with shares, as a server with LoRA adapters has them.
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

/// "A=.7,B=.3"; every other text is one model's name. Throws UsageError where a share is no number above 0.
/// Their sum is 1 in what is returned.
std::vector<ModelShare> parse_model_mix(std::string_view text);

/// The model of the conversation at `index`.
const std::string& model_of(const std::vector<ModelShare>& mix, std::uint64_t seed, std::uint64_t index);

}  // namespace paretoken
