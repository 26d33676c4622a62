#pragma once
// Computes the time of one step of a batching engine. The functions are pure: they compute seconds, without
// jitter, from a profile and the work of a step. The time is the sum of seven terms: the overhead (a constant
// per step and a constant per sequence), the exchanges between ranks, the linear layers (reading the weights
// and multiplying, partly overlapped), the routed experts likewise, the output head, the attention of decodes
// (reading the KV cache or arithmetic, whichever takes longer), and the attention arithmetic of prefills. KV
// blocks are copied from the host's memory meanwhile; if that takes longer, the step takes as long. The
// stages of a pipeline compute groups of the sequences at once, so that a step takes the time of one group.
#include <cstdint>
#include <vector>

#include "simulator/engine/profile.h"

namespace paretoken::sim {

/// The work of one step.
struct StepWork {
    std::int64_t tokens = 0;                   ///< tokens that pass through the linear layers
    std::int64_t sequences = 0;                ///< sequences scheduled in the step
    std::int64_t decode_context_tokens = 0;    ///< Σ context over decodes
    double prefill_token_pairs = 0;            ///< Σ chunk · (context before + chunk / 2) over prefills
    std::int64_t drafts = 0;                   ///< drafts of speculation among `tokens`
    std::int64_t windowed_context_tokens = 0;  ///< Σ min(context, window) over decodes
    double windowed_token_pairs = 0;           ///< Σ min(pairs, chunk · window) over prefills
    std::int64_t loaded_tokens = 0;            ///< tokens whose KV is copied from the host's memory

    bool operator==(const StepWork&) const = default;
};

/// Returns the seconds of a step; 0 for an empty step.
double step_seconds(const Profile& profile, const StepWork& work);

/// Computes the times of many steps of one profile. It keeps the terms that only depend on the number of
/// tokens.
class StepTimes {
  public:
    explicit StepTimes(const Profile& profile);

    double seconds_of(const StepWork& work);

  private:
    Profile profile_;
    std::vector<double> linear_;  ///< seconds by tokens; negative: not yet computed
};

/// Returns the compute time of the routed experts for `tokens` tokens on the busiest rank. An expert computes
/// whole tiles of rows: on average, half of a tile (or half of its rows, if those are fewer) is empty.
double routed_seconds(const Profile& profile, double tokens);

/// Returns the bytes per second at which routed experts are read.
double expert_bandwidth(const Profile& profile);

/// Returns 2 · vocabulary · hidden_size / lm_head_flops_per_s.
double lm_head_seconds_per_sequence(const Profile& profile);

/// Returns the FLOP of attention for one pair of a query and a context token: the profile's
/// attention_flops_per_pair (layers that see the whole context), or 4 · layers · hidden_size.
double attention_flops_per_token_pair(const Profile& profile);

}  // namespace paretoken::sim
