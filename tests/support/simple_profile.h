#pragma once
// Provides a profile of the simulated server whose times can be computed by hand: a step of the engine takes
// 1 ms, and 1 ms more for each token that it processes.
#include "simulator/engine/profile.h"

namespace paretoken::testing {

inline sim::Profile simple_profile() {
    sim::Profile profile;
    profile.weight_bytes_per_s = 1;
    profile.linear_s_per_token = 1e-3;
    profile.kv_bytes_per_s = 1;
    profile.attention_flops_per_s = 1;
    profile.lm_head_flops_per_s = 1;
    profile.step_s = 1e-3;
    profile.block_tokens = 16;
    profile.blocks = 1000;
    profile.max_num_seqs = 100;
    profile.max_batched_tokens = 1000;
    profile.max_model_len = 16000;
    return profile;
}

}  // namespace paretoken::testing
