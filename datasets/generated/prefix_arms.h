#pragma once
// Requests that tell what prefix caching does: prompts of equal length which differ in how much of their
// beginning was sent before, in an order that is drawn anew for every round. What `paretoken cache` sends.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// A way of repeating a prompt's beginning.
enum class Arm : std::uint8_t {
    cold,           ///< nothing of it was sent before
    primer,         ///< sends the prefix of the `primed` request that comes right after it
    primed,         ///< its prefix was sent once, just before
    warm,           ///< its prefix is sent in every round
    pinned,         ///< as warm, with prefixes of its own, and always to the same slot of the server
    dynamic_first,  ///< the same tokens as warm, but what changes stands in front
    shared,         ///< a share of its prefix is sent in every round
    varied,         ///< so many tokens of the longest warm prefix as the round draws
    repeat          ///< the same prompt in every round
};
std::string_view name_of(Arm arm);  ///< "dynamic-first"

/// What one request of the experiment is.
struct ArmRequest {
    Arm arm = Arm::cold;
    std::uint64_t round = 0;   ///< round 0 sends what later rounds find in the cache
    std::int64_t prefix = 0;   ///< tokens of the prefix that it is counted under
    double hit = 0;            ///< of the prefix, for `shared`
    std::int64_t reused = 0;   ///< tokens at its start that were sent before, once round 0 is over
    std::uint64_t family = 0;  ///< requests of equal family begin with the same tokens; 0: like no other
    std::optional<std::uint64_t> slot = {};  ///< the server's slot that is asked for ("id_slot")
    bool operator==(const ArmRequest&) const = default;

    /// "shared-0.5/256"; of round 0 "setup".
    std::string class_name() const;
};

/// The order of the experiment: a pure function of the seed.
class PrefixArms {
  public:
    /// "prefix_arms:prefixes=256;1024,suffix=64,osl=16,hits=0.5;0.9,slots=4": with slots there is the arm
    /// pinned, whose prefixes are shared out over them. Throws UsageError.
    PrefixArms(const Spec& spec, std::uint64_t seed);

    std::uint64_t round_size() const { return round_size_; }
    ArmRequest at(std::uint64_t index) const;

    const std::vector<std::int64_t>& prefixes() const { return prefixes_; }
    std::int64_t suffix() const { return suffix_; }
    std::int64_t output_tokens() const { return output_; }
    std::string text() const;  ///< the spec

  private:
    /// One request after the other; a primer and its primed request stay together.
    std::vector<ArmRequest> round(std::uint64_t number) const;

    std::uint64_t seed_;
    std::vector<std::int64_t> prefixes_;
    std::vector<double> hits_;
    std::int64_t suffix_;
    std::int64_t output_;
    std::uint64_t slots_;  ///< 0: none is asked for
    std::uint64_t round_size_;
};

std::unique_ptr<Dataset> make_prefix_arms(const DatasetOptions& options);

}  // namespace paretoken::datasets
