#pragma once
// How long one step of a batching engine takes. Pure: a profile and the work of the step in, seconds out (no
// jitter). The terms: fixed cost, linear layers (reading the weights and multiplying, partly overlapped), the
// output head, attention over the KV cache of decodes, attention of prefills.
#include <cstdint>
#include <vector>

#include "simulator/engine/profile.h"

namespace paretoken::sim {

/// The work of one step.
struct StepWork {
    std::int64_t tokens = 0;                   ///< that pass through the linear layers
    std::int64_t sequences = 0;                ///< scheduled in the step
    std::int64_t decode_context_tokens = 0;    ///< Σ context over decodes
    double prefill_token_pairs = 0;            ///< Σ chunk · (context before + chunk / 2) over prefills
    std::int64_t drafts = 0;                   ///< of `tokens`, those that speculation has checked
    std::int64_t windowed_context_tokens = 0;  ///< as decode_context_tokens, no more than the window each
    double windowed_token_pairs = 0;           ///< as prefill_token_pairs, no more than the window per token

    bool operator==(const StepWork&) const = default;
};

/// Seconds; 0 for an empty step.
double step_seconds(const Profile& profile, const StepWork& work);

/// Step times for many steps of one profile: the terms that only depend on the number of tokens are kept.
class StepTimes {
  public:
    explicit StepTimes(const Profile& profile);

    double seconds_of(const StepWork& work);

  private:
    Profile profile_;
    std::vector<double> linear_;  ///< seconds by tokens; negative: not yet computed
};

/// 2 · vocabulary · hidden_size / lm_head_flops_per_s.
double lm_head_seconds_per_sequence(const Profile& profile);

/// The floating-point operations of one query token against one context token, scores and weighted values, in
/// the layers that see the whole context: attention_flops_per_pair, or 4 · layers · hidden_size.
double attention_flops_per_token_pair(const Profile& profile);

}  // namespace paretoken::sim
