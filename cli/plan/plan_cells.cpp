#include "cli/plan/plan_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "cards/gguf.h"
#include "cards/gpu.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/formats.h"
#include "core/spec.h"
#include "reports/analysis/plan/engine_command.h"
#include "reports/document/table.h"
#include "simulator/engine/card_profile.h"

namespace paretoken::cli {
namespace {

using reports::PlannedCell;

constexpr double kGibiByte = 1024.0 * 1024 * 1024;
constexpr std::uint32_t kMostRanks = 1024;
constexpr std::uint64_t kUsualDrafts = 4;
constexpr std::uint64_t kContextWithoutCard = 131072;

/// A kind of GPU that cells are made for.
struct PlannedGpu {
    std::string name;
    std::optional<cards::GpuCard> card;  ///< absent for a size without a card
    double memory_bytes = 0;
    std::optional<std::uint32_t> count;  ///< the ranks, if the user gave a count
};

std::optional<double> size_of(const std::string& option, const std::string& text) {
    if (text.empty()) return {};
    try {
        return parse_bytes(text);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{} {}", option, error.what()));
    }
}

/// Reads "25GB/s" as bytes per second.
double speed_of(const std::string& option, const std::string& text) {
    constexpr std::string_view kPerSecond = "/s";
    const bool has_unit = text.ends_with(kPerSecond);
    const auto bytes =
        has_unit ? size_of(option, text.substr(0, text.size() - kPerSecond.size())) : std::optional<double>();
    if (!bytes || !(*bytes > 0))
        throw UsageError(fmt::format("{} {}: expected a size per second, such as 25GB/s", option, text));
    return *bytes;
}

/// Reads "4:16" as four adapters of rank 16.
cards::LoraAdapters adapters_of(const std::string& text) {
    if (text.empty()) return {};
    try {
        const auto colon = text.find(':');
        const cards::LoraAdapters lora{
            .count = parse_count(std::string_view(text).substr(0, colon)),
            .rank = colon == std::string::npos ? 0 : parse_count(std::string_view(text).substr(colon + 1))};
        constexpr std::uint64_t kMost = 65536;
        if (lora.count >= 1 && lora.rank >= 1 && lora.count <= kMost && lora.rank <= kMost) return lora;
    } catch (const UsageError&) {  // the message below says what is expected
    }
    throw UsageError(
        fmt::format("--lora {}: expected the number of adapters that a server has at once and their largest "
                    "rank, as in 4:16",
                    text));
}

PlannedGpu gpu_named(const std::string& text) {
    const cards::GpuSpec spec = cards::parse_gpu_spec(text);
    const auto card = cards::find_gpu(spec.name);
    if (!card) cards::require_known_gpu(text, "");
    if (!card)
        throw UsageError(
            fmt::format("--gpu {}: there is no card of this GPU; give --gpu-memory in place of it", text));
    const bool counted = cards::letters_and_digits(text).ends_with(fmt::format("x{}", spec.count));
    return {card->name, card, card->reported_bytes, counted ? std::optional(spec.count) : std::nullopt};
}

/// The GPUs of --gpu; with --gpu-memory, one of them with another memory, or a GPU without a card.
std::vector<PlannedGpu> gpus_of(const CellOptions& options) {
    std::vector<PlannedGpu> gpus;
    for (const std::string& name : options.gpus) {
        if (name != "all") {
            gpus.push_back(gpu_named(name));
            continue;
        }
        for (const std::string& known : cards::known_gpus()) gpus.push_back(gpu_named(known));
    }
    const auto memory = size_of("--gpu-memory", options.gpu_memory);
    if (!memory && gpus.empty()) throw UsageError("plan: give --gpu NAME, --gpu all or --gpu-memory SIZE");
    if (!memory) return gpus;
    if (!(*memory > 0)) throw UsageError("--gpu-memory must be above 0");
    if (gpus.size() > 1)
        throw UsageError("--gpu-memory is the memory of one kind of GPU; give one --gpu with it, or none");
    if (gpus.empty()) gpus.push_back({fmt::format("{} GPU", options.gpu_memory), {}, 0, {}});
    gpus.front().memory_bytes = *memory;
    return gpus;
}

/// How the GPUs of a server divide the model.
struct Ranks {
    std::uint32_t tensor = 1;
    std::uint32_t stages = 1;
    std::uint32_t experts = 1;
};

/// The ranks of a stage with given stages and experts: as asked, or those of the usual ones that divide the
/// model.
std::vector<std::uint32_t> ranks_of_stage(const CellOptions& options, const PlannedGpu& gpu,
                                          const cards::ModelCard& model, const Ranks& of) {
    if (gpu.count)
        for (const std::uint32_t ranks : options.tp)
            if (ranks * of.stages != *gpu.count)
                throw UsageError(
                    fmt::format("--gpu {}x{} is {} GPU{}, and --tp {} with {} stage{} takes {}; leave the "
                                "number or --tp out",
                                gpu.name, *gpu.count, *gpu.count, *gpu.count == 1 ? "" : "s", ranks,
                                of.stages, of.stages == 1 ? "" : "s", ranks * of.stages));
    if (!options.tp.empty()) return options.tp;
    if (gpu.count && of.stages > 0 && *gpu.count % of.stages == 0) return {*gpu.count / of.stages};
    if (gpu.count)
        throw UsageError(fmt::format("--pp {}: {} GPU{} (--gpu {}x{}) cannot be divided into {} equal stages",
                                     of.stages, *gpu.count, *gpu.count == 1 ? "" : "s", gpu.name, *gpu.count,
                                     of.stages));
    if (options.gpu_layers) return {1};
    if (of.experts > 1) return {of.experts};
    if (of.stages > 1 && options.engine == cards::name_of(cards::Engine::llamacpp)) return {1};
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t count : {1U, 2U, 4U, 8U})
        if (model.query_heads % count == 0 &&
            (model.mla || model.kv_heads % count == 0 || count % model.kv_heads == 0))
            ranks.push_back(count);
    return ranks;
}

std::vector<Ranks> ranks_of(const CellOptions& options, const PlannedGpu& gpu,
                            const cards::ModelCard& model) {
    const std::vector<std::uint32_t> one{1};
    std::vector<Ranks> all;
    for (const std::uint32_t stages : options.pp.empty() ? one : options.pp)
        for (const std::uint32_t experts : options.ep.empty() ? one : options.ep)
            for (const std::uint32_t tensor : ranks_of_stage(options, gpu, model, {1, stages, experts}))
                all.push_back({tensor, stages, experts});
    return all;
}

bool computes(const cards::GpuCard& gpu, Arithmetic arithmetic) {
    return gpu.flops.contains(std::string(name_of(arithmetic)));
}

/// Whether vLLM refuses to compute a model in 16 bits without bf16, because its numbers get too large.
bool needs_bf16(const cards::ModelCard& model) {
    constexpr std::array<std::string_view, 4> kTypes{"gemma2", "gemma3", "gemma3_text", "glm4"};
    return std::ranges::find(kTypes, model.architecture) != kTypes.end();
}

/// Why the engine does not run a cell on a GPU; empty if it does.
std::string refusal_of(const PlannedCell& cell, const cards::ModelCard& model,
                       const std::optional<cards::GpuCard>& gpu) {
    const cards::Engine engine = cell.deployment.engine;
    if (std::string broken = cards::divided_block(model, cell.deployment); !broken.empty()) return broken;
    if (gpu && !reports::runs_on(engine, *gpu))
        return fmt::format("{} does not run on {}", cards::name_of(engine), gpu->title);
    if (!gpu || computes(*gpu, Arithmetic::bf16)) return "";
    const Arithmetic weights = number_format(cell.weights).arithmetic;
    if (engine == cards::Engine::vllm && weights != Arithmetic::f32 && needs_bf16(model))
        return fmt::format(
            "{} has no bf16, and vLLM refuses {} in f16, where its numbers get too large; take --weights f32",
            gpu->title, model.architecture);
    if (weights == Arithmetic::fp8 || weights == Arithmetic::fp4)
        return fmt::format(
            "{} has no arithmetic for {}, and engines refuse to expand it on GPUs without bf16", gpu->title,
            cell.weights);
    return "";
}

void add_notes(PlannedCell& cell, const std::optional<cards::GpuCard>& gpu) {
    if (!gpu) return;
    const Arithmetic weights = number_format(cell.weights).arithmetic;
    if (weights == Arithmetic::bf16 && !computes(*gpu, Arithmetic::bf16))
        cell.notes.push_back(fmt::format("{} has no bf16: serve with --dtype half", gpu->title));
    else if ((weights == Arithmetic::fp8 || weights == Arithmetic::fp4) && !computes(*gpu, weights))
        cell.notes.push_back(
            fmt::format("{} is only the storage format of the weights: {} multiplies in 16 bits",
                        cell.weights, gpu->title));
    if (number_format(cell.kv).arithmetic == Arithmetic::fp8 && !computes(*gpu, Arithmetic::fp8))
        cell.notes.push_back(
            fmt::format("{} is only the storage format of the cache: {} computes attention in 16 bits",
                        cell.kv, gpu->title));
}

std::optional<double> weights_of(const CellOptions& options) {
    const auto bytes = size_of("--weights-memory", options.weights_memory);
    if (bytes && !(*bytes > 0))
        throw UsageError("--weights-memory 0: weights take memory; leave it out if unknown");
    return bytes;
}

/// Everything that cells are made from.
struct CellMaker {
    const CellOptions& options;
    const reports::PlannedLengths& lengths;
    cards::Engine engine;

