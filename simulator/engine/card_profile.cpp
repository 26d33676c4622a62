#include "simulator/engine/card_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "cards/deployment.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/formats.h"
#include "core/spec.h"

namespace paretoken::sim {
namespace {

constexpr double kSequenceSeconds = 4e-6;        // per step and sequence
constexpr double kCpuStepSeconds = 0.3e-3;       // the same of llama.cpp on a CPU
constexpr double kCpuSequenceSeconds = 0.05e-3;  // mostly sampling
constexpr double kCpuOverlapExponent = 4;        // a core reads ahead while it multiplies
constexpr double kOverlapExponent = 1.7;         // overlap of reading weights and multiplying
constexpr std::int64_t kExpertTile = 128;        // rows of a tile of grouped products
constexpr double kExpertsOfLlamacpp = 0.6;       // of the shares that other engines reach with experts
constexpr std::int64_t kBlockTokens = 16;
constexpr std::int64_t kContextWithoutCard = 131072;
constexpr double kJitter = 0.03;
constexpr double kAnswerTokens = 200;
constexpr std::size_t kMostTypes = 2;  // types after the GPU: weights and KV cache

constexpr std::string_view kCpu = "/cpu:";  // before the file with a CPU's card
constexpr std::string_view kCardSuffix = ".json";

struct CardSpec {
    std::string model;
    std::string gpu;  ///< or the file with the card of a CPU
    std::vector<std::string> types = {};
    bool on_cpu = false;
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

bool names_cpu(std::string_view spec) {
    return spec.find(kCpu) != std::string_view::npos;
}

/// Throws if a spec has more types after its hardware than there are.
CardSpec checked(CardSpec read, const std::string& spec) {
    if (read.types.size() > kMostTypes)
        throw UsageError(fmt::format("{}: write MODEL/{}[/WEIGHTS[/KV]]; remove \"{}\"", spec,
                                     read.on_cpu ? "cpu:FILE" : "GPU[xN]", read.types.back()));
    return read;
}

/// Reads MODEL/cpu:FILE[/WEIGHTS[/KV]]; the file may have slashes in its name, which ends in .json.
CardSpec parse_cpu_spec(const std::string& spec) {
    const std::size_t at = spec.find(kCpu);
    const std::size_t file = at + kCpu.size();
    const std::size_t suffix = spec.find(kCardSuffix, file);
    const std::size_t end = suffix + kCardSuffix.size();
    if (suffix == std::string::npos || (end != spec.size() && spec[end] != '/'))
        throw UsageError(fmt::format(
            "{}: write MODEL/cpu:FILE[/WEIGHTS[/KV]] with the file of a CPU's card, whose name ends "
            "in .json; paretoken micro --card FILE writes one",
            spec));
    CardSpec read{.model = spec.substr(0, at), .gpu = spec.substr(file, end - file), .on_cpu = true};
    if (end != spec.size()) read.types = parts_of(std::string_view(spec).substr(end + 1));
    return checked(std::move(read), spec);
}

CardSpec parse_card_spec(const std::string& spec) {
    if (names_cpu(spec)) return parse_cpu_spec(spec);
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
    return checked(std::move(read), spec);
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

/// The kind of arithmetic that engines use for weights, and the share of it that they reach.
struct UsedArithmetic {
    std::string_view dtype;
    double share;
};

/// Without units for 4 or 8 bits, and for 4-bit integers, weights are expanded to 16 bits while they are
/// multiplied. Weights in mxfp4 are multiplied by activations in fp8.
UsedArithmetic arithmetic_of(std::string_view weights, const cards::GpuCard& gpu,
                             const CardEfficiencies& reached) {
    const NumberFormat* const format = find_format(weights);
    if (format == nullptr) return {"bf16", reached.linear};
    const bool has_fp4 = gpu.flops.contains("fp4");
    if (format->arithmetic == Arithmetic::fp4 && !has_fp4) return {"bf16", reached.linear_expanded};
    if (format->name == "mxfp4") return {"fp8", reached.linear_narrow};
    if (format->arithmetic == Arithmetic::fp4) return {"nvfp4", reached.linear_fp4};
    if (format->name == "int4") return {"bf16", reached.linear_expanded};
    if (format->arithmetic == Arithmetic::int8 && format->name != "int8")
        return {"int8", reached.linear_decoded};
    const auto flops = cards::flops_for_weights(gpu, weights);
    const bool wide = !flops || flops->dtype == "bf16" || flops->dtype == "f16";
    if (!wide) return {weights, reached.linear_narrow};
    return {weights, format->arithmetic == Arithmetic::fp8 ? reached.linear_expanded : reached.linear};
}

/// The type of the weights that every token uses: that of the experts, unless only these have fewer bits.
std::string_view type_beside_experts(const cards::ModelCard& model) {
    constexpr double kNearly16Bits = 1.9;
    const auto parameters = static_cast<double>(model.layers * cards::attention_parameters(model));
    const bool wide = static_cast<double>(model.attention_bytes) >= kNearly16Bits * parameters;
    return model.moe && wide ? "bf16" : std::string_view(model.weight_dtype);
}

/// The FLOP/s of products with weights of a type.
double linear_flops_per_s(std::string_view weights, const cards::GpuCard& gpu,
                          const CardEfficiencies& reached, const std::string& spec) {
    const UsedArithmetic used = arithmetic_of(weights, gpu, reached);
    return flops_of(gpu, used.dtype, spec) * used.share;
}

/// The FLOP/s of attention: with an fp8 cache, engines multiply in fp8 where the GPU can.
double attention_flops_per_s(const cards::ModelCard& model, const cards::GpuCard& gpu, double wide_share,
                             double narrow_share, const std::string& spec) {
    const NumberFormat* const format = find_format(model.kv_dtype);
    const bool narrow =
        format != nullptr && format->arithmetic == Arithmetic::fp8 && gpu.flops.contains("fp8");
    return narrow ? flops_of(gpu, "fp8", spec) * narrow_share : flops_of(gpu, "bf16", spec) * wide_share;
}

/// The link among ranks, unless the spec names it. TensorRT-LLM sums over PCIe without a detour through the
/// host's memory where GPUs read each other's memory, which GeForce cards do not.
LinkKind link_among(const cards::GpuCard& gpu, std::uint32_t ranks, const CardChoices& choices) {
    const LinkKind usual = usual_link(gpu, ranks);
    const bool reads_peers = choices.engine == cards::Engine::trtllm && !gpu.name.starts_with("rtx-");
    return choices.link.value_or(usual == LinkKind::host && reads_peers ? LinkKind::pcie : usual);
}

/// How the engine is deployed on `ranks` of a GPU. Ranks with layers of their own are stages.
cards::Deployment deployment_on(const cards::GpuCard& gpu, std::uint32_t ranks, const CardChoices& choices) {
    const LinkKind link = link_among(gpu, ranks, choices);
    const std::uint32_t stages = choices.parallel == Parallelism::layers ? ranks : choices.stages;
    if (ranks % choices.stages != 0)
        throw UsageError(fmt::format("{}x{}: {} GPUs cannot be divided into {} equal stages", gpu.name, ranks,
                                     ranks, choices.stages));
    cards::BatchLimits batch = cards::default_batch_limits(choices.engine, gpu.reported_bytes, gpu.name);
    batch.sequences = choices.sequences.value_or(batch.sequences);
    batch.tokens = choices.step_tokens.value_or(batch.tokens);
    return {
        .engine = choices.engine,
        .memory_bytes = gpu.reported_bytes,
        .memory_fraction = choices.memory_fraction.value_or(cards::default_memory_fraction(choices.engine)),
        .tensor_parallel = ranks / stages,
        .pipeline_parallel = stages,
        .expert_parallel = choices.expert_ranks,
        .attention_data_parallel = choices.parallel == Parallelism::dep,
        .link =
            link == LinkKind::nvlink || link == LinkKind::infiniband ? cards::Link::peers : cards::Link::host,
        .batch = batch,
        .block_tokens = kBlockTokens};
}

/// Whether GPUs hold the weights and a block. False also where they cannot divide the model.
bool holds(const cards::ModelCard& model, const cards::Deployment& deployment) {
    try {
        return cards::fit_of(model, deployment).blocks > 0;
    } catch (const UsageError&) {
        return false;
    }
}

/// The fewest GPUs, doubled from one, that hold the weights and a block; nothing up to 64.
std::optional<std::uint32_t> fewest_gpus(const cards::ModelCard& model, const cards::GpuCard& gpu,
                                         const CardChoices& choices) {
    constexpr std::uint32_t kMost = 64;
    for (std::uint32_t count = choices.stages; count <= kMost; count *= 2)
        if (holds(model, deployment_on(gpu, count, choices))) return count;
    return {};
}

[[noreturn]] void refuse_size(const cards::ModelCard& model, const cards::GpuCard& gpu, std::uint32_t count,
                              const CardChoices& choices, const cards::Fit& fit, const std::string& spec) {
    constexpr double kGibi = 1024.0 * 1024 * 1024;
    const auto enough = fewest_gpus(model, gpu, choices);
    throw UsageError(fmt::format(
        "{}: {:.3g} GiB of weights and {:.2g} GiB of buffers per GPU leave no room for a KV "
        "cache in {:.3g} GiB ({} of the memory of {} {}); take {}a smaller weight type, or what was given to "
        "the real server: max_num_seqs=N, memory_fraction=F or kv_memory=SIZE",
        spec, fit.weights / kGibi, fit.overhead() / kGibi, fit.budget / kGibi,
        deployment_on(gpu, count, choices).memory_fraction, count, gpu.name,
        enough ? fmt::format("{}x{} or ", gpu.name, *enough) : ""));
}

void fill_model(Profile& profile, const cards::ModelCard& model) {
    const double kv_value_bytes =
        cards::kv_bytes_per_token(model) /
        static_cast<double>(model.kv_values_per_token + model.windowed_kv_values_per_token);
    profile.model = model.name;
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

/// The bytes that all ranks together read of the weights that every token uses. With attention data
/// parallelism every rank reads all of them, with tensor parallelism what cannot be divided.
double dense_bytes_read(const cards::ModelCard& model, double ranks, Parallelism parallel) {
    const auto once = static_cast<double>(model.dense_streamed_bytes);
    if (parallel == Parallelism::dep) return once * ranks;
    if (parallel == Parallelism::layers) return once;
    const double whole = cards::undivided_attention_share(model) * static_cast<double>(model.attention_bytes);
    return once + (ranks - 1) * whole;
}

/// The experts' work of the busiest rank ÷ the mean, if the use of experts is normally distributed: the
/// expected maximum of `ranks` sums of experts ÷ ranks terms. Divided experts are in balance.
double expert_imbalance(const cards::ModelCard& model, double ranks, const CardChoices& choices) {
    if (choices.parallel != Parallelism::dep) ranks = choices.expert_ranks;
    if (!model.moe || ranks <= 1) return 1;
    const double maximum = std::sqrt(2 * std::log(ranks)) * (1 - 1 / (1 + ranks));
    const auto experts = static_cast<double>(model.moe->experts);
    return 1 + choices.reached.expert_skew * std::sqrt(ranks / experts) * maximum;
}

/// The bytes of 16-bit activations that all ranks move for one token in its routed experts: its row is copied
/// for each expert, read, and written and read again before the outputs are added; between the products,
/// twice the width is written and read. `sharers` ranks have a part of each expert, and each moves the whole
/// row.
double routed_bytes_per_token(const cards::ModelCard& model, double sharers) {
    const auto rows = static_cast<double>(model.moe->layers * model.moe->active);
    constexpr double kActivationBytes = 2;
    return rows * kActivationBytes * 4 *
           (sharers * static_cast<double>(model.hidden) + static_cast<double>(model.moe->expert_ffn));
}

/// The FLOP of decode attention on a latent cache for one pair of a token and a context token: scores over
/// the compressed vector and the rotary key, and values of the compressed vector, for each head.
double latent_flops_per_pair(const cards::ModelCard& model) {
    const auto width = static_cast<double>(2 * model.mla->kv_rank + model.mla->rope_dim);
    return 2 * static_cast<double>(model.layers * model.query_heads) * width;
}

/// The share of a token's cache that a step reads per rank and GPU's bandwidth: requests that are divided
/// among ranks are read in parallel.
double kv_share(const cards::ModelCard& model, const cards::Deployment& deployment, Parallelism parallel) {
    if (parallel == Parallelism::dep) return 1.0 / deployment.tensor_parallel;
    if (parallel == Parallelism::layers) return 1;
    return cards::kv_share_of_rank(model, deployment);
}

void fill_arithmetic(Profile& profile, const cards::ModelCard& model, const cards::GpuCard& gpu, double ranks,
                     const CardChoices& choices, const std::string& spec) {
    const CardEfficiencies& reached = choices.reached;
    const double head = cards::output_head_flops(model);
    const double routed = model.moe ? cards::routed_flops_per_token(model) : 0;
    const double linear = linear_flops_per_s(type_beside_experts(model), gpu, reached, spec) * ranks;
    const double whole_again =
        choices.parallel == Parallelism::tensor ? (ranks - 1) * cards::undivided_flops_per_token(model) : 0;
    const double body = cards::linear_flops_per_token(model) - head - routed + whole_again;
    profile.linear_s_per_token = body / linear;
    if (reached.linear_vector > 0)
        profile.sequence_s +=
            std::max(0.0, body / (flops_of(gpu, "bf16", spec) * ranks * reached.linear_vector) -
                              profile.linear_s_per_token);
    profile.lm_head_flops_per_s = flops_of(gpu, "bf16", spec) * ranks * reached.output_head;
    profile.attention_flops_per_s =
        ranks * attention_flops_per_s(model, gpu, reached.attention, reached.attention_narrow, spec);
    if (model.moe) {
        const double reach = choices.engine == cards::Engine::llamacpp ? kExpertsOfLlamacpp : 1;
        const double experts = linear_flops_per_s(model.weight_dtype, gpu, reached, spec) * ranks;
        const double sharers = choices.parallel == Parallelism::tensor ? ranks / choices.expert_ranks : 1;
        profile.expert_bytes_per_s = profile.weight_bytes_per_s * reached.expert_bandwidth * reach;
        profile.routed_s_per_token = routed / (experts * reached.experts * reach) +
                                     routed_bytes_per_token(model, sharers) /
                                         (gpu.memory_bytes_per_s * ranks * reached.weight_bandwidth);
        profile.expert_tile = kExpertTile;
        profile.expert_imbalance = expert_imbalance(model, ranks, choices);
    }
    if (reached.decode_attention > 0)
        profile.decode_attention_s_per_pair =
            model.attention_flops_per_pair / (flops_of(gpu, "bf16", spec) * ranks * reached.decode_attention);
    if (model.mla)
        profile.decode_attention_s_per_pair =
            latent_flops_per_pair(model) /
            (ranks *
             attention_flops_per_s(model, gpu, reached.latent_attention, reached.latent_attention, spec));
}

/// The seconds that launching the kernels of one layer takes: in each step, and at least in a step with a
/// part of a prompt, whose kernels are not launched together as a graph.
struct LaunchTimes {
    double layer_s;
    double prompt_layer_s;
};
constexpr LaunchTimes kDenseLaunches{25e-6, 0.1e-3};
constexpr LaunchTimes kExpertLaunches{60e-6, 0.7e-3};  // routing, sorting and grouped products
constexpr LaunchTimes kLatentLaunches{120e-6, 2e-3};   // and the chain of products of a latent cache

/// The time of a step and of a request that does not depend on what is computed. llama.cpp serves from the
/// process that computes, and launches prompts as it launches tokens. TensorRT-LLM launches few kernels for
/// the parts of a layer, also of one with experts.
void fill_launches(Profile& profile, const cards::ModelCard& model, const cards::GpuCard& gpu,
                   const CardChoices& choices) {
    profile.step_s = kCpuStepSeconds;
    if (gpu.cores) return;
    const CardEfficiencies& reached = choices.reached;
    const LaunchTimes usual = model.mla ? kLatentLaunches : model.moe ? kExpertLaunches : kDenseLaunches;
    const auto layers = static_cast<double>(model.layers);
    profile.step_s =
        reached.step + layers * (reached.layer > 0 ? reached.layer : usual.layer_s * reached.launches);
    if (choices.engine == cards::Engine::llamacpp) return;
    const LaunchTimes& of_prompts = choices.engine == cards::Engine::trtllm ? kDenseLaunches : usual;
    profile.prompt_step_s =
        layers *
        (reached.prompt_layer > 0 ? reached.prompt_layer : of_prompts.prompt_layer_s * reached.launches);
    profile.request_s = reached.request;
}

void fill_speeds(Profile& profile, const cards::ModelCard& model, const cards::GpuCard& gpu,
                 const cards::Deployment& deployment, const CardChoices& choices, const std::string& spec) {
    const std::uint32_t ranks = deployment.gpus() / choices.stages;              // of a stage
    const double at_once = choices.parallel == Parallelism::layers ? 1 : ranks;  // ranks that work together
    profile.weight_bytes = dense_bytes_read(model, ranks, choices.parallel);
    profile.weight_bytes_per_s = gpu.memory_bytes_per_s * at_once * choices.reached.weight_bandwidth;
    profile.kv_bytes_per_s =
        gpu.memory_bytes_per_s / kv_share(model, deployment, choices.parallel) * choices.reached.kv_bandwidth;
    profile.linear_overlap_exponent = gpu.cores ? kCpuOverlapExponent : kOverlapExponent;
    fill_launches(profile, model, gpu, choices);
    profile.sequence_s = gpu.cores ? kCpuSequenceSeconds : kSequenceSeconds;
    fill_arithmetic(profile, model, gpu, at_once, choices, spec);
    const auto exchanges = [&](Parallelism parallel, std::uint32_t among, std::uint32_t spread) {
        const LinkKind link = link_among(gpu, spread, choices);
        return communication_of(model, parallel, among,
                                times_among(link, gpu, among, choices.reached.link_share));
    };
    const Communication of_stages = exchanges(choices.parallel, ranks, ranks);
    const Communication between = exchanges(Parallelism::layers, choices.stages, deployment.gpus());
    profile.pipeline_stages = choices.stages;
    profile.communication_s = of_stages.step_s + between.step_s;
    profile.communication_s_per_token = of_stages.token_s + between.token_s;
}

/// The blocks of the KV cache of all ranks.
std::int64_t blocks_of(const cards::Deployment& deployment, const cards::Fit& fit,
                       const CardChoices& choices) {
    if (!choices.kv_memory_bytes) return static_cast<std::int64_t>(fit.blocks);
    const double groups = choices.parallel == Parallelism::dep ? deployment.tensor_parallel : 1;
    return static_cast<std::int64_t>(groups * *choices.kv_memory_bytes / fit.per_token / kBlockTokens);
}

/// The limits of a step. With attention data parallelism each rank has its own.
void fill_engine(Profile& profile, const cards::Deployment& deployment, const cards::Fit& fit,
                 const CardChoices& choices) {
    const std::uint64_t groups = choices.parallel == Parallelism::dep ? deployment.tensor_parallel : 1;
    const std::uint64_t sequences = choices.sequences.value_or(
        cards::default_sequences(deployment, fit, static_cast<std::uint64_t>(profile.max_model_len)));
    profile.max_num_seqs = static_cast<std::int64_t>(sequences * groups);
    profile.max_batched_tokens = static_cast<std::int64_t>(deployment.batch.tokens * groups * choices.stages);
    if (choices.engine != cards::Engine::trtllm) return;
    profile.admission = AdmissionRule::no_evict;
    profile.chunked_prefill = 0;
}

struct NamedEfficiency {
    std::string_view name;
    double CardEfficiencies::*member;
    bool is_time = false;
};
constexpr NamedEfficiency kEfficiencies[] = {
    {"weight_bandwidth", &CardEfficiencies::weight_bandwidth},
    {"kv_bandwidth", &CardEfficiencies::kv_bandwidth},
    {"linear", &CardEfficiencies::linear},
    {"linear_narrow", &CardEfficiencies::linear_narrow},
    {"linear_fp4", &CardEfficiencies::linear_fp4},
    {"linear_decoded", &CardEfficiencies::linear_decoded},
    {"linear_expanded", &CardEfficiencies::linear_expanded},
    {"attention", &CardEfficiencies::attention},
    {"attention_narrow", &CardEfficiencies::attention_narrow},
    {"latent_attention", &CardEfficiencies::latent_attention},
    {"output_head", &CardEfficiencies::output_head},
    {"linear_vector", &CardEfficiencies::linear_vector},
    {"decode_attention", &CardEfficiencies::decode_attention},
    {"experts", &CardEfficiencies::experts},
    {"expert_skew", &CardEfficiencies::expert_skew},
    {"link_share", &CardEfficiencies::link_share},
    {"expert_bandwidth", &CardEfficiencies::expert_bandwidth},
    {"step", &CardEfficiencies::step, true},
    {"layer", &CardEfficiencies::layer, true},
    {"prompt_layer", &CardEfficiencies::prompt_layer, true},
    {"launches", &CardEfficiencies::launches},
    {"request", &CardEfficiencies::request, true},
};

void set_efficiency(CardEfficiencies& reached, std::string_view name, std::string_view value,
                    std::string_view spec) {
    for (const NamedEfficiency& known : kEfficiencies) {
        if (known.name != name) continue;
        const double share = known.is_time ? seconds(parse_duration(value)) : parse_number(value);
        if (!(share > 0)) throw UsageError(fmt::format("{}: reach.{} must be above 0", spec, name));
        reached.*known.member = share;
        return;
    }
    std::vector<std::string_view> names;
    for (const NamedEfficiency& known : kEfficiencies) names.push_back(known.name);
    throw UsageError(
        fmt::format("{}: reach.{} is unknown; known are {}", spec, name, fmt::join(names, ", ")));
}

}  // namespace

CardEfficiencies usual_efficiencies(const cards::GpuCard& gpu) {
    // The shares are those of measured products of matrices on MI300X; the factor is fitted to servers on it.
    if (gpu.link == "Infinity Fabric") return {.linear = 0.47, .linear_narrow = 0.38, .launches = 3};
    return {};
}

CardChoices usual_choices(std::string_view spec) {
    if (!names_cpu(spec)) {
        const std::vector<std::string> parts = parts_of(spec);
        const auto gpu = cards::find_gpu(cards::parse_gpu_spec(parts[place_of_gpu(parts)]).name);
        return {.reached = gpu ? usual_efficiencies(*gpu) : CardEfficiencies{}};
    }
    constexpr double kMatrix = 0.56;
    constexpr double kDecoded = kMatrix / 1.65;  // measured with q4_1, whose blocks are decoded one by one
    constexpr double kVector = 0.19;
    const std::vector<std::string> types = parse_cpu_spec(std::string(spec)).types;
    const bool decoded = !types.empty() && types[0] != "q8_0";
    return {.engine = cards::Engine::llamacpp,
            .reached = {.weight_bandwidth = 0.9,
                        .kv_bandwidth = 0.9,
                        .linear = kMatrix,
                        .linear_narrow = kMatrix,
                        .linear_decoded = decoded ? kDecoded : kMatrix,
                        .attention = 0.3,
                        .output_head = kVector,
                        .linear_vector = kVector,
                        .decode_attention = 0.06}};
}

bool names_cards(std::string_view spec) {
    return names_cpu(spec) || (spec.find('/') != std::string_view::npos && !spec.ends_with(kCardSuffix));
}

std::uint32_t gpu_count_of(std::string_view profile) {
    const std::vector<std::string> parts = parts_of(profile.substr(0, profile.find('?')));
    const std::size_t at = place_of_gpu(parts);
    return at == 0 || names_cpu(profile) ? 1 : cards::parse_gpu_spec(parts[at]).count;
}

std::optional<cards::ModelCard> model_of_card_profile(std::string_view profile) {
    const std::string_view spec = profile.substr(0, profile.find('?'));
    if (!names_cpu(spec) && (!names_cards(spec) || place_of_gpu(parts_of(spec)) == 0)) return {};
    return model_of(parse_card_spec(std::string(spec)));
}

namespace {

Profile profile_on(const cards::ModelCard& model, const cards::GpuCard& gpu,
                   const cards::Deployment& deployment, const CardChoices& choices, const std::string& spec) {
    const cards::Fit fit = cards::fit_of(model, deployment);
    const bool cache_is_given = choices.cache_is_given || choices.kv_memory_bytes;
    if (fit.blocks < 1 && !cache_is_given) refuse_size(model, gpu, deployment.gpus(), choices, fit, spec);

    Profile profile;
    profile.name = spec;
    fill_model(profile, model);
    fill_speeds(profile, model, gpu, deployment, choices, spec);
    fill_engine(profile, deployment, fit, choices);
    profile.block_tokens = kBlockTokens;
    profile.blocks = blocks_of(deployment, fit, choices);
    profile.jitter = kJitter;
    profile.answer_tokens = kAnswerTokens;
    return profile;
}

double memory_in(std::string_view text, std::string_view spec) {
    try {
        return parse_bytes(text);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: kv_memory {}", spec, error.what()));
    }
}

}  // namespace

namespace {

std::uint32_t count_in(std::string_view name, std::string_view value, std::string_view spec) {
    constexpr std::uint64_t kMost = 1024;
    const auto count = parse_count(value);
    if (count >= 1 && count <= kMost) return static_cast<std::uint32_t>(count);
    throw UsageError(fmt::format("{}: {} must be from 1 to {}", spec, name, kMost));
}

double fraction_in(std::string_view value, std::string_view spec) {
    const double fraction = parse_number(value);
    if (fraction > 0 && fraction <= 1) return fraction;
    throw UsageError(fmt::format("{}: memory_fraction must be above 0 and at most 1", spec));
}

}  // namespace

bool choose(CardChoices& choices, std::string_view name, std::string_view value, std::string_view spec) {
    constexpr std::string_view kReach = "reach.";
    if (name.starts_with(kReach))
        set_efficiency(choices.reached, name.substr(kReach.size()), value, spec);
    else if (name == "engine")
        choices.engine = cards::engine_named(value);
    else if (name == "parallel")
        choices.parallel = parallelism_named(value);
    else if (name == "stages")
        choices.stages = count_in(name, value, spec);
    else if (name == "ep")
        choices.expert_ranks = count_in(name, value, spec);
    else if (name == "link")
        choices.link = link_named(value);
    else if (name == "kv_memory")
        choices.kv_memory_bytes = memory_in(value, spec);
    else if (name == "memory_fraction")
        choices.memory_fraction = fraction_in(value, spec);
    else
        return false;
    return true;
}

Profile gpu_profile(const cards::ModelCard& model, const cards::GpuCard& gpu, std::uint32_t ranks,
                    const CardChoices& choices) {
    return profile_on(model, gpu, deployment_on(gpu, ranks, choices), choices,
                      fmt::format("{}/{}x{}", model.name, gpu.name, ranks));
}

Profile machine_profile(const cards::ModelCard& model, std::uint64_t sequences) {
    constexpr double kBytesPerS = 50e9;
    constexpr double kFlopsPerS = 1e12;
    constexpr std::uint64_t kLlamacppBatch = 2048;  // computed in parts, but answered at once
    cards::GpuCard machine;
    machine.name = "a machine without a card";
    machine.reported_bytes = static_cast<double>(model.resident_weight_bytes) + 1e12;
    machine.memory_bytes_per_s = kBytesPerS;
    for (const char* const arithmetic : {"bf16", "f16", "fp8", "int8"})
        machine.flops[arithmetic] = kFlopsPerS;
    const CardChoices choices{.engine = cards::Engine::llamacpp};
    cards::Deployment deployment = deployment_on(machine, 1, choices);
    deployment.batch.sequences = sequences;
    deployment.batch.tokens = kLlamacppBatch;
    return profile_on(model, machine, deployment, choices, model.name);
}

Profile card_profile(const std::string& spec, const CardChoices& choices) {
    const CardSpec read = parse_card_spec(spec);
    const cards::GpuSpec gpus = read.on_cpu ? cards::GpuSpec{} : cards::parse_gpu_spec(read.gpu);
    const cards::GpuCard gpu = read.on_cpu ? cards::read_cpu_card(read.gpu) : cards::gpu_card(gpus.name);
    const cards::ModelCard model = model_of(read);
    const cards::Deployment deployment = deployment_on(gpu, gpus.count, choices);
    return profile_on(model, gpu, deployment, choices, spec);
}

}  // namespace paretoken::sim
