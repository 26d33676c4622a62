#pragma once
// What the simulated server imitates: a model on a machine, as the terms of a step's time
// (loadgen/sim/model.h), or fixed times. A profile is named by a spec: an embedded one, or a JSON file, with
// fields changed after a "?".
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::sim {

enum class Timing : std::uint8_t {
    batching,  ///< continuous batching, one step at a time
    fixed,     ///< token k of a request is due at received + ttft + k · itl, whatever else is served
};

/// The names of the JSON files are the names of these fields.
struct Profile {
    std::string name;  ///< as it was asked for, with the changes: "llama3-8b-h100-fp8?max_num_seqs=2048"
    Timing timing = Timing::batching;

    Duration ttft{};  ///< fixed timing only; zero is allowed
    Duration itl{};

    double weight_bytes = 0;  ///< read once per step
    double weight_bytes_per_s = 0;
    double linear_s_per_token = 0;       ///< compute time of all linear layers
    double linear_overlap_exponent = 1;  ///< q: 1 adds reading and computing, infinity takes the longer one
    std::int64_t layers = 0;
    std::int64_t hidden_size = 0;
    std::int64_t vocabulary = 0;
    double kv_bytes_per_token = 0;
    double kv_bytes_per_s = 0;
    double attention_flops_per_s = 0;  ///< of prefill
    double lm_head_flops_per_s = 0;
    double step_s = 0;              ///< per step: launch, scheduling, sampling
    double sequence_s = 0;          ///< per step and sequence
    std::int64_t block_tokens = 0;  ///< tokens per KV block
    std::int64_t blocks = 0;
    std::int64_t max_num_seqs = 0;
    std::int64_t max_batched_tokens = 0;
    double jitter = 0;              ///< standard deviation of ln(step time)
    std::int64_t prefix_cache = 1;  ///< 0: no block is ever found again

    std::int64_t max_model_len = 0;  ///< prompt and answer together; see context_limit
    double answer_tokens = 0;        ///< median length of an answer that is free to end (no ignore_eos)

    bool operator==(const Profile&) const = default;
};

/// "ideal?ttft=20ms&itl=10ms", "llama3-8b-h100-fp8?max_num_seqs=2048", or the path of a JSON file, which may
/// carry changes too. Throws UsageError naming the profile or field at fault and the known ones.
Profile profile_named(std::string_view spec);

/// Names of the embedded profiles.
std::vector<std::string> profile_names();

/// The longest context that is served: max_model_len, or what the KV cache holds if that is less.
std::int64_t context_limit(const Profile& profile);

/// Tokens that the KV cache holds.
std::int64_t kv_capacity_tokens(const Profile& profile);

/// The terms of the hardware limit that this profile obeys, in SI units; the keys are an interface (GET
/// /sim/profile). Fixed timing has only fixed_ttft_s and fixed_itl_s.
std::map<std::string, double> limit_terms(const Profile& profile);

}  // namespace paretoken::sim
