#pragma once
// How much memory a model takes on the GPUs that serve it, and how many tokens of KV cache are left room for,
// as the inference engine counts it. Everything is per GPU (rank) unless a name says otherwise. The functions
// are pure. Constants of engines and the start-ups that they were fitted to: docs/plan.md.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cards/gpu.h"
#include "cards/model.h"

namespace paretoken::cards {

/// An inference engine. Each has its own meaning of the share of memory that it is given:
enum class Engine : std::uint8_t {
    vllm,     ///< share of all memory; weights, activations and cache are inside it
    sglang,   ///< share of the memory that was free at the start; weights and cache are inside it
    trtllm,   ///< share, for the cache alone, of what is free after loading
    llamacpp  ///< all memory; the cache takes what is asked for, and what is left bounds it
};
std::string_view name_of(Engine engine);
/// Nothing if no engine has this name.
std::optional<Engine> find_engine(std::string_view name);
/// Throws UsageError naming the known engines.
Engine engine_named(std::string_view name);
/// The share of memory that the engine takes unless it is told otherwise.
double default_memory_fraction(Engine engine);

/// How the GPUs of a rank group are connected.
enum class Link : std::uint8_t {
    peers,  ///< the GPUs read each other's memory (NVLink, Infinity Fabric)
    host    ///< they exchange through the host's memory (PCIe without peer access)
};
/// The link that the card of a GPU implies: host for PCIe, otherwise peers.
Link link_of(const GpuCard& gpu);

/// How vLLM samples, which decides the buffers of its profiling run.
enum class Sampler : std::uint8_t {
    torch,      ///< PyTorch sorts the vocabulary
    flashinfer  ///< FlashInfer's kernels, which do not sort; a server's log says when it uses them
};
/// Throws UsageError naming the known samplers.
Sampler sampler_named(std::string_view name);

/// Low-rank adapters (LoRA) of all linear layers that a server holds at once beside the weights.
struct LoraAdapters {
    std::uint64_t count = 0;  ///< 0: none
    std::uint64_t rank = 0;   ///< the largest rank

    bool operator==(const LoraAdapters&) const = default;
};

/// A second, smaller model that drafts tokens, on every GPU of the first one.
struct DraftModel {
    double weights = 0;    ///< bytes of one GPU; 0: there is none
    double per_token = 0;  ///< bytes of one token's KV cache on one GPU

    bool operator==(const DraftModel&) const = default;
};

/// The most sequences and tokens that a step of the engine takes, which decide the size of its buffers.
struct BatchLimits {
    std::uint64_t sequences = 256;
    std::uint64_t tokens = 2048;

    bool operator==(const BatchLimits&) const = default;
};
/// The limits of an engine that is told none. vLLM serves with 1024 sequences and 8192 tokens on GPUs with 70
/// GiB or more other than the A100, else with 256 and 2048. `gpu` is the name of the card; it may be empty.
/// SGLang takes more sequences where the cache is large: default_sequences().
BatchLimits default_batch_limits(Engine engine, double memory_bytes, std::string_view gpu);

/// A model on GPUs of one kind.
struct Deployment {
    Engine engine = Engine::vllm;
    double memory_bytes = 0;               ///< memory of one GPU as the driver reports it
    double memory_fraction = .9;           ///< the engine's share, in its own meaning
    std::uint32_t tensor_parallel = 1;     ///< ranks of a stage, which share every matrix
    std::uint32_t pipeline_parallel = 1;   ///< stages, each with a part of the layers
    std::uint32_t expert_parallel = 1;     ///< groups of a stage's ranks that have whole experts of their own
    std::uint32_t context_parallel = 1;    ///< of these, ranks that share the tokens of a sequence
    bool attention_data_parallel = false;  ///< whether each rank keeps whole sequences of its own
    Link link = Link::peers;
    BatchLimits batch = {};
    std::optional<double> weight_bytes = {};    ///< of one GPU; replaces what the card says
    std::optional<double> overhead_bytes = {};  ///< of one GPU; replaces buffers, context and communication
    double headroom_bytes = 0;                  ///< of one GPU; left free inside the engine's share
    std::uint64_t block_tokens = 16;            ///< tokens of a block of the cache
    Sampler sampler = Sampler::torch;           ///< of vLLM
    LoraAdapters lora = {};
    DraftModel draft = {};
    bool host_cache = false;  ///< whether the host's memory keeps the cache of displaced prompts
    /// Layers on the GPU, of llama.cpp on one GPU, where the output head counts as one more layer; the others
    /// are in the host's memory. Absent: all layers.
    std::optional<std::uint64_t> gpu_layers = {};

