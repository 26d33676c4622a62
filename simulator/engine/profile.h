#pragma once
// The profile of the simulated server: a model on a machine, given by the terms of a step's time
// (simulator/engine/model.h), or by fixed times. A spec is a text that names a profile: an embedded one, a
// JSON file, or a model on GPUs. It may change fields after a "?": "ideal?ttft=20ms&itl=10ms".
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::sim {

enum class Timing : std::uint8_t {
    batching,  ///< continuous batching, one step at a time
    fixed,     ///< token k of a request is due at received + ttft + k · itl, independent of other requests
};

/// The length of the reasoning in a chat's answer: a number plus a share of all tokens of the answer.
struct ReasoningPart {
    std::int64_t tokens = 0;
    double share = 0;

    bool operator==(const ReasoningPart&) const = default;
};

/// Random pauses of the whole engine. The length of a pause is uniform between `shortest` and `longest`. The
/// busy time from one pause to the next is exponential, with the mean `every`.
struct Hiccups {
    Duration shortest{};
    Duration longest{};
    Duration every{};  ///< mean busy time between pauses; 0 means no pauses

    bool operator==(const Hiccups&) const = default;
};

/// The content of answers. It changes no time, except by the length of an answer that may end by itself.
enum class Answers : std::uint8_t {
    words,    ///< random words
    recall,   ///< the value in the prompt that it asks for (simulator/answers/recall.h), or else
              ///< words
    garbage,  ///< one repeated word
};

/// When a waiting request is taken up.
enum class AdmissionRule : std::uint8_t {
    prompt,  ///< when its prompt fits; without a free block, the youngest running request is preempted (vLLM)
    no_evict  ///< when its prompt and its whole answer fit, so that none is preempted (TensorRT-LLM)
};

/// A change of one speed of the server while it runs.
struct LaterChange {
    Duration after{};  ///< time since the first step
    std::string field;
    double value = 0;  ///< in the unit of the field

    bool operator==(const LaterChange&) const = default;
};

/// The profile. A JSON file has the names of these fields as keys, except for `name` and `model`, which are
/// set by the program, and `later`. Its keys "name" and "about" are remarks. A file must have every field
/// that its timing uses, except those that kFields (simulator/engine/profile.cpp) says may be missing.
struct Profile {
    std::string name;  ///< text of the spec, with changes: "llama3-8b-h100-fp8?max_num_seqs=2048"
    /// The served model: the name without folder and changes or, for a profile from cards, the card's name.
    std::string model;
    Timing timing = Timing::batching;

    // Only for fixed timing; zero is allowed:
    Duration ttft{};
    Duration itl{};

    // For batching. Fixed timing also uses `vocabulary` and all fields from max_model_len on.
    double weight_bytes = 0;  ///< bytes read once per step
    double weight_bytes_per_s = 0;
    double linear_s_per_token = 0;       ///< compute time of all linear layers
    double linear_overlap_exponent = 1;  ///< q in (a^q + b^q)^(1/q): a for reading weights, b for computing
    std::int64_t layers = 0;
    std::int64_t hidden_size = 0;
    std::int64_t vocabulary = 0;
    double kv_bytes_per_token = 0;
    double kv_bytes_per_s = 0;
    double attention_flops_per_s = 0;  ///< attention of prefill
    double lm_head_flops_per_s = 0;
    double step_s = 0;      ///< time per step: launch, scheduling, sampling
    double sequence_s = 0;  ///< time per step and sequence
    /// Least time of the linear layers of a step with a part of a prompt: its kernels are launched singly.
    double prompt_step_s = 0;
    double request_s = 0;  ///< time from the arrival of a request until the engine may begin it
    /// Time of a token that is computed alone, row by row, as kernels for vectors do. Steps of few tokens
    /// compute them so where that takes less than step_s and the linear layers; 0: never.
    double row_s = 0;
    std::int64_t block_tokens = 0;  ///< tokens per KV block
    std::int64_t blocks = 0;
    std::int64_t max_num_seqs = 0;
    std::int64_t max_batched_tokens = 0;
    double jitter = 0;              ///< standard deviation of ln(step time)
    Hiccups hiccup = {};            ///< LENGTH/EVERY: "20ms/2s", "5ms-20ms/2s"
    std::int64_t prefix_cache = 1;  ///< 0 means no prefix cache
    AdmissionRule admission = AdmissionRule::prompt;
    /// 0: a prompt that does not fit into a step with another one waits undivided (TensorRT-LLM's default).
    std::int64_t chunked_prefill = 1;
    /// Memory of the host for KV blocks that are displaced from the GPU; 0 means none.
    double kv_offload_bytes = 0;
    /// Speed of copying such blocks back: by default what a x16 link of PCI Express 4.0 reaches.
    double kv_offload_bytes_per_s = 25e9;
    /// Stages of a pipeline, which compute as many groups of the sequences at once. The other fields are for
    /// one group on one stage after the other.
    std::int64_t pipeline_stages = 1;
    double communication_s = 0;            ///< time per step that ranks wait for each other
    double communication_s_per_token = 0;  ///< and the time that each token of the step adds
    /// Arithmetic of decode attention for one pair of a token and a context token; it overlaps with reading
    /// the cache. 0 where reading always takes longer.
    double decode_attention_s_per_pair = 0;

    std::int64_t speculative_tokens = 0;  ///< drafts checked per step for each decoding sequence
    double acceptance = 0;                ///< probability that a draft is right if those before are

    // Experts. A step reads only those that its tokens are routed to; weight_bytes excludes experts.
    double routed_layers = 0;
    double routed_experts = 0;      ///< experts per layer
    double active_experts = 0;      ///< experts per token and layer
    double expert_bytes = 0;        ///< bytes of one expert in one layer
    double expert_bytes_per_s = 0;  ///< speed of reading experts; 0: weight_bytes_per_s
    double routed_s_per_token = 0;  ///< compute time of a token's experts; not in linear_s_per_token
    std::int64_t expert_tile = 0;   ///< rows that an expert computes at once; on average half of one is empty
    double expert_imbalance = 1;    ///< experts' work of the busiest rank ÷ mean of the ranks

    // Layers whose attention sees only the last `window` tokens; kv_bytes_per_token is for the others.
    std::int64_t window = 0;  ///< 0 means that there are no such layers
    double windowed_kv_bytes_per_token = 0;
    double windowed_attention_flops_per_pair = 0;
    /// FLOP of attention for one pair of a query token and a context token, over all layers without a window.
    /// If absent, it is 4 · layers · hidden_size. It is 0 if every layer has a window.
    std::optional<double> attention_flops_per_pair = {};

    // A server that changes; both count from the first step.
    double drift = 0;                     ///< steps take this share longer per hour: "10%/h"
    std::vector<LaterChange> later = {};  ///< in the order of their times: from=60s:step_s=0.01

    std::int64_t max_model_len = 0;  ///< tokens of prompt and answer together; see context_limit
    double answer_tokens = 0;        ///< median length of an answer without ignore_eos
    ReasoningPart reasoning = {};    ///< "64tok", "25%"
    Answers answers = Answers::words;

    bool operator==(const Profile&) const = default;
};

/// Returns the profile of a spec, which may have changes: "ideal?ttft=20ms&itl=10ms", "llama3-8b-h100-fp8", a
/// JSON file's path, or "llama3-70b/h200x2/fp8". Throws a UsageError for an unknown name or a wrong field.
Profile profile_named(std::string_view spec);

/// Returns the names of the embedded profiles.
std::vector<std::string> profile_names();

/// Returns the longest context that is served: max_model_len or, if fewer, the tokens of the KV cache.
std::int64_t context_limit(const Profile& profile);

/// Returns the number of tokens that the KV cache holds.
std::int64_t kv_capacity_tokens(const Profile& profile);

/// Returns the profile as it is at a time since the first step, with the changes of `later` up to then.
Profile profile_at(const Profile& profile, Duration since_first_step);

/// Returns how much longer steps take by `drift` at a time since the first step: 1 at the beginning.
double drift_at(const Profile& profile, Duration since_first_step);

/// Returns, by name and in SI units, what determines this profile's hardware limit and why a step takes
/// longer. The names are an interface (GET /sim/profile).
std::map<std::string, double> limit_terms(const Profile& profile);

/// Returns the text of a JSON file from which profile_named() makes the profile again, without its changes
/// over time. It states numbers with all digits.
std::string profile_text(const Profile& profile);

}  // namespace paretoken::sim
