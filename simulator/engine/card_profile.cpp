#include "simulator/engine/card_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <vector>

#include "cards/deployment.h"
#include "cards/fit.h"
#include "cards/gpu.h"
#include "cards/model.h"
#include "core/error.h"

namespace paretoken::sim {
namespace {

constexpr double kStepSeconds = 1.0e-3;     // launch, scheduling, sampling
constexpr double kSequenceSeconds = 4e-6;   // per step and sequence
constexpr double kAllReduceSeconds = 8e-6;  // two per layer if there is more than one rank
constexpr double kOverlapExponent = 1.7;    // overlap of reading weights and multiplying
constexpr std::int64_t kBlockTokens = 16;
constexpr std::int64_t kMaxNumSeqs = 256;
constexpr std::int64_t kMaxBatchedTokens = 8192;
constexpr std::int64_t kContextWithoutCard = 131072;
constexpr double kJitter = 0.03;
constexpr double kAnswerTokens = 200;
constexpr std::size_t kMostTypes = 2;  // types after the GPU: weights and KV cache

struct CardSpec {
    std::string model;
    std::string gpu;
    std::vector<std::string> types;
};

std::vector<std::string> parts_of(std::string_view spec) {
    std::vector<std::string> parts;
    while (true) {
        const auto slash = spec.find('/');
        parts.emplace_back(spec.substr(0, slash));
        if (slash == std::string_view::npos) return parts;
        spec.remove_prefix(slash + 1);
    }
}

bool is_gpu(const std::string& part) {
    return !part.empty() && cards::find_gpu(cards::parse_gpu_spec(part).name).has_value();
}

/// Returns the position of the GPU, which is the last part that names one, because a model may be a path. 0:
/// none.
std::size_t place_of_gpu(const std::vector<std::string>& parts) {
    std::size_t at = parts.size() - 1;
    while (at > 0 && !is_gpu(parts[at])) --at;
    return at;
}

CardSpec parse_card_spec(const std::string& spec) {
    const std::vector<std::string> parts = parts_of(spec);
    const std::size_t at = place_of_gpu(parts);
    if (at == 0) {
        throw UsageError(
            fmt::format("{}: no part of it is a known GPU (known are {}); write MODEL/GPU[xN]"
                        "[/WEIGHTS[/KV]], as in llama3-70b/h200x2/fp8",
                        spec, fmt::join(cards::known_gpus(), ", ")));
    }
    CardSpec read{.model = parts[0], .gpu = parts[at], .types = {parts.begin() + at + 1, parts.end()}};
    for (std::size_t i = 1; i < at; ++i) read.model += "/" + parts[i];
    if (read.types.size() > kMostTypes)
        throw UsageError(
            fmt::format("{}: write MODEL/GPU[xN][/WEIGHTS[/KV]]; remove \"{}\"", spec, read.types.back()));
    return read;
}

cards::ModelCard model_of(const CardSpec& read) {
    cards::ModelCardOptions options;
    if (!read.types.empty()) options.weight_dtype = read.types[0];
    if (read.types.size() > 1) options.kv_dtype = read.types[1];
    return cards::model_card(read.model, options);
}

double flops_of(const cards::GpuCard& gpu, std::string_view dtype, const std::string& spec) {
    const auto flops = cards::flops_for_weights(gpu, dtype);
    if (!flops)
        throw UsageError(fmt::format("{}: the card of {} has no FLOP/s for {}", spec, gpu.name, dtype));
    return flops->per_s;
}

/// Returns the FLOP/s of linear layers. Fewer than 16 bits reach a smaller share of a larger figure.
double linear_flops_per_s(const cards::ModelCard& model, const cards::GpuCard& gpu,
                          const CardEfficiencies& efficiencies, const std::string& spec) {
    const auto flops = cards::flops_for_weights(gpu, model.weight_dtype);
    if (!flops) return flops_of(gpu, "bf16", spec) * efficiencies.linear;
    const bool wide = flops->dtype == "bf16" || flops->dtype == "f16";
    return flops->per_s * (wide ? efficiencies.linear : efficiencies.linear_narrow);
}

/// The deployment of vLLM that a profile imitates.
cards::Deployment deployment_on(const cards::GpuCard& gpu, std::uint32_t ranks) {
    return {.memory_bytes = gpu.reported_bytes,
            .memory_fraction = cards::default_memory_fraction(cards::Engine::vllm),
            .tensor_parallel = ranks,
            .link = cards::link_of(gpu),
            .batch = {.sequences = kMaxNumSeqs, .tokens = kMaxBatchedTokens},
            .block_tokens = kBlockTokens};
}

/// The fewest GPUs, doubled from one, that hold the weights and a block; nothing up to 64.
std::optional<std::uint32_t> fewest_gpus(const cards::ModelCard& model, const cards::GpuCard& gpu) {
    constexpr std::uint32_t kMost = 64;
    for (std::uint32_t count = 1; count <= kMost && model.query_heads % count == 0; count *= 2)
        if (cards::fit_of(model, deployment_on(gpu, count)).blocks > 0) return count;
    return {};
}

[[noreturn]] void refuse_size(const cards::ModelCard& model, const cards::GpuCard& gpu, std::uint32_t count,
                              const cards::Fit& fit, const std::string& spec) {
    constexpr double kGibi = 1024.0 * 1024 * 1024;
    const auto enough = fewest_gpus(model, gpu);
    throw UsageError(
        fmt::format("{}: {:.3g} GiB of weights and {:.2g} GiB of buffers per GPU leave no room for a KV "
                    "cache in {:.3g} GiB "
                    "({} of the memory of {} {}); take {}a smaller weight type",
                    spec, fit.weights / kGibi, fit.overhead() / kGibi, fit.budget / kGibi,
                    cards::default_memory_fraction(cards::Engine::vllm), count, gpu.name,
                    enough ? fmt::format("{}x{} or ", gpu.name, *enough) : ""));
}

void fill_model(Profile& profile, const cards::ModelCard& model) {
    const double kv_value_bytes =
        cards::kv_bytes_per_token(model) /
        static_cast<double>(model.kv_values_per_token + model.windowed_kv_values_per_token);
    profile.model = model.name;
    profile.weight_bytes = static_cast<double>(model.dense_streamed_bytes);
    profile.layers = static_cast<std::int64_t>(model.layers);
    profile.hidden_size = static_cast<std::int64_t>(model.hidden);
    profile.vocabulary = static_cast<std::int64_t>(model.vocab);
    profile.attention_flops_per_pair = model.attention_flops_per_pair;
    profile.kv_bytes_per_token = static_cast<double>(model.kv_values_per_token) * kv_value_bytes;
    profile.max_model_len = static_cast<std::int64_t>(model.max_context.value_or(kContextWithoutCard));
    if (model.moe) {
        profile.routed_layers = static_cast<double>(model.moe->layers);
        profile.routed_experts = static_cast<double>(model.moe->experts);
        profile.active_experts = static_cast<double>(model.moe->active);
        profile.expert_bytes = static_cast<double>(model.moe->expert_bytes);
    }
    if (model.sliding_window) {
        profile.window = static_cast<std::int64_t>(*model.sliding_window);
        profile.windowed_kv_bytes_per_token =
            static_cast<double>(model.windowed_kv_values_per_token) * kv_value_bytes;
        profile.windowed_attention_flops_per_pair = model.windowed_attention_flops_per_pair;
    }
}

void fill_speeds(Profile& profile, const cards::ModelCard& model, const cards::GpuCard& gpu, double ranks,
                 double kv_share, const CardEfficiencies& efficiencies, const std::string& spec) {
    const double head_flops = cards::output_head_flops(model);
    const double wide_flops = flops_of(gpu, "bf16", spec) * ranks;
    profile.weight_bytes_per_s = gpu.memory_bytes_per_s * ranks * efficiencies.weight_bandwidth;
    profile.kv_bytes_per_s = gpu.memory_bytes_per_s / kv_share * efficiencies.kv_bandwidth;
    profile.linear_s_per_token = (cards::linear_flops_per_token(model) - head_flops) /
                                 (linear_flops_per_s(model, gpu, efficiencies, spec) * ranks);
    profile.linear_overlap_exponent = kOverlapExponent;
    profile.attention_flops_per_s = wide_flops * efficiencies.attention;
    profile.lm_head_flops_per_s = wide_flops * efficiencies.output_head;
    profile.step_s = kStepSeconds;
    if (ranks > 1) profile.step_s += 2 * static_cast<double>(model.layers) * kAllReduceSeconds;
    profile.sequence_s = kSequenceSeconds;
}

}  // namespace

bool names_cards(std::string_view spec) {
    return spec.find('/') != std::string_view::npos && !spec.ends_with(".json");
}

std::uint32_t gpu_count_of(std::string_view profile) {
    const std::vector<std::string> parts = parts_of(profile.substr(0, profile.find('?')));
    const std::size_t at = place_of_gpu(parts);
    return at == 0 ? 1 : cards::parse_gpu_spec(parts[at]).count;
}

std::optional<cards::ModelCard> model_of_card_profile(std::string_view profile) {
    const std::string_view spec = profile.substr(0, profile.find('?'));
    if (!names_cards(spec) || place_of_gpu(parts_of(spec)) == 0) return {};
    return model_of(parse_card_spec(std::string(spec)));
}

Profile card_profile(const std::string& spec, const CardEfficiencies& efficiencies) {
    const CardSpec read = parse_card_spec(spec);
    const cards::GpuSpec gpus = cards::parse_gpu_spec(read.gpu);
    const cards::GpuCard gpu = cards::gpu_card(gpus.name);
    const cards::ModelCard model = model_of(read);
    const double ranks = gpus.count;
    const cards::Deployment deployment = deployment_on(gpu, gpus.count);
    const cards::Fit fit = cards::fit_of(model, deployment);
    if (fit.blocks < 1) refuse_size(model, gpu, gpus.count, fit, spec);

    Profile profile;
    profile.name = spec;
    fill_model(profile, model);
    fill_speeds(profile, model, gpu, ranks, cards::kv_share_of_rank(model, deployment), efficiencies, spec);
    profile.block_tokens = kBlockTokens;
    profile.blocks = static_cast<std::int64_t>(fit.blocks);
    profile.max_num_seqs = kMaxNumSeqs;
    profile.max_batched_tokens = kMaxBatchedTokens;
    profile.jitter = kJitter;
    profile.answer_tokens = kAnswerTokens;
    return profile;
}

}  // namespace paretoken::sim