    std::uint32_t gpus() const { return tensor_parallel * pipeline_parallel; }
    /// The number of groups of ranks that each hold their own sequences.
    std::uint32_t groups() const { return attention_data_parallel ? tensor_parallel : 1; }
    bool operator==(const Deployment&) const = default;
};

/// The memory of one GPU, in bytes; of a pipeline, of the stage with the fewest tokens of cache.
struct Fit {
    double budget = 0;         ///< what the engine may use for all below
    double weights = 0;        ///< resident weights
    double adapters = 0;       ///< room for LoRA adapters
    double draft = 0;          ///< weights of the draft model
    double activations = 0;    ///< largest buffers of a step: the layers', or the sampler's
    double context = 0;        ///< what the runtime takes
    double communication = 0;  ///< buffers for the other ranks
    double headroom = 0;
    double left = 0;       ///< for the KV cache; below 0: so much is missing
    double per_token = 0;  ///< KV cache of one token, with the draft model's, on one rank, no window full
    double layers = 1;     ///< share of the layers on this stage
    double copies = 1;     ///< ranks that hold the same bytes of the cache
    /// Tokens that fit over all ranks while no window is full, and the whole blocks of them.
    std::uint64_t pool_tokens = 0;
    std::uint64_t blocks = 0;

    double overhead() const { return activations + context + communication; }
    bool operator==(const Fit&) const = default;
};

/// The most sequences of a step, of each group of ranks with its own sequences, of an engine that is told
/// none: SGLang's depend on the size of its cache and the longest `context`. `deployment` has the usual
/// limits.
std::uint64_t default_sequences(const Deployment& deployment, const Fit& fit, std::uint64_t context);

/// Throws a UsageError that names what cannot be divided (heads among ranks, copies of the cache among the
/// ranks of the context, layers among stages, experts among ranks), or what the engine does not have.
Fit fit_of(const ModelCard& model, const Deployment& deployment);

/// Why vLLM and SGLang cannot divide the weights among the ranks of a deployment, with a remedy: a rank would
/// have a part of a block of weights with one scale. Empty if they can.
std::string divided_block(const ModelCard& model, const Deployment& deployment);

/// The share of a token's KV cache in its layers that one rank of a stage holds: 1 for a latent cache under
/// tensor parallelism, whole heads otherwise.
double kv_share_of_rank(const ModelCard& model, const Deployment& deployment);

/// The bytes of a sequence of `tokens` tokens on the ranks of the stage of `fit` that hold it, per rank, in
/// whole blocks, with windows taken into account.
double sequence_bytes(const ModelCard& model, const Deployment& deployment, const Fit& fit, double tokens);

/// The number of sequences of `tokens` tokens that fit at once, over all ranks.
std::uint64_t sequences_at_once(const ModelCard& model, const Deployment& deployment, const Fit& fit,
                                double tokens);

/// The tokens of cache that fit if every sequence has `context` tokens: fewer with windows.
double pool_tokens_at(const ModelCard& model, const Deployment& deployment, const Fit& fit, double context);

/// A draft model on each GPU of `deployment`, which divides it as it divides the model. Throws UsageError.
DraftModel draft_on(const ModelCard& draft, const Deployment& deployment);

/// The tokens of KV cache that `bytes` of the host's memory hold: every rank saves what it holds.
double host_cache_tokens(const Deployment& deployment, const Fit& fit, double bytes);

/// The weights that llama.cpp reads for one token with `gpu_layers` layers on the GPU, on both sides, and all
/// weights on the side of the host. The embedding is in the host's memory, where one row of it is looked up.
struct HostSplit {
    double gpu_bytes = 0;
    double host_bytes = 0;
    double resident_on_host = 0;

    /// No token takes less, because the layers run one after the other and every weight is read once.
    double least_seconds(double gpu_bytes_per_s, double host_bytes_per_s) const {
        return gpu_bytes / gpu_bytes_per_s + host_bytes / host_bytes_per_s;
    }
    bool operator==(const HostSplit&) const = default;
};
HostSplit host_split(const ModelCard& model, std::uint64_t gpu_layers);

/// The weights of all ranks together, with the scales that the format's own size does not contain.
double resident_bytes(const ModelCard& model);

}  // namespace paretoken::cards
