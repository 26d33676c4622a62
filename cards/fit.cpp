#include "cards/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cards/deployment.h"
#include "core/error.h"
#include "core/formats.h"

namespace paretoken::cards {
namespace {

constexpr double kMebi = 1024.0 * 1024;
constexpr double kGibi = 1024 * kMebi;

/// vLLM samples with PyTorch: per sequence and word of the vocabulary it holds the logits in 16 and 32 bits,
/// their sorted copy with 64-bit indices, probabilities, sums, a mask and the draws. Seven start-ups with
/// vocabularies of 128256 to 201088 and 256 or 1024 sequences show 38.3 to 38.6 bytes.
constexpr double kVllmSamplerBytes = 38.5;
/// The same with FlashInfer: logits in 16 bits and their copy in 32 bits, that copy without the words beyond
/// the k likeliest, and the probabilities (its top_k_top_p_sampling_from_logits).
constexpr double kFlashinferSamplerBytes = 2 + 4 + 4 + 4;
/// TensorRT-LLM's decoder holds logits, probabilities and the workspace of its sort.
constexpr double kTrtllmSamplerBytes = 20;
/// llama.cpp keeps the logits of a micro-batch in 32 bits.
constexpr double kLlamacppLogitBytes = 4;

/// Rows of the residual stream that a layer holds at once: residual, normed input, attention's output, sum.
constexpr double kResidualRows = 4;
/// Rows of the feed-forward width: gate and up together, and their product.
constexpr double kFeedForwardRows = 3;
constexpr double kActivationBytes = 2;

/// What the runtime allocates beside PyTorch after the engine began to count, and what the runtime took
/// before: SGLang and TensorRT-LLM subtract the latter, vLLM does not.
constexpr double kLibraryBytes = 0.13 * kGibi;
constexpr double kContextBytes = 0.5 * kGibi;

/// Buffers for the other ranks. Ranks of a server that read each other's memory register it, once for the
/// engine's own reduction and once for each other rank; ranks behind the host or a network need NCCL's
/// channels alone, behind the host no more than those of a server. Stages have two neighbours at most.
constexpr double kReductionBytes = 0.5 * kGibi;
constexpr double kPeerBytes = 0.5 * kGibi;
constexpr double kHostLinkBytes = 0.1 * kGibi;
constexpr double kRanksOfServer = 8;
/// SGLang measures the free memory, of which it takes its share, when NCCL runs already.
constexpr double kSglangRanksBytes = 1.5 * kGibi;

/// SGLang's largest batch if it is told none: so many sequences for each context that the cache holds, within
/// bounds (its max_running_requests).
constexpr std::uint64_t kSglangLeastSequences = 2048;
constexpr std::uint64_t kSglangMostSequences = 4096;
constexpr double kSglangSequencesPerContext = 512;

constexpr std::array<std::string_view, 4> kEngines{"vllm", "sglang", "trtllm", "llamacpp"};

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

/// The bytes of a step's layers per token: the widest of the residual rows and the feed-forward rows
/// together. `expert_ranks` are the ranks that share an expert.
double layer_bytes_per_token(const ModelCard& model, double ranks, double expert_ranks) {
    double rows = kResidualRows * as_double(model.hidden);
    if (model.moe) {
        const double width = as_double(model.moe->expert_ffn) / expert_ranks;
        rows += as_double(model.moe->active) * (std::max(2 * width, as_double(model.hidden)) + width);
        rows += kFeedForwardRows * as_double(model.moe->shared_ffn) / ranks;
    } else {
        rows += kFeedForwardRows * as_double(model.ffn) / ranks;
    }
    return rows * kActivationBytes;
}

/// A stage of a pipeline: its share of the layers, and whether it embeds tokens and computes their logits.
struct Stage {
    double layers = 1;
    bool first = true;
    bool last = true;
};

/// The kinds of stages of llama.cpp, which divides layers and output head alike, and looks tokens up in the
/// host's memory.
std::vector<Stage> llamacpp_stages(const ModelCard& model, std::uint32_t count) {
    const std::uint64_t parts = model.layers + 1;
    const auto share = [&](std::uint64_t layers) {
        return as_double(std::max<std::uint64_t>(layers, 1)) / as_double(model.layers);
    };
    return {{share((parts + count - 1) / count), false, false}, {share(parts / count - 1), false, true}};
}

/// The kinds of stages. Layers that are left over go to the stages before the last, as in vLLM and SGLang.
std::vector<Stage> stages_of(const ModelCard& model, const Deployment& deployment) {
    const std::uint32_t count = deployment.pipeline_parallel;
    if (deployment.gpu_layers)
        return {{as_double(std::min(*deployment.gpu_layers, model.layers)) / as_double(model.layers), false,
                 *deployment.gpu_layers > model.layers}};
    if (count <= 1) return {{}};
    if (deployment.engine == Engine::llamacpp) return llamacpp_stages(model, count);
    const std::uint64_t each = model.layers / count;
    const std::uint64_t left_over = model.layers % count;
    const auto share = [&](bool has_more) {
        return as_double(each + (has_more ? 1 : 0)) / as_double(model.layers);
    };
    std::vector<Stage> stages{{share(left_over == count - 1), true, false}, {share(false), false, true}};
    if (count > 2) stages.push_back({share(left_over > 0), false, false});
    return stages;
}

double activation_bytes(const ModelCard& model, const Deployment& deployment, const Stage& stage) {
    const double ranks = deployment.attention_data_parallel ? 1 : deployment.tensor_parallel;
    const double expert_ranks = deployment.attention_data_parallel ? 1 : ranks / deployment.expert_parallel;
    const double layers =
        as_double(deployment.batch.tokens) * layer_bytes_per_token(model, ranks, expert_ranks);
    const double logits = stage.last ? as_double(deployment.batch.sequences) * as_double(model.vocab) : 0;
    switch (deployment.engine) {
        case Engine::vllm:
            return std::max(layers,
                            logits * (deployment.sampler == Sampler::flashinfer ? kFlashinferSamplerBytes
                                                                                : kVllmSamplerBytes));
        case Engine::trtllm:
            return std::max(layers, logits * kTrtllmSamplerBytes);
        case Engine::llamacpp:
            return 2 * layers + (stage.last ? as_double(deployment.batch.tokens) * as_double(model.vocab) *
                                                  kLlamacppLogitBytes
                                            : 0);
        case Engine::sglang:
            return 0;  // they lie in the share that is left free
    }
    return 0;
}

double communication_bytes(const Deployment& deployment) {
    if (deployment.engine == Engine::sglang) return 0;  // not in its share, see budget_of()
    const double others = deployment.tensor_parallel - 1.0;
    const double peers = std::min(others, kRanksOfServer - 1);
    const double stages = std::min(deployment.pipeline_parallel - 1.0, 2.0) * kHostLinkBytes;
    if (deployment.link == Link::host || others == 0) return peers * kHostLinkBytes + stages;
    return kReductionBytes + peers * kPeerBytes + (others - peers) * kHostLinkBytes + stages;
}

/// The weights of all ranks of a stage. Tied embeddings are on the first stage and on the last.
double stage_bytes(const ModelCard& model, const Stage& stage) {
    if (stage.first && stage.last) return resident_bytes(model);
    const double embedding = as_double(model.embedding_bytes);  // the output head is assumed to be as large
    const double layers = resident_bytes(model) - embedding * (model.tied_embeddings ? 1 : 2);
    return layers * stage.layers + (stage.first || stage.last ? embedding : 0);
}

/// The weights of all routed experts, with their scales.
double expert_bytes(const ModelCard& model) {
    if (!model.moe) return 0;
    return as_double(model.moe->layers) * as_double(model.moe->experts) * as_double(model.moe->expert_bytes) +
           model.moe->scale_bytes;
}

/// Whether ranks with their own sequences divide nothing but whole experts. In vLLM they are servers that
/// share the experts; the ranks of other engines still divide all other matrices than those of attention.
bool divides_experts_alone(const Deployment& deployment) {
    return deployment.attention_data_parallel && deployment.engine == Engine::vllm;
}

/// With attention data parallelism, every rank computes the attention of its own sequences.
double weight_bytes_of_rank(const ModelCard& model, const Deployment& deployment, const Stage& stage) {
    const double ranks = deployment.tensor_parallel;
    if (divides_experts_alone(deployment))
        return stage_bytes(model, stage) - expert_bytes(model) * stage.layers * (1 - 1 / ranks);
    const double shared = stage_bytes(model, stage) / ranks;
    const double attention = stage.layers * as_double(model.attention_bytes);
    const double whole = deployment.attention_data_parallel ? 1 : undivided_attention_share(model);
    return shared + attention * whole * (1 - 1 / ranks);
}

/// The adapters' values in a layer, per rank of an adapter (r): each matrix of n inputs and m outputs gets
/// two of n × r and r × m values. Where ranks divide the outputs, each has the whole n × r, and where they
/// divide the inputs, the whole r × m (vLLM without fully_sharded_loras).
double adapter_values(const ModelCard& model, double ranks) {
    const double hidden = as_double(model.hidden);
    const double queries = as_double(model.query_heads * model.head_dim);
    const double keys = as_double(model.kv_heads * model.head_dim);
    const double kv_ranks = std::min(ranks, as_double(model.kv_heads));  // heads are copied to further ranks
    const double attention = 4 * hidden + 2 * queries / ranks + 2 * keys / kv_ranks;
    const double matrices = model.gated_ffn ? 3 : 2;
    const auto feed_forward = [&](std::uint64_t width) {
        return width > 0 ? matrices * (hidden + as_double(width) / ranks) : 0;
    };
    const double routed = model.moe ? as_double(model.moe->layers) / as_double(model.layers) : 0;
    return attention + (1 - routed) * feed_forward(model.ffn) +
           (model.moe ? routed * feed_forward(model.moe->shared_ffn) : 0);
}

/// The engine has room for as many adapters of the largest rank as it serves at once, in 16 bits.
double adapter_bytes(const ModelCard& model, const Deployment& deployment, const Stage& stage) {
    if (deployment.lora.count == 0) return 0;
    const double ranks = deployment.attention_data_parallel ? 1 : deployment.tensor_parallel;
    return as_double(deployment.lora.count * deployment.lora.rank) * adapter_values(model, ranks) *
           as_double(model.layers) * stage.layers * kActivationBytes;
}

/// The budget of an engine for what stands in Fit, before the part that lies outside it.
double budget_of(const Deployment& deployment) {
    const double memory = deployment.memory_bytes;
    switch (deployment.engine) {
        case Engine::vllm:
            return deployment.memory_fraction * memory;
        case Engine::sglang:
            return deployment.memory_fraction *
                   (memory - kContextBytes - (deployment.gpus() > 1 ? kSglangRanksBytes : 0));
        case Engine::trtllm:
        case Engine::llamacpp:
            return memory;
    }
    return memory;
}

double context_bytes(Engine engine) {
    const bool counts_itself = engine == Engine::vllm || engine == Engine::sglang;
    return kLibraryBytes + (counts_itself ? 0 : kContextBytes);
}

std::uint32_t whole_copies(const ModelCard& model, const Deployment& deployment) {
    const std::uint32_t ranks = deployment.tensor_parallel;
    if (deployment.attention_data_parallel) return 1;
    if (model.mla) return ranks;
    return std::max<std::uint32_t>(1, ranks / static_cast<std::uint32_t>(model.kv_heads));
}

void check_ranks(const ModelCard& model, const Deployment& deployment) {
    const std::uint64_t ranks = deployment.tensor_parallel;
    if (ranks == 0) throw UsageError("--tp 0: expected at least one rank");
    if (!deployment.attention_data_parallel) {
        if (model.query_heads % ranks != 0)
            throw UsageError(
                fmt::format("--tp {}: {} has {} attention heads, which {} ranks cannot share evenly", ranks,
                            model.name, model.query_heads, ranks));
        if (!model.mla && model.kv_heads % ranks != 0 && ranks % model.kv_heads != 0)
            throw UsageError(
                fmt::format("--tp {}: {} has {} KV heads; the ranks must divide them, or be a "
                            "multiple of them",
                            ranks, model.name, model.kv_heads));
    }
    const std::uint32_t copies = whole_copies(model, deployment);
    if (deployment.context_parallel == 0 || copies % deployment.context_parallel != 0)
        throw UsageError(
            fmt::format("--dcp {}: only the {} ranks that hold the same part of the cache can divide "
                        "its tokens; take a divisor of {}",
                        deployment.context_parallel, copies, copies));
}

void check_stages(const ModelCard& model, const Deployment& deployment) {
    const std::uint32_t stages = deployment.pipeline_parallel;
    if (stages == 0) throw UsageError("--pp 0: expected at least one stage");
    if (stages > model.layers)
        throw UsageError(fmt::format("--pp {}: {} has {} layers, too few for {} stages", stages, model.name,
                                     model.layers, stages));
    if (deployment.engine == Engine::llamacpp && stages > 1 && deployment.tensor_parallel > 1)
        throw UsageError(
            fmt::format("--pp {} and --tp {}: llama.cpp divides either the layers among GPUs or every "
                        "matrix; give one of them",
                        stages, deployment.tensor_parallel));
}

void check_experts(const ModelCard& model, const Deployment& deployment) {
    const std::uint32_t groups = deployment.expert_parallel;
    const std::uint32_t ranks = deployment.tensor_parallel;
    if (divides_experts_alone(deployment) && !model.moe)
        throw UsageError(
            fmt::format("--attention-dp: {} has no experts, which are all that the ranks of vLLM divide with "
                        "it; leave it out",
                        model.name));
    if (groups == 1) return;
    if (groups == 0) throw UsageError("--ep 0: expected at least one rank");
    if (!model.moe)
        throw UsageError(fmt::format("--ep {}: {} has no experts to divide among ranks", groups, model.name));
    if (model.moe->experts % groups != 0)
        throw UsageError(fmt::format("--ep {}: {} has {} experts, which {} ranks cannot share evenly", groups,
                                     model.name, model.moe->experts, groups));
    if (ranks % groups != 0)
        throw UsageError(
            fmt::format("--ep {}: the {} ranks of --tp are not a multiple of {}", groups, ranks, groups));
    if (deployment.engine == Engine::llamacpp)
        throw UsageError(fmt::format("--ep {}: llama.cpp divides every expert among its GPUs", groups));
    if (deployment.engine == Engine::vllm && groups != ranks)
        throw UsageError(
            fmt::format("--ep {}: vLLM gives whole experts to all {} ranks of --tp or to none; "
                        "take --ep {} or leave it out",
                        groups, ranks, ranks));
}

void check_adapters(const ModelCard& model, const Deployment& deployment) {
    constexpr std::array<std::uint64_t, 8> kVllmRanks{8, 16, 32, 64, 128, 256, 320, 512};
    const LoraAdapters& lora = deployment.lora;
    if (lora.count == 0) return;
    if (model.mla || model.state_bytes_per_sequence > 0)
        throw UsageError(
            fmt::format("--lora: {} has {} attention, whose adapters are not known; state their size with "
                        "--memory-headroom",
                        model.name, model.mla ? "latent" : "linear"));
    if (deployment.engine == Engine::trtllm)
        throw UsageError(
            "--lora: TensorRT-LLM takes the memory of adapters from a configuration file; state it with "
            "--memory-headroom");
    if (deployment.engine != Engine::vllm) return;
    const auto* const next = std::ranges::lower_bound(kVllmRanks, lora.rank);
    if (next == kVllmRanks.end() || *next != lora.rank)
        throw UsageError(fmt::format(
            "--lora {}:{}: vLLM has room for adapters of rank {}{}", lora.count, lora.rank,
            fmt::join(kVllmRanks, ", "),
            next == kVllmRanks.end() ? "" : fmt::format("; take {}, which holds smaller ones too", *next)));
}

void check_layers_on_gpu(const Deployment& deployment) {
    if (!deployment.gpu_layers) return;
    if (*deployment.gpu_layers == 0) throw UsageError("--gpu-layers 0: expected at least one layer");
    if (deployment.engine != Engine::llamacpp)
        throw UsageError(
            fmt::format("--gpu-layers {}: {} keeps every layer on the GPUs; add --engine llamacpp",
                        *deployment.gpu_layers, name_of(deployment.engine)));
    if (deployment.gpus() > 1)
        throw UsageError(fmt::format(
            "--gpu-layers {}: the split between GPU and host is planned for one GPU, not for {}; add --tp 1",
            *deployment.gpu_layers, deployment.gpus()));
}

double whole_blocks(double tokens, std::uint64_t block) {
    return std::ceil(tokens / as_double(block)) * as_double(block);
}

/// Whether an engine gives the memory of tokens free that have left the window of a layer. vLLM's manager of
/// such caches is off for chunks, and with a connector to the host's memory. SGLang 0.5.3 has none.
bool frees_behind_windows(const ModelCard& model, const Deployment& deployment) {
    if (deployment.engine == Engine::sglang) return false;
    return deployment.engine != Engine::vllm || (!model.chunked_attention && !deployment.host_cache);
}

/// The tokens of a context of which a layer with a window keeps keys and values. llama.cpp has room for the
/// window and a micro-batch, in multiples of 256 tokens (llama_kv_cache_iswa).
double windowed_tokens(const ModelCard& model, const Deployment& deployment, double tokens) {
    constexpr double kMicroBatch = 512;
    constexpr std::uint64_t kMultiple = 256;
    if (!model.sliding_window || !frees_behind_windows(model, deployment)) return tokens;
    auto kept = as_double(*model.sliding_window);
    if (deployment.engine == Engine::llamacpp) kept = whole_blocks(kept + kMicroBatch, kMultiple);
    return std::min(tokens, kept);
}

/// The factors by which the cache of layers with and without a window grows: vLLM gives its memory to groups
/// of equally many layers of one kind, and fills groups up with layers that hold nothing. Groups are as large
/// as the rarer kind, or as the more common one if that is less than a quarter larger.
struct Padding {
    double whole = 1;
    double windowed = 1;
};
Padding padding_of(const ModelCard& model, const Deployment& deployment) {
    if (deployment.engine != Engine::vllm || !frees_behind_windows(model, deployment)) return {};
    if (model.windowed_layers == 0 || model.windowed_layers >= model.layers) return {};
    constexpr double kAlmostEqual = 1.25;
    const std::uint64_t windowed = model.windowed_layers;
    const std::uint64_t whole = model.layers - windowed;
    const auto [least, most] = std::minmax(windowed, whole);
    const std::uint64_t group = as_double(most) < kAlmostEqual * as_double(least) ? most : least;
    const auto factor = [&](std::uint64_t layers) {
        return whole_blocks(as_double(layers), group) / as_double(layers);
    };
    return {factor(whole), factor(windowed)};
}

/// The values of the cache of a sequence with `whole` tokens in layers without a window, and `windowed` ones
/// in the others.
double cached_values(const ModelCard& model, const Deployment& deployment, double whole, double windowed) {
    const Padding padding = padding_of(model, deployment);
    return as_double(model.kv_values_per_token) * padding.whole * whole +
           as_double(model.windowed_kv_values_per_token) * padding.windowed * windowed;
}

}  // namespace

std::string_view name_of(Engine engine) {
    return kEngines[static_cast<std::size_t>(engine)];
}

std::optional<Engine> find_engine(std::string_view name) {
    const auto* const found = std::find(kEngines.begin(), kEngines.end(), name);
    if (found == kEngines.end()) return {};
    return static_cast<Engine>(found - kEngines.begin());
}

Sampler sampler_named(std::string_view name) {
    if (name == "torch") return Sampler::torch;
    if (name == "flashinfer") return Sampler::flashinfer;
    throw UsageError(fmt::format("--sampler {}: expected torch or flashinfer", name));
}

Engine engine_named(std::string_view name) {
    if (const auto engine = find_engine(name)) return *engine;
    throw UsageError(fmt::format("--engine {}: expected vllm, sglang, trtllm or llamacpp", name));
}

double default_memory_fraction(Engine engine) {
    switch (engine) {
        case Engine::vllm:
        case Engine::trtllm:
            return .9;
        case Engine::sglang:
            return .88;
        case Engine::llamacpp:
            return 1;
    }
    return .9;
}

Link link_of(const GpuCard& gpu) {
    return gpu.link.starts_with("PCIe") ? Link::host : Link::peers;
}

BatchLimits default_batch_limits(Engine engine, double memory_bytes, std::string_view gpu) {
    constexpr double kLarge = 70 * kGibi;
    switch (engine) {
        case Engine::vllm:
            if (memory_bytes >= kLarge && !gpu.starts_with("a100"))
                return {.sequences = 1024, .tokens = 8192};
            return {.sequences = 256, .tokens = 2048};
        case Engine::sglang:
            return {.sequences = kSglangLeastSequences, .tokens = 8192};
        case Engine::trtllm:
            return {.sequences = 2048, .tokens = 8192};
        case Engine::llamacpp:
            return {.sequences = 4, .tokens = 512};
    }
    return {};
}

std::uint64_t default_sequences(const Deployment& deployment, const Fit& fit, std::uint64_t context) {
    if (deployment.engine != Engine::sglang) return deployment.batch.sequences;
    const double contexts = as_double(fit.pool_tokens) / deployment.groups() / as_double(context);
    return static_cast<std::uint64_t>(std::clamp(contexts * kSglangSequencesPerContext,
                                                 as_double(kSglangLeastSequences),
                                                 as_double(kSglangMostSequences)));
}

double resident_bytes(const ModelCard& model) {
    return as_double(model.resident_weight_bytes) + model.scale_bytes;
}

std::string divided_block(const ModelCard& model, const Deployment& deployment) {
    if (deployment.engine != Engine::vllm && deployment.engine != Engine::sglang) return "";
    if (divides_experts_alone(deployment)) return "";
    const auto is_broken = [](std::uint64_t width, std::uint64_t ranks, std::uint64_t block) {
        return block > 0 && ranks > 1 && (width % ranks != 0 || width / ranks % block != 0);
    };
    const std::uint64_t ranks = deployment.tensor_parallel;
    constexpr std::string_view kWhy =
        "{} ranks cannot divide the width {} of {} into whole blocks of {} with one scale; take {} {}";
    for (const std::uint64_t width : {model.ffn, model.moe ? model.moe->shared_ffn : 0}) {
        if (!is_broken(width, ranks, model.scale_block)) continue;
        std::uint64_t fewer = ranks / 2;
        while (is_broken(width, fewer, model.scale_block)) fewer /= 2;
        return fmt::format(kWhy, ranks, width, "feed-forward layers", model.scale_block, "--tp", fewer);
    }
    if (!model.moe) return "";
    const std::uint64_t sharers = ranks / deployment.expert_parallel;
    if (!is_broken(model.moe->expert_ffn, sharers, model.moe->scale_block)) return "";
    return fmt::format(kWhy, sharers, model.moe->expert_ffn, "an expert", model.moe->scale_block, "--ep",
                       ranks);
}

double kv_share_of_rank(const ModelCard& model, const Deployment& deployment) {
    check_ranks(model, deployment);
    const double copies = whole_copies(model, deployment);
    const double ranks = deployment.attention_data_parallel ? 1 : deployment.tensor_parallel;
    return copies / ranks / deployment.context_parallel;
}

double sequence_bytes(const ModelCard& model, const Deployment& deployment, const Fit& fit, double tokens) {
    const double value = bytes_per_value(number_format(model.kv_dtype));
    const double whole = whole_blocks(tokens, deployment.block_tokens);
    const double windowed = whole_blocks(windowed_tokens(model, deployment, tokens), deployment.block_tokens);
    const double cache = cached_values(model, deployment, whole, windowed) * value;
    const double state_ranks = deployment.attention_data_parallel ? 1 : deployment.tensor_parallel;
    return (cache * kv_share_of_rank(model, deployment) + model.state_bytes_per_sequence / state_ranks) *
               fit.layers +
           deployment.draft.per_token * whole;
}

std::uint64_t sequences_at_once(const ModelCard& model, const Deployment& deployment, const Fit& fit,
                                double tokens) {
    if (!(fit.left > 0) || !(tokens > 0)) return 0;
    const double each = sequence_bytes(model, deployment, fit, tokens);
    return static_cast<std::uint64_t>(fit.left / each) * deployment.groups();
}

DraftModel draft_on(const ModelCard& draft, const Deployment& deployment) {
    if (deployment.pipeline_parallel > 1)
        throw UsageError(fmt::format(
            "--draft-model {}: engines do not divide a draft model into stages; leave --pp out", draft.name));
    const double kv = kv_bytes_per_token(draft) * kv_share_of_rank(draft, deployment);
    return {.weights = weight_bytes_of_rank(draft, deployment, {}), .per_token = kv};
}

double host_cache_tokens(const Deployment& deployment, const Fit& fit, double bytes) {
    const double ranks = deployment.attention_data_parallel ? 1 : deployment.tensor_parallel;
    return bytes / (fit.per_token / fit.layers * ranks);
}

HostSplit host_split(const ModelCard& model, std::uint64_t gpu_layers) {
    const double on_gpu = as_double(std::min(gpu_layers, model.layers)) / as_double(model.layers);
    const double head = as_double(model.embedding_bytes);  // the output head is assumed to be as large
    const double layers = streamed_weight_bytes(model) - head;
    const double resident = resident_bytes(model) - head * (model.tied_embeddings ? 1 : 2);
    const bool has_head = gpu_layers > model.layers;
    return {.gpu_bytes = on_gpu * layers + (has_head ? head : 0),
            .host_bytes = (1 - on_gpu) * layers + (has_head ? 0 : head),
            .resident_on_host = (1 - on_gpu) * resident + (has_head || model.tied_embeddings ? 1 : 2) * head};
}

double pool_tokens_at(const ModelCard& model, const Deployment& deployment, const Fit& fit, double context) {
    if (!(fit.left > 0)) return 0;
    if (!model.sliding_window && model.state_bytes_per_sequence == 0) return as_double(fit.pool_tokens);
    return fit.left / sequence_bytes(model, deployment, fit, context) * context * deployment.groups();
}

namespace {

Fit fit_of_stage(const ModelCard& model, const Deployment& deployment, const Stage& stage) {
    Fit fit;
    fit.budget = budget_of(deployment);
    fit.weights = deployment.weight_bytes.value_or(weight_bytes_of_rank(model, deployment, stage));
    fit.adapters = adapter_bytes(model, deployment, stage);
    fit.draft = deployment.draft.weights;
    fit.headroom = deployment.headroom_bytes;
    if (deployment.overhead_bytes) {
        fit.context = *deployment.overhead_bytes;
    } else {
        fit.activations = activation_bytes(model, deployment, stage);
        fit.context = context_bytes(deployment.engine);
        fit.communication = communication_bytes(deployment);
    }
    fit.left = fit.budget - fit.weights - fit.adapters - fit.draft - fit.overhead() - fit.headroom;
    if (fit.left > 0 && (deployment.engine == Engine::trtllm || deployment.engine == Engine::llamacpp))
        fit.left *= deployment.memory_fraction;
    fit.layers = stage.layers;
    fit.per_token = cached_values(model, deployment, 1, 1) * bytes_per_value(number_format(model.kv_dtype)) *
                        kv_share_of_rank(model, deployment) * stage.layers +
                    deployment.draft.per_token;
    fit.copies = whole_copies(model, deployment) / static_cast<double>(deployment.context_parallel);
    if (fit.left > 0) {
        const double tokens = std::floor(fit.left / fit.per_token);
        const double blocks = std::floor(tokens / as_double(deployment.block_tokens));
        fit.pool_tokens = static_cast<std::uint64_t>(tokens * deployment.groups());
        fit.blocks = static_cast<std::uint64_t>(blocks * deployment.groups());
    }
    return fit;
}

}  // namespace

Fit fit_of(const ModelCard& model, const Deployment& deployment) {
    check_stages(model, deployment);
    check_experts(model, deployment);
    check_adapters(model, deployment);
    check_layers_on_gpu(deployment);
    std::optional<Fit> tightest;
    for (const Stage& stage : stages_of(model, deployment)) {
        const Fit fit = fit_of_stage(model, deployment, stage);
        if (!tightest || fit.left / fit.layers < tightest->left / tightest->layers) tightest = fit;
    }
    return *tightest;
}

}  // namespace paretoken::cards