    cards::ModelCard model_of(const std::string& weights, const std::string& kv) const {
        cards::ModelCardOptions types;
        if (!weights.empty()) types.weight_dtype = weights;
        if (kv != "auto" && !kv.empty()) types.kv_dtype = kv;
        return cards::model_card(options.model_card, types);
    }

    /// Whether tokens are drafted, and how many in a step.
    bool drafts() const { return !options.draft_model.empty() || options.acceptance; }
    std::uint64_t draft_tokens() const { return options.draft_tokens.value_or(kUsualDrafts); }

    cards::Deployment deployment_on(const PlannedGpu& gpu, const Ranks& ranks) const {
        cards::BatchLimits batch =
            cards::default_batch_limits(engine, gpu.memory_bytes, gpu.card ? gpu.card->name : "");
        batch.sequences = options.max_num_seqs.value_or(batch.sequences);
        batch.tokens = options.max_num_batched_tokens.value_or(batch.tokens);
        cards::Link link = gpu.card ? cards::link_of(*gpu.card) : cards::Link::peers;
        if (!options.link.empty()) link = options.link == "host" ? cards::Link::host : cards::Link::peers;
        cards::Deployment on{
            .engine = engine,
            .memory_bytes = gpu.memory_bytes,
            .memory_fraction = options.memory_fraction.value_or(cards::default_memory_fraction(engine)),
            .tensor_parallel = ranks.tensor,
            .pipeline_parallel = ranks.stages,
            .expert_parallel = ranks.experts,
            .context_parallel = options.dcp,
            .attention_data_parallel = options.attention_dp,
            .link = link,
            .batch = batch,
            .weight_bytes = weights_of(options),
            .overhead_bytes = size_of("--overhead", options.overhead),
            .headroom_bytes = size_of("--memory-headroom", options.headroom).value_or(0),
            .sampler = cards::sampler_named(options.sampler),
            .lora = adapters_of(options.lora),
            .host_cache = !options.kv_offload.empty(),
            .gpu_layers = options.gpu_layers};
        if (!options.draft_model.empty())
            on.draft = cards::draft_on(cards::model_card(options.draft_model), on);
        return on;
    }

