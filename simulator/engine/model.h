#pragma once
// Computes the time of one step of a batching engine, in seconds and without jitter, from a profile and the
// work of the step. docs/simulator.md explains the terms of the sum. The functions are pure.
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

/// Computes the times of many steps of one profile, whose constant terms it keeps.
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
