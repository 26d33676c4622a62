#pragma once
// The requests of `paretoken cache`, which measure the effect of prefix caching: prompts of equal length that
// differ in how much of their beginning was sent before. The order is drawn anew for every round.
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
    cold,           ///< no part of it was sent before
    primer,         ///< sends the prefix of the `primed` request that comes right after it
    primed,         ///< its prefix was sent once, just before
    warm,           ///< its prefix is sent in every round
    pinned,         ///< like warm, with prefixes of its own, and always for the same slot of the server
    dynamic_first,  ///< the same prefix as warm, but the part that changes stands before it
    shared,         ///< begins with a share of the warm prefix; the rest of its prefix is new
    varied,         ///< begins with a part of the longest warm prefix, whose length each round draws
    repeat          ///< the same prompt in every round
};
std::string_view name_of(Arm arm);  ///< "dynamic-first"

struct ArmRequest {
    Arm arm = Arm::cold;
    std::uint64_t round = 0;  ///< round 0 sends the prefixes that later rounds find in the cache
    std::int64_t prefix = 0;  ///< length of its prefix in tokens, by which results are grouped
    double hit = 0;           ///< only for `shared`: share of the prefix that is reused
    /// The number of tokens at its start that it shares with its family. From round 1 on, an earlier request
    /// has sent these tokens, except if this request is a primer, which sends them for the first time.
    std::int64_t reused = 0;
    std::uint64_t family = 0;  ///< requests of equal family share their prefix; 0: no other request shares it
    std::optional<std::uint64_t> slot = {};  ///< slot of the server that is requested ("id_slot")
    bool operator==(const ArmRequest&) const = default;

    /// Returns the class: "shared-0.5/256"; in round 0 "setup".
    std::string class_name() const;
};

/// The order of the experiment's requests: a pure function of the seed.
class PrefixArms {
  public:
    /// Reads "prefix_arms:prefixes=256;1024,suffix=64,osl=16,hits=0.5;0.9,slots=4". Lengths are in tokens.
    /// `hits` are the shares for the arm shared, but for 0 and 1, which equal cold and warm. With slots,
    /// there is also the arm pinned. Throws UsageError.
    PrefixArms(const Spec& spec, std::uint64_t seed);

    std::uint64_t round_size() const { return round_size_; }
    ArmRequest at(std::uint64_t index) const;

    const std::vector<std::int64_t>& prefixes() const { return prefixes_; }
    std::int64_t suffix() const { return suffix_; }
    std::int64_t output_tokens() const { return output_; }
    std::string text() const;  ///< the spec

  private:
    /// Returns the requests of a round in order; a primer and its primed request stay together.
    std::vector<ArmRequest> round(std::uint64_t number) const;

    std::uint64_t seed_;
    std::vector<std::int64_t> prefixes_;
    std::vector<double> hits_;
    std::int64_t suffix_;
    std::int64_t output_;
    std::uint64_t slots_;  ///< number of slots; 0 means that no slot is requested
    std::uint64_t round_size_;
};

std::unique_ptr<Dataset> make_prefix_arms(const DatasetOptions& options);

}  // namespace paretoken::datasets