    /// What the simulated server is told of drafts. A step is longer by as many passes of the draft model,
    /// which launch their kernels and read its weights, but are not scheduled.
    std::string speculation_on(const cards::GpuCard& gpu, const PlannedCell& cell) const {
        if (!options.acceptance) return "";
        std::string text =
            fmt::format("&speculative_tokens={}&acceptance={}", draft_tokens(), *options.acceptance);
        if (options.draft_model.empty()) return text;
        const sim::CardEfficiencies reached = sim::usual_efficiencies(gpu);
        const sim::Profile draft =
            sim::gpu_profile(cards::model_card(options.draft_model), gpu, cell.deployment.tensor_parallel,
                             {.engine = engine, .cache_is_given = true, .reached = reached});
        const double pass_s = draft.weight_bytes / draft.weight_bytes_per_s + draft.step_s - reached.step;
        constexpr double kMicroseconds = 1e6;
        return text +
               fmt::format("&reach.step={:.0f}us",
                           kMicroseconds * (reached.step + static_cast<double>(draft_tokens()) * pass_s));
    }

    /// The host's memory of the simulated server, which saves every token once, whatever the ranks do.
    static std::string host_cache_of_profile(const PlannedCell& cell) {
        if (!cell.host_cache) return "";
        const reports::PlannedHostCache& cache = *cell.host_cache;
        const double once = cell.kv_bytes_per_token * cache.tokens / cache.bytes;
        return fmt::format("&kv_offload_bytes={:.0f}&kv_offload_bytes_per_s={:.0f}", once * cache.bytes,
                           once * cache.bytes_per_s);
    }

