#include "simulator/engine/fitted_profile.h"

namespace paretoken::sim {

Profile with_speeds(Profile profile, const SpeedFactors& factors) {
    profile.weight_bytes_per_s *= factors.memory;
    profile.kv_bytes_per_s *= factors.memory;
    profile.expert_bytes_per_s *= factors.memory;
    profile.linear_s_per_token /= factors.arithmetic;
    profile.routed_s_per_token /= factors.arithmetic;
    profile.attention_flops_per_s *= factors.arithmetic;
    profile.lm_head_flops_per_s *= factors.arithmetic;
    profile.decode_attention_s_per_pair /= factors.arithmetic;
    if (factors.step_s) profile.step_s = *factors.step_s;
    return profile;
}

}  // namespace paretoken::sim
