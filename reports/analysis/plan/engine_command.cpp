#include "reports/analysis/plan/engine_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "cards/gpu.h"
#include "core/error.h"
#include "core/formats.h"
#include "core/plan/plan_arguments.h"
#include "reports/analysis/plan/plan_words.h"

namespace paretoken::reports {
namespace {

using Words = std::vector<std::string>;

/// The formats of llama.cpp's cache beside those with 16 bits, under its own names.
constexpr std::array<std::string_view, 7> kLlamacppCaches{"q8_0", "q4_0", "q4_1",  "q5_0",
                                                          "q5_1", "f32",  "iq4_nl"};

bool has_16_bits(const std::string& kv) {
    return kv == "auto" || kv == "bf16" || kv == "f16";
}

template <class Value>
void add(Words& words, std::string option, const Value& value) {
    words.push_back(std::move(option));
    words.push_back(fmt::format("{}", value));
}

/// Adds an option if its value is not the one without it.
void add_above_one(Words& words, std::string option, std::uint64_t value) {
    if (value > 1) add(words, std::move(option), value);
}

/// The names of an engine's options for its share of the memory and the limits of its batch.
struct LimitOptions {
    const char* memory_fraction;
    const char* context;
    const char* sequences;
    const char* tokens;
    std::uint64_t sharers = 1;  ///< groups of ranks that divide the limits of the batch among them
};
void add_limits(Words& words, const PlannedCell& cell, const LimitOptions& options) {
    add(words, options.memory_fraction, cell.deployment.memory_fraction);
    add(words, options.context, cell.settings.max_model_len);
    add(words, options.sequences, cell.settings.max_num_seqs * options.sharers);
    add(words, options.tokens, cell.settings.max_num_batched_tokens * options.sharers);
}

/// The option with which vLLM and SGLang convert the model's own weights to those of the cell: 16 bits to
/// fp8, and plain formats to one another. Nothing if they need no conversion, or there is none.
Words conversion_of(const DeploymentPlan& plan, const PlannedCell& cell) {
    constexpr std::array<std::array<std::string_view, 2>, 3> kPlain{
        {{"bf16", "bfloat16"}, {"f16", "float16"}, {"f32", "float32"}}};
    const auto plain = [&](const std::string& format) {
        return std::ranges::find_if(kPlain, [&](const auto& one) { return one.front() == format; });
    };
    if (cell.weights == plan.model_weights || plain(plan.model_weights) == kPlain.end()) return {};
    if (cell.weights == "fp8" && plan.model_weights != "f32") return {"--quantization", "fp8"};
    const auto* const to = plain(cell.weights);
    return to == kPlain.end() ? Words{} : Words{"--dtype", std::string(to->back())};
}

bool converts_weights(const DeploymentPlan& plan, const PlannedCell& cell, cards::Engine engine) {
    const bool can = engine == cards::Engine::vllm || engine == cards::Engine::sglang;
    return can && !conversion_of(plan, cell).empty();
}

void add_conversion(Words& words, const DeploymentPlan& plan, const PlannedCell& cell) {
    const Words option = conversion_of(plan, cell);
    words.insert(words.end(), option.begin(), option.end());
}

std::uint64_t drafts_of(const DeploymentPlan& plan) {
    const auto drafts = plan.inputs.find("drafts");
    return drafts == plan.inputs.end() ? 0 : static_cast<std::uint64_t>(drafts->second.value);
}

std::string whole_units(double bytes, double unit) {
    return fmt::format("{:.0f}", std::max(1.0, std::floor(bytes / unit)));
}

/// vLLM's connector has whole blocks of the cache in the host's memory, as many for every rank.
std::string vllm_host_cache(const PlannedCell& cell) {
    return fmt::format(
        R"({{"kv_connector":"OffloadingConnector","kv_role":"kv_both",)"
        R"("kv_connector_extra_config":{{"num_cpu_blocks":{}}}}})",
        whole_units(cell.host_cache->tokens, static_cast<double>(cell.deployment.block_tokens)));
}

EngineCommand vllm_start(const DeploymentPlan& plan, const PlannedCell& cell, const std::string& model) {
    const cards::Deployment& on = cell.deployment;
    Words words{model};
    add(words, "--tensor-parallel-size", on.attention_data_parallel ? 1 : on.tensor_parallel);
    add_above_one(words, "--pipeline-parallel-size", on.pipeline_parallel);
    if (on.attention_data_parallel) add(words, "--data-parallel-size", on.tensor_parallel);
    if (on.attention_data_parallel || on.expert_parallel > 1) words.emplace_back("--enable-expert-parallel");
    add_above_one(words, "--decode-context-parallel-size", on.context_parallel);
    add_limits(words, cell,
               {"--gpu-memory-utilization", "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens"});
    add(words, "--kv-cache-dtype", cell.kv == "fp8" ? "fp8" : "auto");
    add_conversion(words, plan, cell);
    if (on.lora.count > 0) {
        words.emplace_back("--enable-lora");
        add(words, "--max-loras", on.lora.count);
        add(words, "--max-lora-rank", on.lora.rank);
    }
    if (cell.host_cache) add(words, "--kv-transfer-config", vllm_host_cache(cell));
    return {{"vllm", "serve"}, std::move(words)};
}

EngineCommand sglang_start(const DeploymentPlan& plan, const PlannedCell& cell, const std::string& model) {
    const cards::Deployment& on = cell.deployment;
    Words words{"--model-path", model};
    add(words, "--tp", on.tensor_parallel);
    add_above_one(words, "--pp-size", on.pipeline_parallel);
    add_above_one(words, "--ep-size", on.expert_parallel);
    if (on.attention_data_parallel) {
        add(words, "--dp-size", on.tensor_parallel);
        words.emplace_back("--enable-dp-attention");
    }
    add_limits(words, cell,
               {"--mem-fraction-static", "--context-length", "--max-running-requests",
                "--chunked-prefill-size", on.groups()});
    // FlashAttention 3 has no other fp8 format, and the server would leave it without a word.
    add(words, "--kv-cache-dtype", cell.kv == "fp8" ? "fp8_e4m3" : "auto");
    add_conversion(words, plan, cell);
    if (on.lora.count > 0) {
        words.emplace_back("--enable-lora");
        add(words, "--max-loras-per-batch", on.lora.count);
        add(words, "--max-lora-rank", on.lora.rank);
    }
    if (!plan.draft_model.empty()) {
        add(words, "--speculative-algorithm", "STANDALONE");
        add(words, "--speculative-draft-model-path", plan.draft_model);
        add(words, "--speculative-num-steps", drafts_of(plan));
        add(words, "--speculative-eagle-topk", 1);
        add(words, "--speculative-num-draft-tokens", drafts_of(plan) + 1);
    }
    if (cell.host_cache) {  // in GB of each rank
        constexpr double kGb = 1e9;
        words.emplace_back("--enable-hierarchical-cache");
        add(words, "--hicache-size", whole_units(cell.host_cache->bytes / cell.gpus(), kGb));
    }
    return {{"python3", "-m", "sglang.launch_server"}, std::move(words)};
}

EngineCommand trtllm_start(const DeploymentPlan&, const PlannedCell& cell, const std::string& model) {
    const cards::Deployment& on = cell.deployment;
    Words words{model};
    add(words, "--tp_size", on.tensor_parallel);
    add_above_one(words, "--pp_size", on.pipeline_parallel);
    add_above_one(words, "--ep_size", on.expert_parallel);
    add_limits(
        words, cell,
        {"--kv_cache_free_gpu_memory_fraction", "--max_seq_len", "--max_batch_size", "--max_num_tokens"});
    return {{"trtllm-serve"}, std::move(words)};
}

/// The name that files in a format of llama.cpp have in repositories, after a colon: ":Q8_0"; empty for
/// other formats. Without it llama.cpp takes Q4_K_M, whatever the plan is for.
std::string tag_of(const std::string& weights) {
    const NumberFormat* const format = find_format(weights);
    if (format == nullptr || format->ggml_type < 0) return "";
    std::string tag = ":" + weights;
    std::ranges::transform(tag, tag.begin(), [](unsigned char c) { return std::toupper(c); });
    const bool comes_in_sizes = tag == ":Q3_K" || tag == ":Q4_K" || tag == ":Q5_K";
    return comes_in_sizes ? tag + "_M" : tag;
}

/// How llama.cpp is told its model: a file, or a repository of Hugging Face with one.
Words llamacpp_model(const std::string& model, const std::string& weights) {
    if (model.ends_with(".gguf")) return {"--model", model};
    const bool is_repository = std::ranges::count(model, '/') == 1 && !model.ends_with('/') &&
                               std::string_view("/.~").find(model.front()) == std::string_view::npos;
    if (is_repository)
        return {"--hf-repo", model.find(':') == std::string::npos ? model + tag_of(weights) : model};
    throw UsageError(fmt::format(
        "--emit: llama.cpp cannot load '{}', because it needs a GGUF file; give --model FILE.gguf, "
        "or --model OWNER/NAME of a repository of Hugging Face with such files",
        model));
}

/// llama.cpp allocates its whole context at the start.
EngineCommand llamacpp_start(const DeploymentPlan& plan, const PlannedCell& cell, const std::string& model) {
    const std::uint64_t context = slot_tokens(cell.settings);
    const std::uint64_t slots =
        std::clamp<std::uint64_t>(cell.sequences_limit, 1, cell.settings.max_num_seqs);
    const std::string cache = has_16_bits(cell.kv) ? "f16" : cell.kv;
    Words words = llamacpp_model(model, cell.weights);
    add(words, "--ctx-size", context * slots);
    add(words, "--parallel", slots);
    add(words, "--batch-size", cell.settings.max_num_batched_tokens);
    add(words, "--cache-type-k", cache);
    add(words, "--cache-type-v", cache);
    add(words, "--n-gpu-layers", cell.deployment.gpu_layers.value_or(999));
    if (!plan.draft_model.empty()) {
        add(words, plan.draft_model.ends_with(".gguf") ? "--model-draft" : "--hf-repo-draft",
            plan.draft_model);
        add(words, "--draft-max", drafts_of(plan));
    }
    if (cell.host_cache) {
        constexpr double kMib = 1024.0 * 1024;
        add(words, "--cache-ram", whole_units(cell.host_cache->bytes, kMib));
    }
    if (cell.gpus() > 1) add(words, "--split-mode", cell.deployment.pipeline_parallel > 1 ? "layer" : "row");
    return {{"llama-server"}, std::move(words)};
}

/// How an engine is started. Images with a version are those whose options are written here.
struct KnownServer {
    EngineCommand (*start)(const DeploymentPlan&, const PlannedCell&, const std::string& model);
    std::string_view image;
    std::string_view amd_image;  ///< empty: there is none
    std::string_view metrics;    ///< option that adds the requests in flight to /metrics; "default", or none
    std::string_view program = {};  ///< in the image, if not in its search path
};
constexpr std::array kServers{
    KnownServer{vllm_start, "vllm/vllm-openai:v0.11.0", "rocm/vllm:latest", "default"},
    KnownServer{sglang_start, "lmsysorg/sglang:v0.5.3", "lmsysorg/sglang:v0.5.3-rocm630-mi30x",
                "--enable-metrics"},
    KnownServer{trtllm_start, "nvcr.io/nvidia/tensorrt-llm/release:1.0.0", "", ""},
    KnownServer{llamacpp_start, "ghcr.io/ggml-org/llama.cpp:server-cuda",
                "ghcr.io/ggml-org/llama.cpp:server-rocm", "--metrics", "/app/llama-server"},
};

bool is_of_amd(const cards::GpuCard& gpu) {
    return gpu.title.starts_with("AMD");
}

const KnownServer& known(cards::Engine engine) {
    return kServers.at(static_cast<std::size_t>(engine));
}

/// Throws for what only a configuration file of the engine can say, and for ranks that it does not have.
void require_options(const DeploymentPlan& plan, const PlannedCell& cell, cards::Engine engine) {
    const cards::Deployment& on = cell.deployment;
    const auto refuse = [&](const char* option) {
        throw UsageError(fmt::format("--emit: {} has no option of its command line for {}; leave it out",
                                     cards::name_of(engine), option));
    };
    using enum cards::Engine;
    if (on.attention_data_parallel && (engine == trtllm || engine == llamacpp)) refuse("--attention-dp");
    if (on.context_parallel > 1 && engine != vllm) refuse("--dcp");
    if (on.expert_parallel > 1 && engine == llamacpp) refuse("--ep");
    const bool is_told_cache = engine != trtllm || has_16_bits(cell.kv) || cell.kv == plan.model_kv;
    if (!has_cache_format(engine, cell.kv, cell.weights) || !is_told_cache)
        throw UsageError(fmt::format("--emit: {} has no option of its command line for --kv {}; leave it out",
                                     cards::name_of(engine), cell.kv));
    if (!plan.draft_model.empty() && (engine == trtllm || engine == vllm))
        throw UsageError(
            fmt::format("--emit: the version of {} whose options are printed drafts no tokens with a "
                        "model of their own on its command line; leave --draft-model out",
                        cards::name_of(engine)));
    if (cell.host_cache && engine == trtllm) refuse("--kv-offload");
    if (on.lora.count > 0 && (engine == trtllm || engine == llamacpp)) refuse("--lora");
    if (on.gpu_layers && engine != llamacpp) refuse("--gpu-layers");
    const bool has_some_experts = on.expert_parallel > 1 && on.expert_parallel != on.tensor_parallel;
    const bool is_divided_twice = on.tensor_parallel > 1 && on.pipeline_parallel > 1;
    if ((engine == vllm && has_some_experts) || (engine == llamacpp && is_divided_twice))
        throw UsageError(
            fmt::format("--emit {0}: it does not divide a model as this plan for {1} does (--tp {2}, --pp "
                        "{3}, --ep {4}); plan with --engine {0}",
                        cards::name_of(engine), plan.engine, on.tensor_parallel, on.pipeline_parallel,
                        on.expert_parallel));
}

}  // namespace

std::uint64_t slot_tokens(const SuggestedSettings& settings) {
    constexpr std::uint64_t kMultiple = 256;
    return (settings.max_model_len + kMultiple - 1) / kMultiple * kMultiple;
}

bool runs_on(cards::Engine engine, const cards::GpuCard& gpu) {
    return !is_of_amd(gpu) || !known(engine).amd_image.empty();
}

bool has_cache_format(cards::Engine engine, const std::string& kv, const std::string& weights) {
    if (has_16_bits(kv)) return true;
    if (engine == cards::Engine::llamacpp)
        return std::ranges::find(kLlamacppCaches, kv) != kLlamacppCaches.end();
    if (kv == "f32") return weights == "f32" && engine != cards::Engine::trtllm;
    return kv == "fp8" || (engine == cards::Engine::trtllm && (kv == "int8" || kv == "nvfp4"));
}

EngineCommand engine_command_of(const DeploymentPlan& plan, cards::Engine engine, const std::string& model) {
    if (!plan.best) throw UsageError("--emit: " + reason_without_best(plan));
    const PlannedCell& cell = plan.cells[*plan.best];
    require_options(plan, cell, engine);
    const bool has_weights = cell.weights == plan.model_weights || converts_weights(plan, cell, engine);
    if (!has_weights && plan.loads_own_model && engine != cards::Engine::llamacpp)
        throw UsageError(
            fmt::format("--emit: {} cannot convert the {} weights of {} to {}, for which the plan is; name a "
                        "checkpoint that has them with --model OWNER/NAME",
                        cards::name_of(engine), plan.model_weights, plan.model, cell.weights));
    const bool is_card = !plan.repository.empty() && model == plan.model;
    return known(engine).start(plan, cell, is_card && has_weights ? plan.repository : model);
}

cards::Engine engine_to_emit(const std::string& server) {
    const auto engine = cards::find_engine(server);
    if (engine) return *engine;
    throw UsageError(
        fmt::format("--emit {}: expected vllm, sglang, trtllm, llamacpp, compose or k8s", server));
}

std::string server_command_of(const DeploymentPlan& plan, const std::string& server) {
    EngineCommand start = engine_command_of(plan, engine_to_emit(server),
                                            plan.model_path.empty() ? plan.model : plan.model_path);
    start.program.insert(start.program.end(), start.arguments.begin(), start.arguments.end());
    return shell_line(start.program) + "\n";
}

ServerContainer server_container_of(const DeploymentPlan& plan) {
    const cards::Engine engine = cards::engine_named(plan.engine);
    const KnownServer& server = known(engine);
    ServerContainer container;
    const std::filesystem::path local(plan.model_path);
    const bool is_file = local.extension() == ".gguf";
    std::string model = plan.model;
    if (!local.empty()) {
        model = is_file ? "/model/" + local.filename().string() : "/model";
        container.mounted = is_file ? local.parent_path() : local;
    }
    container.start = engine_command_of(plan, engine, model);
    if (!server.program.empty()) container.start.program = {std::string(server.program)};
    add(container.start.arguments, "--host", "0.0.0.0");
    add(container.start.arguments, "--port", kServerPort);
    container.counts_in_flight = !server.metrics.empty();
    if (server.metrics.starts_with("--")) container.start.arguments.emplace_back(server.metrics);
    const auto card = cards::find_gpu(plan.cells[*plan.best].gpu);
    container.amd = card && is_of_amd(*card);
    container.image = container.amd ? server.amd_image : server.image;
    return container;
}

double seconds_in_flight(const DeploymentPlan& plan, const PlannedSpeed& speed) {
    return speed.e2e_mean_s.value_or(speed.ttft_p50_s.value_or(0) +
                                     speed.tpot_p50_s.value_or(0) * (plan.lengths.output_mean - 1));
}

std::optional<double> requests_in_flight_target(const DeploymentPlan& plan, const PlannedCell& cell) {
    constexpr double kThousandths = 1000;
    if (!cell.speed) return {};
    const double load = cell.speed->load;
    const double in_flight = plan.demand.users ? load : load * seconds_in_flight(plan, *cell.speed);
    const double target = in_flight * plan.demand.target_utilization;
    if (target >= 1) return std::floor(target);
    return std::max(1.0, std::floor(target * kThousandths)) / kThousandths;
}

}  // namespace paretoken::reports