    /// The simulated server with the cell's formats, cache and batch, and its engine, ranks and link.
    std::string profile_of(const cards::GpuCard& gpu, const PlannedCell& cell, const std::string& weights,
                           const std::string& kv) const {
        std::string types;
        if (!weights.empty()) types = "weights=" + weights;
        if (kv != "auto" && !kv.empty()) types += fmt::format("{}kv={}", types.empty() ? "" : ",", kv);
        std::string deployed;
        if (engine != cards::Engine::vllm) deployed += fmt::format("&engine={}", cards::name_of(engine));
        const cards::Deployment& on = cell.deployment;
        if (options.attention_dp) deployed += "&parallel=dep";
        const bool one_stage_at_once = engine == cards::Engine::llamacpp;
        if (on.pipeline_parallel > 1)
            deployed +=
                one_stage_at_once ? "&parallel=layers" : fmt::format("&stages={}", on.pipeline_parallel);
        if (on.expert_parallel > 1) deployed += fmt::format("&ep={}", on.expert_parallel);
        const std::string_view peers = cards::link_of(gpu) == cards::Link::host ? "pcie" : "nvlink";
        if (!options.link.empty())
            deployed += fmt::format("&link={}", options.link == "host" ? "host" : peers);
        deployed += speculation_on(gpu, cell) + host_cache_of_profile(cell);
        const std::uint64_t groups = on.groups();  // with a batch of its own
        const std::uint64_t steps = groups * (one_stage_at_once ? 1 : on.pipeline_parallel);
        return fmt::format("sim:{}{}{}/{}x{}?blocks={}&max_num_seqs={}&max_batched_tokens={}{}",
                           options.model_card, types.empty() ? "" : ":", types, gpu.name, cell.gpus(),
                           cell.fit.blocks, groups * on.batch.sequences, steps * on.batch.tokens, deployed);
    }

    std::uint64_t context_of(const cards::ModelCard& model) const {
        const std::uint64_t most = model.max_context.value_or(kContextWithoutCard);
        return options.max_model_len ? *options.max_model_len : most;
    }

