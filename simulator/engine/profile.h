#pragma once
// The profile of the simulated server: a model on a machine, as the terms of a step's time
// (simulator/engine/model.h), or fixed times. A profile is named by a spec: an embedded one, or a JSON file,
// with fields changed after a "?".
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

/// How much of a chat's answer is reasoning: so many tokens, and a share of all.
struct ReasoningPart {
    std::int64_t tokens = 0;
    double share = 0;

    bool operator==(const ReasoningPart&) const = default;
};

/// Pauses of the whole engine now and then: each between two lengths, on average once in so much busy time.
struct Hiccups {
    Duration shortest{};
    Duration longest{};
    Duration every{};  ///< 0: none

    bool operator==(const Hiccups&) const = default;
};

/// The content of answers. It changes no time, but for the length of an answer that is free to end.
enum class Answers : std::uint8_t {
    words,    ///< random words
    recall,   ///< the value that the prompt gives for what it asks about (simulator/answers/recall.h), else
              ///< words
    garbage,  ///< one word again and again
};

/// The names of the JSON files are the names of these fields.
struct Profile {
    std::string name;   ///< as it was asked for, with the changes: "llama3-8b-h100-fp8?max_num_seqs=2048"
    std::string model;  ///< what is served: the name without changes or, of a model card, the card's
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
    Hiccups hiccup = {};            ///< "20ms/2s", "5ms-20ms/2s"
    std::int64_t prefix_cache = 1;  ///< 0: no block is ever found again

    std::int64_t speculative_tokens = 0;  ///< drafts that each decoding sequence has checked per step
    double acceptance = 0;                ///< probability that a draft is right, the ones before it being so

    // Experts of which a step reads only those that its tokens are routed to; weight_bytes is the rest.
    double routed_layers = 0;
    double routed_experts = 0;  ///< per layer
    double active_experts = 0;  ///< per token and layer
    double expert_bytes = 0;    ///< of one expert in one layer

    // Layers whose attention sees only the last `window` tokens; kv_bytes_per_token is of the others.
    std::int64_t window = 0;
    double windowed_kv_bytes_per_token = 0;
    double windowed_attention_flops_per_pair = 0;
    double attention_flops_per_pair = 0;  ///< of the others; 0: 4 · layers · hidden_size

    std::int64_t max_model_len = 0;  ///< prompt and answer together; see context_limit
    double answer_tokens = 0;        ///< median length of an answer that is free to end (no ignore_eos)
    ReasoningPart reasoning = {};    ///< "64tok", "25%"
    Answers answers = Answers::words;

    bool operator==(const Profile&) const = default;
};

/// "ideal?ttft=20ms&itl=10ms", "llama3-8b-h100-fp8?max_num_seqs=2048", the path of a JSON file, or a model on
/// GPUs, "llama3-70b/h200x2/fp8" (card_profile.h); each may carry changes. Throws UsageError naming the
/// profile or field at fault and the known ones.
Profile profile_named(std::string_view spec);

/// Names of the embedded profiles.
std::vector<std::string> profile_names();

/// The longest context that is served: max_model_len, or what the KV cache holds if that is less.
std::int64_t context_limit(const Profile& profile);

/// Tokens that the KV cache holds.
std::int64_t kv_capacity_tokens(const Profile& profile);

/// The terms of the hardware limit that this profile obeys and of the gap to it, in SI units; the keys are an
/// interface (GET /sim/profile). Fixed timing has only fixed_ttft_s and fixed_itl_s.
std::map<std::string, double> limit_terms(const Profile& profile);

}  // namespace paretoken::sim
