#include "simulator/engine/model.h"

#include <algorithm>

#include "cards/model.h"

namespace paretoken::sim {
namespace {

constexpr std::int64_t kMostKept = 1 << 16;

double distinct_experts_of(const Profile& profile, double tokens) {
    return cards::distinct_experts(profile.routed_experts, profile.active_experts, tokens);
}

/// Returns the time of linear layers and routed experts. Reading weights and multiplying overlap in part.
double linear_seconds(const Profile& profile, std::int64_t tokens) {
    const auto count = static_cast<double>(tokens);
    const double dense =
        cards::overlapped_seconds(profile.weight_bytes / profile.weight_bytes_per_s,
                                  profile.linear_s_per_token * count, profile.linear_overlap_exponent);
    if (!(profile.routed_layers > 0)) return dense;
    const double bytes = profile.routed_layers * profile.expert_bytes * distinct_experts_of(profile, count);
    return dense + cards::overlapped_seconds(bytes / expert_bandwidth(profile),
                                             routed_seconds(profile, count), profile.linear_overlap_exponent);
}

}  // namespace

double expert_bandwidth(const Profile& profile) {
    return profile.expert_bytes_per_s > 0 ? profile.expert_bytes_per_s : profile.weight_bytes_per_s;
}

double routed_seconds(const Profile& profile, double tokens) {
    if (!(profile.routed_s_per_token > 0)) return 0;
    const double tiles = distinct_experts_of(profile, tokens) * static_cast<double>(profile.expert_tile);
    const double padding = std::min(tiles / profile.active_experts, tokens) / 2;
    return profile.routed_s_per_token * profile.expert_imbalance * (tokens + padding);
}

double lm_head_seconds_per_sequence(const Profile& profile) {
    return 2.0 * static_cast<double>(profile.vocabulary) * static_cast<double>(profile.hidden_size) /
           profile.lm_head_flops_per_s;
}

double attention_flops_per_token_pair(const Profile& profile) {
    return profile.attention_flops_per_pair.value_or(4.0 * static_cast<double>(profile.layers) *
                                                     static_cast<double>(profile.hidden_size));
}

namespace {

/// Returns the fixed time of a step and that of its linear layers together, or of the tokens one by one. The
/// weights are read once in either case.
double layer_seconds(double linear, const Profile& profile, std::int64_t tokens) {
    const double together = profile.step_s + linear;
    if (!(profile.row_s > 0)) return together;
    const double reading = profile.weight_bytes / profile.weight_bytes_per_s;
    return std::min(together, std::max(reading, profile.row_s * static_cast<double>(tokens)));
}

double seconds_with(double linear, const Profile& profile, const StepWork& work) {
    const auto sequences = static_cast<double>(work.sequences);
    const bool has_prompt = work.prefill_token_pairs > 0 || work.windowed_token_pairs > 0;
    const double layers =
        layer_seconds(has_prompt ? std::max(linear, profile.prompt_step_s) : linear, profile, work.tokens);
    const double communication =
        profile.communication_s + profile.communication_s_per_token * static_cast<double>(work.tokens);
    const double head =
        lm_head_seconds_per_sequence(profile) * (sequences + static_cast<double>(work.drafts));
    const double kv_bytes =
        static_cast<double>(work.decode_context_tokens) * profile.kv_bytes_per_token +
        static_cast<double>(work.windowed_context_tokens) * profile.windowed_kv_bytes_per_token;
    const double decode_attention =
        std::max(kv_bytes / profile.kv_bytes_per_s,
                 profile.decode_attention_s_per_pair * static_cast<double>(work.decode_context_tokens));
    const double prefill_flops = work.prefill_token_pairs * attention_flops_per_token_pair(profile) +
                                 work.windowed_token_pairs * profile.windowed_attention_flops_per_pair;
    const double prefill_attention = prefill_flops / profile.attention_flops_per_s;
    const double computing =
        layers + profile.sequence_s * sequences + communication + head + decode_attention + prefill_attention;
    if (work.loaded_tokens == 0) return computing;
    const double loaded_bytes = static_cast<double>(work.loaded_tokens) * profile.kv_bytes_per_token;
    return std::max(computing, loaded_bytes / profile.kv_offload_bytes_per_s);
}

/// Returns the work of one of the groups that the stages of a pipeline compute at once.
StepWork group_of(const Profile& profile, const StepWork& work) {
    const std::int64_t groups = std::min(profile.pipeline_stages, work.sequences);
    if (groups <= 1) return work;
    const auto share = [&](std::int64_t whole) { return (whole + groups - 1) / groups; };
    const auto count = static_cast<double>(groups);
    return {.tokens = share(work.tokens),
            .sequences = share(work.sequences),
            .decode_context_tokens = share(work.decode_context_tokens),
            .prefill_token_pairs = work.prefill_token_pairs / count,
            .drafts = share(work.drafts),
            .windowed_context_tokens = share(work.windowed_context_tokens),
            .windowed_token_pairs = work.windowed_token_pairs / count,
            .loaded_tokens = share(work.loaded_tokens)};
}

}  // namespace

double step_seconds(const Profile& profile, const StepWork& whole) {
    const StepWork work = group_of(profile, whole);
    if (work.tokens == 0) return 0;
    return seconds_with(linear_seconds(profile, work.tokens), profile, work);
}

StepTimes::StepTimes(const Profile& profile)
    : profile_(profile),
      linear_(static_cast<std::size_t>(std::min<std::int64_t>(profile.max_batched_tokens, kMostKept) + 1),
              -1.0) {}

double StepTimes::seconds_of(const StepWork& whole) {
    const StepWork work = group_of(profile_, whole);
    if (work.tokens == 0) return 0;
    const auto tokens = static_cast<std::size_t>(work.tokens);
    if (tokens >= linear_.size()) return step_seconds(profile_, whole);
    if (linear_[tokens] < 0) linear_[tokens] = linear_seconds(profile_, work.tokens);
    return seconds_with(linear_[tokens], profile_, work);
}

}  // namespace paretoken::sim