    PlannedCell cell_of(const PlannedGpu& gpu, const Ranks& ranks, const std::string& weights,
                        const std::string& kv) const {
        const cards::ModelCard model = model_of(weights, kv);
        PlannedCell cell{.gpu = gpu.name, .weights = model.weight_dtype, .kv = model.kv_dtype};
        cell.deployment = deployment_on(gpu, ranks);
        fill_sizes(cell, model, lengths, context_of(model));
        if (!options.max_num_seqs)
            cell.deployment.batch.sequences =
                cards::default_sequences(cell.deployment, cell.fit, context_of(model));
        if (model.state_bytes_per_sequence > 0)  // which the blocks of the simulated server do not contain
            cell.deployment.batch.sequences = std::clamp<std::uint64_t>(
                cell.sequences_p50 / cell.deployment.groups(), 1, cell.deployment.batch.sequences);
        cell.settings = suggested_settings(lengths, cell, cell.deployment.batch, context_of(model));
        cell.settings.max_model_len = options.max_model_len.value_or(cell.settings.max_model_len);
        cell.sequences_limit = cards::sequences_at_once(
            model, cell.deployment, cell.fit, static_cast<double>(reports::slot_tokens(cell.settings)));
        cell.refused = refusal_of(cell, model, gpu.card);
        if (cell.refused.empty() && kv != "auto" && !reports::has_cache_format(engine, cell.kv, cell.weights))
            cell.refused = fmt::format("{} has no KV cache in {}", cards::name_of(engine), cell.kv);
        if (const auto bytes = size_of("--kv-offload", options.kv_offload); bytes && cell.fit.left > 0)
            cell.host_cache =
                host_cache_of(cell, model, lengths, *bytes,
                              speed_of("--kv-offload-speed", options.kv_offload_speed), gpu.card);
        cell.host_layers =
            host_layers_of(cell, model, speed_of("--host-speed", options.host_speed), gpu.card);
        if (gpu.card && !cell.host_layers) cell.profile = profile_of(*gpu.card, cell, weights, kv);
        add_notes(cell, gpu.card);
        if (!model.max_context && !options.max_model_len)
            cell.notes.push_back(fmt::format(
                "the model card states no longest context: {} tokens are assumed; give --max-model-len",
                kContextWithoutCard));
        if (cell.host_layers)
            cell.notes.emplace_back(
                "layers in the host's memory are not simulated, so that no load is searched for");
        if (!options.draft_model.empty() && !options.acceptance)
            cell.notes.emplace_back(
                "the speed is that without drafts, because no --acceptance says how many of them are right");
        if (model.moe && cell.deployment.lora.count > 0)
            cell.notes.emplace_back("adapters of experts are not counted");
        cell.notes.insert(cell.notes.end(), model.notes.begin(), model.notes.end());
        return cell;
    }

    bool fits(const PlannedCell& cell) const { return cell.refused.empty() && cell.sequences_p99 > 0; }

    /// The first of the nearest changes with which the longest usual request fits.
    std::string nearest_to(const PlannedGpu& gpu, const Ranks& ranks, const PlannedCell& cell,
                           const std::string& weights, const std::string& kv) const {
        const cards::ModelCard model = model_of(weights, kv);
        PlannedCell fuller = cell;
        fuller.refused.clear();
        constexpr double kFuller = .95;
        if (!options.memory_fraction && engine != cards::Engine::llamacpp) {
            fuller.deployment.memory_fraction = kFuller;
            fill_sizes(fuller, model, lengths, context_of(model));
            if (fits(fuller)) return fmt::format("--memory-fraction {}", kFuller);
        }
        const std::string smaller_kv = engine == cards::Engine::llamacpp ? "q8_0" : "fp8";
        if (fits(cell_of(gpu, ranks, weights, smaller_kv))) return "--kv " + smaller_kv;
        const bool has_other_weights = model.source != "GGUF metadata";  // whose tensors have one format each
        for (const char* const smaller : {"fp8", "int4"}) {
            if (!has_other_weights) break;
            const PlannedCell other = cell_of(gpu, ranks, smaller, kv);
            if (other.fit.weights < cell.fit.weights && fits(other))
                return fmt::format("--weights {}", smaller);
        }
        if (const std::uint64_t layers = most_layers(gpu, ranks, model, weights, kv); layers > 0)
            return fmt::format("--gpu-layers {}", layers);
        return options.gpu_layers ? "" : more_ranks(gpu, ranks, model, weights, kv);
    }

    /// The most layers on one GPU with which llama.cpp has room for the longest usual request; 0: none.
    std::uint64_t most_layers(const PlannedGpu& gpu, const Ranks& ranks, const cards::ModelCard& model,
                              const std::string& weights, const std::string& kv) const {
        if (engine != cards::Engine::llamacpp || ranks.tensor * ranks.stages > 1) return 0;
        CellOptions some = options;
        std::uint64_t least = 0;
        for (std::uint64_t most = options.gpu_layers.value_or(model.layers + 1); least < most;) {
            some.gpu_layers = (least + most + 1) / 2;
            if (fits(CellMaker{some, lengths, engine}.cell_of(gpu, ranks, weights, kv)))
                least = *some.gpu_layers;
            else
                most = *some.gpu_layers - 1;
        }
        return least;
    }

    /// The fewest more ranks with which it fits. llama.cpp has either ranks or stages.
    std::string more_ranks(const PlannedGpu& gpu, const Ranks& ranks, const cards::ModelCard& model,
                           const std::string& weights, const std::string& kv) const {
        constexpr std::uint32_t kMost = 64;
        const bool divides_once = engine == cards::Engine::llamacpp;
        const std::uint32_t most_tensor = divides_once && ranks.stages > 1 ? 1 : kMost;
        Ranks more = ranks;
        for (more.tensor *= 2; more.tensor <= most_tensor && model.query_heads % more.tensor == 0;
             more.tensor *= 2) {
            if (ranks.experts > 1) more.experts = more.tensor;
            if (more.experts > 1 && model.moe->experts % more.experts != 0) break;
            if (fits(cell_of(gpu, more, weights, kv)))
                return fmt::format("--tp {}{}", more.tensor,
                                   more.experts > 1 ? fmt::format(" --ep {}", more.experts) : "");
        }
        const std::uint64_t most_stages =
            divides_once && ranks.tensor > 1 ? 1 : std::min<std::uint64_t>(kMost, model.layers);
        more = ranks;
        for (more.stages *= 2; more.stages <= most_stages; more.stages *= 2)
            if (fits(cell_of(gpu, more, weights, kv))) return fmt::format("--pp {}", more.stages);
        return "";
    }

    PlannedCell judged(const PlannedGpu& gpu, const Ranks& ranks, const std::string& weights,
                       const std::string& kv) const {
        PlannedCell cell = cell_of(gpu, ranks, weights, kv);
        if (!cell.refused.empty() || cell.sequences_p99 > 0) return cell;
        const double missing = cell.sequence_bytes_p99 - cell.fit.left;
        cell.refused =
            fmt::format("{} GiB per GPU are missing for one request of {} tokens (p99)",
                        reports::significant(missing / kGibiByte), reports::significant(lengths.total_p99));
        cell.nearest = nearest_to(gpu, ranks, cell, weights, kv);
        return cell;
    }
};

/// The path of the GGUF file, or of the directory with a checkpoint, that --model-card names; empty for other
/// cards.
std::string local_model(const std::string& card) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path path(card.substr(0, card.find_last_of(':')));
    if (fs::exists(card, error)) path = card;
    path = fs::absolute(path, error).lexically_normal();
    if (path.filename() == "config.json" || path.filename().empty()) path = path.parent_path();
    if (fs::is_regular_file(path, error) && cards::is_gguf(path)) return path.string();
    if (!fs::is_directory(path, error)) return "";
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
        if (entry.path().extension() == ".safetensors") return path.string();
    return "";
}

/// The format of a cache that is not stated: vLLM and SGLang keep it in that of the model, so that a model in
/// 32 bits has such a cache.
std::string cache_beside(const std::string& weights, const std::string& kv, cards::Engine engine) {
    const bool follows = engine == cards::Engine::vllm || engine == cards::Engine::sglang;
    const bool is_wide = follows && kv == "auto" && format_name(weights) == "f32";
    return is_wide ? "f32" : kv;
}

void check_drafts(const CellOptions& options) {
    if (options.acceptance && !(*options.acceptance > 0 && *options.acceptance <= 1))
        throw UsageError(
            fmt::format("--acceptance {}: expected a share above 0 and at most 1", *options.acceptance));
    if (options.draft_tokens && options.draft_model.empty() && !options.acceptance)
        throw UsageError(
            fmt::format("--draft-tokens {}: without --acceptance (or --draft-model) nothing is drafted",
                        *options.draft_tokens));
}

/// Other engines take a longer context than the model's.
void check_context(const CellOptions& options, const cards::ModelCard& model, cards::Engine engine) {
    const bool refuses = engine == cards::Engine::vllm || engine == cards::Engine::sglang;
    if (refuses && options.max_model_len && model.max_context && *options.max_model_len > *model.max_context)
        throw UsageError(
            fmt::format("--max-model-len {}: {} has a context of {} tokens, and {} refuses to start with a "
                        "longer one; give at most that",
                        *options.max_model_len, model.name, *model.max_context, cards::name_of(engine)));
}

void check(const CellOptions& options) {
    check_drafts(options);
    if (options.model_card.empty())
        throw UsageError("plan: give --model-card, a known model, a config.json or a GGUF file");
    if (options.memory_fraction && !(*options.memory_fraction > 0 && *options.memory_fraction <= 1))
        throw UsageError(fmt::format("--memory-fraction {}: expected a share above 0 and at most 1",
                                     *options.memory_fraction));
    if (!options.link.empty() && options.link != "peers" && options.link != "host")
        throw UsageError(fmt::format("--link {}: expected peers or host", options.link));
    for (const auto& [option, counts] :
         {std::pair("--tp", &options.tp), std::pair("--pp", &options.pp), std::pair("--ep", &options.ep)})
        for (const std::uint32_t ranks : *counts)
            if (ranks == 0 || ranks > kMostRanks)
                throw UsageError(fmt::format("{} {}: expected 1 to {}", option, ranks, kMostRanks));
    for (const auto& [option, values] :
         {std::pair("--weights", &options.weights), std::pair("--kv", &options.kv)})
        for (const std::string& value : *values)
            if (value != "auto" && find_format(value) == nullptr) {
                try {
                    (void)number_format(value);
                } catch (const UsageError& error) {
                    throw UsageError(fmt::format("{} {}: {}", option, value, error.what()));
                }
            }
}

}  // namespace

reports::DeploymentPlan planned_cells(const CellOptions& options, const reports::PlannedLengths& lengths) {
    check(options);
    const CellMaker maker{options, lengths, cards::engine_named(options.engine)};
    const cards::ModelCard model = maker.model_of("", "auto");
    reports::DeploymentPlan plan{.model = options.model.empty() ? model.name : options.model,
                                 .model_path = options.model.empty() ? local_model(options.model_card) : "",
                                 .loads_own_model = options.model.empty(),
                                 .model_weights = model.weight_dtype,
                                 .model_kv = model.kv_dtype,
                                 .engine = options.engine,
                                 .lengths = lengths};
    // llama.cpp needs a GGUF file, which the repository of a shipped card does not have.
    if (options.model.empty() && maker.engine != cards::Engine::llamacpp) plan.repository = model.repository;
    check_context(options, model, maker.engine);
    plan.context = maker.context_of(model);
    plan.knows_context = model.max_context || options.max_model_len;
    if (!options.draft_model.empty()) {
        const cards::ModelCard draft = cards::model_card(options.draft_model);
        const std::string local = local_model(options.draft_model);
        plan.draft_model = !local.empty()             ? local
                           : draft.repository.empty() ? options.draft_model
                                                      : draft.repository;
    }
    if (options.acceptance) plan.inputs["acceptance"] = {*options.acceptance, "given"};
    if (maker.drafts())
        plan.inputs["drafts"] = {static_cast<double>(maker.draft_tokens()),
                                 options.draft_tokens ? "given" : "default"};
    if (lengths.total_p99 > static_cast<double>(plan.context))
        throw UsageError(
            fmt::format("input {}, output {}: a request of {:.0f} tokens (p99) is longer than the context of "
                        "{} tokens; give shorter lengths (--isl, --osl), or another --max-model-len",
                        lengths.input, lengths.output, lengths.total_p99, plan.context));
    const std::vector<std::string> asis{""};
    const std::vector<std::string> automatic{"auto"};
    for (const PlannedGpu& gpu : gpus_of(options))
        for (const std::string& weights : options.weights.empty() ? asis : options.weights)
            for (const std::string& kv : options.kv.empty() ? automatic : options.kv)
                for (const Ranks& ranks : ranks_of(options, gpu, model))
                    plan.cells.push_back(maker.judged(gpu, ranks, weights == "auto" ? "" : weights,
                                                      cache_beside(weights, kv, maker.engine)));
    plan.best = best_of(plan.cells, false);
    return plan;
}

}  // namespace paretoken::cli
