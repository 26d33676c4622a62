#include "reports/analysis/model/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "cards/deployment.h"
#include "core/formats.h"
#include "reports/analysis/micro/micro_fit.h"

namespace paretoken::reports {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

/// amount ÷ rate, or 0 if the rate is absent, because an absent term costs no time.
double over(double amount, const std::optional<double>& rate) {
    return rate ? amount / *rate : 0;
}

double times(double amount, const std::optional<double>& seconds_each) {
    return seconds_each ? amount * *seconds_each : 0;
}

double windowed(double tokens, const LimitInputs& inputs) {
    return inputs.window ? std::min(tokens, *inputs.window) : tokens;
}

double weight_bytes(const LimitInputs& inputs, double tokens) {
    double bytes = inputs.dense_weight_bytes;
    if (inputs.routed)
        bytes += inputs.routed->layers * inputs.routed->expert_bytes *
                 cards::distinct_experts(inputs.routed->experts, inputs.routed->active, tokens);
    return bytes;
}

double kv_bytes(const LimitInputs& inputs, double context) {
    return inputs.kv_bytes_per_token * context +
           inputs.windowed_kv_bytes_per_token * windowed(context, inputs);
}

/// The number of sequences of `tokens` tokens each that fit into a pool.
std::optional<double> sequences_in(const std::optional<double>& pool_bytes, const LimitInputs& inputs,
                                   double tokens) {
    const double each = kv_bytes(inputs, tokens);
    if (!pool_bytes || !(each > 0)) return {};
    return *pool_bytes / each;
}

std::optional<double> smaller_of(const std::optional<double>& a, const std::optional<double>& b) {
    if (a && b) return std::min(*a, *b);
    return a ? a : b;
}

/// The counts of decoding that determine its memory and arithmetic time. A pass is one sequence's part of a
/// step.
struct Decoding {
    double steps = 0;
    double passes = 0;
    double context = 0;  ///< Σ over passes of the tokens before the pass
    double windowed_context = 0;
};

StepTime decoding_time(const LimitInputs& inputs, const Decoding& decoding) {
    StepTime time;
    if (!(decoding.passes > 0)) return time;
    const double tokens_per_pass = inputs.drafts + 1;  // counts all computed tokens, including wrong drafts
    const double tokens = decoding.passes * tokens_per_pass;
    time.fixed_s = decoding.steps * inputs.weight_pass_fixed_s;
    time.memory_s =
        over(decoding.steps * weight_bytes(inputs, tokens / decoding.steps), inputs.weight_bytes_per_s) +
        over(inputs.kv_bytes_per_token * decoding.context +
                 inputs.windowed_kv_bytes_per_token * decoding.windowed_context,
             inputs.kv_bytes_per_s);
    time.compute_s =
        times(tokens, inputs.linear_s_per_token) + tokens * inputs.lm_head_s_per_sequence +
        times(tokens_per_pass * decoding.context, inputs.decode_attention_s_per_pair) +
        times(tokens_per_pass * decoding.windowed_context, inputs.windowed_decode_attention_s_per_pair);
    return time;
}

double within(const WindowedSums& sums, double whole, const LimitInputs& inputs) {
    return inputs.window ? within_window(sums, *inputs.window) : whole;
}

/// The least decoding that `work` needs with `batch` requests in flight, as counts.
Decoding decoding_of(const LimitInputs& inputs, const Totals& work, double batch) {
    Decoding decoding;
    decoding.passes = work.decoded_tokens / inputs.tokens_per_pass;
    // A pass that yields several tokens reads the cache once, at its size before the first of these tokens.
    const double ahead = work.decoded_tokens * inputs.drafts / 2;
    const auto per_pass = [&](double sum) { return std::max(0.0, sum - ahead) / inputs.tokens_per_pass; };
    const double windowed_sum = within(work.decoded_context_within, work.decoded_context_tokens, inputs);
    decoding.context = per_pass(work.decoded_context_tokens);
    decoding.windowed_context = per_pass(windowed_sum);
    decoding.steps = decoding.passes / std::min(batch, inputs.max_sequences.value_or(batch));
    if (!inputs.kv_pool_bytes_most) return decoding;
    // All caches that a step reads are in memory at once; only cached parts of prompts may be shared.
    const double held =
        inputs.kv_bytes_per_token * per_pass(work.decoded_context_tokens - work.decoded_cached_tokens) +
        inputs.windowed_kv_bytes_per_token * per_pass(windowed_sum - work.decoded_cached_tokens);
    decoding.steps = std::max(decoding.steps, std::min(decoding.passes, held / *inputs.kv_pool_bytes_most));
    return decoding;
}

// --- with our own kernels
// ------------------------------------------------------------------------------------

/// The seconds of `steps` steps of `batch` sequences each that read `kv` bytes of cache in total, as the sum
/// of the parts' separate times. Nothing without a kernel for the weights.
std::optional<double> parts_s(const LimitInputs& inputs, double steps, double batch, double context,
                              double kv) {
    const ReachableTerms& reachable = *inputs.reachable;
    const auto weights = weight_speed_at(reachable.kernels, batch);
    if (!weights) return {};
    double seconds =
        steps * (weight_bytes(inputs, batch) / (*weights * reachable.ranks) + reachable.small_kernels_s);
    const SpeedAt* attention = nearest_speed(reachable.kernels.attention, batch, context);
    const std::optional<double> kv_bytes_per_s =
        attention != nullptr ? std::optional(attention->per_s * reachable.kv_ranks) : inputs.kv_bytes_per_s;
    return seconds + over(kv, kv_bytes_per_s);
}

/// The measured time of whole layers ÷ the sum of their parts, at the nearest load at which a layer was
/// measured; 1 if none was measured.
double whole_by_parts(const LimitInputs& inputs, double batch, double context) {
    const ReachableTerms& reachable = *inputs.reachable;
    const LayerTime* layer = nearest_layer(reachable.kernels.layers, batch, context);
    if (layer == nullptr) return 1;
    const double kv = layer->batch * kv_bytes(inputs, layer->context);
    const auto parts = parts_s(inputs, 1, layer->batch, layer->context, kv);
    const auto weights = weight_speed_at(reachable.kernels, layer->batch);
    if (!parts || !weights) return 1;
    const double head = reachable.head_bytes / (*weights * reachable.ranks);
    return (reachable.layers * layer->seconds + head) / *parts;
}

/// The seconds of prompts one after the other: the larger of the time of their matrix products and the time
/// of the pass over the weights.
double reachable_prefill_s(const LimitInputs& inputs, const Totals& work) {
    if (!(work.prompts > 0)) return 0;
    const ReachableTerms& reachable = *inputs.reachable;
    const double fresh = std::max(1.0, work.fresh_input_tokens / work.prompts);
    const double memory = work.prompts * weight_bytes(inputs, fresh) /
                          (*weight_speed_at(reachable.kernels, 1) * reachable.ranks);
    const double linear =
        work.fresh_input_tokens * reachable.linear_flops_per_token + work.prompts * reachable.head_flops;
    const double windowed_pairs = within(work.prefill_pairs_within, work.prefill_pairs, inputs);
    const double attention = work.prefill_pairs * reachable.attention_flops_per_pair +
                             windowed_pairs * reachable.windowed_attention_flops_per_pair;
    const auto seconds = [&](double flops, const std::vector<SpeedAt>& speeds, double at_ceiling) {
        const SpeedAt* speed = nearest_speed(speeds, 1, fresh);
        return speed != nullptr ? flops / (speed->per_s * reachable.ranks) : at_ceiling;
    };
    const double linear_at_ceiling = times(work.fresh_input_tokens, inputs.linear_s_per_token) +
                                     work.prompts * inputs.lm_head_s_per_sequence;
    const double attention_at_ceiling = times(work.prefill_pairs, inputs.prefill_attention_s_per_pair) +
                                        times(windowed_pairs, inputs.windowed_prefill_attention_s_per_pair);
    return std::max(memory,
                    seconds(linear, reachable.kernels.prefill, linear_at_ceiling) +
                        seconds(attention, reachable.kernels.prefill_attention, attention_at_ceiling));
}

std::optional<double> reachable_s(const LimitInputs& inputs, const Totals& work, double batch) {
    if (!inputs.reachable) return {};
    const Decoding decoding = decoding_of(inputs, work, batch);
    if (!(decoding.passes > 0) || !(decoding.steps > 0)) return {};
    const double at_once = decoding.passes / decoding.steps;
    const double context = decoding.context / decoding.passes;
    const double kv = inputs.kv_bytes_per_token * decoding.context +
                      inputs.windowed_kv_bytes_per_token * decoding.windowed_context;
    const auto parts = parts_s(inputs, decoding.steps, at_once, context, kv);
    if (!parts) return {};
    return *parts * whole_by_parts(inputs, at_once, context) + reachable_prefill_s(inputs, work);
}

/// The seconds that the whole deployment needs for `work`; nothing when no term limits it.
std::optional<double> seconds_of(const LimitInputs& inputs, LimitKind kind, const Totals& work,
                                 double batch) {
    const auto positive = [](double seconds) { return seconds > 0 ? std::optional(seconds) : std::nullopt; };
    if (inputs.fixed_itl_s || inputs.fixed_ttft_s)
        return positive((work.prompts * inputs.fixed_ttft_s.value_or(0) +
                         work.decoded_tokens * inputs.fixed_itl_s.value_or(0)) /
                        batch);
    if (kind == LimitKind::reachable) return reachable_s(inputs, work, batch);
    const StepTime decoding = decoding_time(inputs, decoding_of(inputs, work, batch));
    const PrefillTime prefill = prefill_time(inputs, work);
    switch (kind) {
        case LimitKind::hard:
            return positive(std::max(decoding.memory_s, decoding.compute_s + prefill.compute_s));
        case LimitKind::size_aware:
            return positive(
                std::max(decoding.memory_s + decoding.fixed_s, decoding.compute_s + prefill.compute_s));
        case LimitKind::reachable:
            break;
        case LimitKind::no_overlap:
            return positive(prefill.prefill_s() + decoding.step_s());
    }
    return {};
}

SourcedTerm scaled(std::string name, double value, double unit, std::string unit_name, std::string source) {
    return {std::move(name), value / unit, std::move(unit_name), std::move(source)};
}

// --- from a model card
// ---------------------------------------------------------------------------------------

void add_model(LimitInputs& inputs, const cards::ModelCard& model) {
    const double kv_value_bytes = bytes_per_value(number_format(model.kv_dtype));
    inputs.dense_weight_bytes = static_cast<double>(model.dense_streamed_bytes);
    inputs.kv_bytes_per_token = static_cast<double>(model.kv_values_per_token) * kv_value_bytes;
    inputs.windowed_kv_bytes_per_token =
        static_cast<double>(model.windowed_kv_values_per_token) * kv_value_bytes;
    if (model.sliding_window) inputs.window = static_cast<double>(*model.sliding_window);
    const std::string source = fmt::format("{} ({})", model.name, model.source);
    inputs.terms.push_back(
        scaled("weights streamed by every step", inputs.dense_weight_bytes, kGiga, "GB", source));
    if (model.moe) {
        inputs.routed = RoutedWeights{
            static_cast<double>(model.moe->layers), static_cast<double>(model.moe->experts),
            static_cast<double>(model.moe->active), static_cast<double>(model.moe->expert_bytes)};
        const double all = inputs.routed->layers * inputs.routed->experts * inputs.routed->expert_bytes;
        inputs.terms.push_back(
            scaled("weights of all routed experts", all, kGiga, "GB",
                   fmt::format("{}; {} of {} per token", source, model.moe->active, model.moe->experts)));
    }
    inputs.terms.push_back(scaled("KV cache per token", cards::kv_bytes_per_token(model), 1024, "KiB",
                                  fmt::format("{}, {}", source, model.kv_dtype)));
    inputs.terms.push_back(
        scaled("active parameters", static_cast<double>(model.active_parameters), kGiga, "billion", source));
}

void add_bandwidth(LimitInputs& inputs, const cards::ModelCard& model, const HardwareTerms& hardware) {
    if (!hardware.read_bytes_per_s) {
        inputs.dropped.emplace_back(kMemoryBandwidth);
        return;
    }
    const Sourced& read = *hardware.read_bytes_per_s;
    const double ranks = hardware.ranks;
    const double kv_ranks = cards::kv_ranks(model, ranks);
    inputs.weight_bytes_per_s = read.value * ranks;
    inputs.kv_bytes_per_s = read.value * kv_ranks;
    inputs.terms.push_back(
        scaled(std::string(kMemoryBandwidth), *inputs.weight_bytes_per_s, kGiga, "GB/s", read.source));
    if (kv_ranks != ranks)
        inputs.terms.push_back(scaled("memory bandwidth for the KV cache", *inputs.kv_bytes_per_s, kGiga,
                                      "GB/s", fmt::format("{}; {} KV heads", read.source, model.kv_heads)));
}

/// The number of matrices that depend on each other: input and output of attention, input and output of the
/// feed-forward layers, and the output projection.
double dependent_matrices(const cards::ModelCard& model) {
    return 4 * static_cast<double>(model.layers) + 1;
}

void add_fixed_cost(LimitInputs& inputs, const cards::ModelCard& model, const HardwareTerms& hardware) {
    if (!hardware.read_fixed_s || !(hardware.read_fixed_s->value > 0)) return;
    const double matrices = dependent_matrices(model);
    inputs.weight_pass_fixed_s = matrices * hardware.read_fixed_s->value;
    inputs.terms.push_back(
        scaled("fixed cost of a pass over the weights", inputs.weight_pass_fixed_s, 1e-6, "µs",
               fmt::format("{} matrices one after the other, {:.2g} µs each; {}", matrices,
                           hardware.read_fixed_s->value * 1e6, hardware.read_fixed_s->source)));
}

void add_arithmetic(LimitInputs& inputs, const cards::ModelCard& model, const HardwareTerms& hardware) {
    if (!hardware.flops_per_s) {
        inputs.dropped.emplace_back(kArithmetic);
        return;
    }
    const double flops = hardware.flops_per_s->value * hardware.ranks;
    const double head = cards::output_head_flops(model);
    inputs.linear_s_per_token = (cards::linear_flops_per_token(model) - head) / flops;
    inputs.lm_head_s_per_sequence = head / flops;
    inputs.prefill_attention_s_per_pair = model.attention_flops_per_pair / flops;
    inputs.windowed_prefill_attention_s_per_pair = model.windowed_attention_flops_per_pair / flops;
    inputs.decode_attention_s_per_pair = inputs.prefill_attention_s_per_pair;
    inputs.windowed_decode_attention_s_per_pair = inputs.windowed_prefill_attention_s_per_pair;
    inputs.terms.push_back(
        scaled(std::string(kArithmetic), flops, kTera, "TFLOP/s", hardware.flops_per_s->source));
}

void add_memory(LimitInputs& inputs, const cards::ModelCard& model, const HardwareTerms& hardware) {
    if (!hardware.memory_bytes) {
        inputs.dropped.emplace_back("memory for the KV cache");
        return;
    }
    const double memory = hardware.memory_bytes->value * hardware.ranks;
    const double weights = static_cast<double>(model.resident_weight_bytes);
    // If there are more ranks than KV heads, some ranks hold copies of the same bytes.
    const double unique = cards::kv_ranks(model, hardware.ranks) / hardware.ranks;
    const auto pool = cards::kv_pool_bytes(model, memory);
    if (!pool) {
        inputs.dropped.push_back(
            fmt::format("memory for the KV cache ({:.3g} GB of weights do not fit {:.3g} GB)",
                        weights / kGiga, memory / kGiga));
        return;
    }
    inputs.kv_pool_bytes = *pool * unique;
    inputs.kv_pool_bytes_most = (memory - weights) * unique;
    inputs.terms.push_back(
        scaled("memory for the KV cache", *inputs.kv_pool_bytes, kGiga, "GB",
               fmt::format("0.9 of memory less weights{}; {}",
                           unique < 1 ? fmt::format(", each byte held by {:.3g} ranks", 1 / unique) : "",
                           hardware.memory_bytes->source)));
}

/// The bytes of the output projection: the streamed dense weights less the matrices of the layers.
double head_bytes_of(const cards::ModelCard& model) {
    const NumberFormat* const format = find_format(model.weight_dtype);
    if (format == nullptr) return 0;
    const double head = static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
    double body = (static_cast<double>(model.active_parameters) - head) * bytes_per_value(*format);
    if (model.moe)
        body -= static_cast<double>(model.moe->layers) * static_cast<double>(model.moe->active) *
                static_cast<double>(model.moe->expert_bytes);
    return std::max(0.0, static_cast<double>(model.dense_streamed_bytes) - body);
}

void show_speeds(LimitInputs& inputs, const std::string& name, const std::vector<SpeedAt>& speeds,
                 double ranks, double unit, const std::string& unit_name, const std::string& source) {
    const auto show = [&](const SpeedAt& speed) {
        std::string at = fmt::format(", batch {:g}", speed.batch);
        if (speed.tokens > 0) at += fmt::format(", {:g} tokens", speed.tokens);
        inputs.terms.push_back(scaled(name + at, speed.per_s * ranks, unit, unit_name,
                                      fmt::format("{}: {}", source, speed.row)));
    };
    if (speeds.empty()) return;
    show(speeds.front());
    if (speeds.size() > 1) show(speeds.back());
}

/// Adds the speeds of our own kernels, which are shown beside the limit.
void add_kernels(LimitInputs& inputs, const cards::ModelCard& model, const HardwareTerms& hardware) {
    if (!hardware.kernels || hardware.kernels->weights.empty()) return;
    constexpr double kSmallKernels = 5;  // small kernels per layer: two norms, rotation, activation,
                                         // combining
    const KernelSpeeds& kernels = *hardware.kernels;
    const std::string& source = hardware.kernels_source;
    ReachableTerms reachable{
        .kernels = kernels,
        .ranks = static_cast<double>(hardware.ranks),
        .kv_ranks = cards::kv_ranks(model, hardware.ranks),
        .layers = static_cast<double>(model.layers),
        .head_bytes = head_bytes_of(model),
        .small_kernels_s = 0,
        .linear_flops_per_token = cards::linear_flops_per_token(model) - cards::output_head_flops(model),
        .head_flops = cards::output_head_flops(model),
        .attention_flops_per_pair = model.attention_flops_per_pair,
        .windowed_attention_flops_per_pair = model.windowed_attention_flops_per_pair};
    show_speeds(inputs, "reached by our weight kernel", kernels.weights, reachable.ranks, kGiga, "GB/s",
                source);
    show_speeds(inputs, "reached by our attention kernel", kernels.attention, reachable.kv_ranks, kGiga,
                "GB/s", source);
    show_speeds(inputs, "reached by prefill's products", kernels.prefill, reachable.ranks, kTera, "TFLOP/s",
                source);
    show_speeds(inputs, "reached by prefill's attention", kernels.prefill_attention, reachable.ranks, kTera,
                "TFLOP/s", source);
    for (const LayerTime& layer : kernels.layers)
        inputs.terms.push_back(
            scaled(fmt::format("step of one layer, batch {:g}, {:g} tokens", layer.batch, layer.context),
                   layer.seconds, 1e-6, "µs", fmt::format("{}: {}", source, layer.row)));
    if (kernels.launch_s) {
        reachable.small_kernels_s = kSmallKernels * reachable.layers * kernels.launch_s->value;
        inputs.terms.push_back(
            scaled("launches of a step's small kernels", reachable.small_kernels_s, 1e-6, "µs",
                   fmt::format("{:g} × {:.2g} µs; {}: {}", kSmallKernels * reachable.layers,
                               kernels.launch_s->value * 1e6, source, kernels.launch_s->row)));
    }
    if (hardware.ranks > 1)
        inputs.dropped.emplace_back("communication between GPUs (of the reachable limit)");
    inputs.reachable = std::move(reachable);
}

// --- from a profile
// ------------------------------------------------------------------------------------------

/// A term of the profile; nothing if it is absent or not a positive finite number.
std::optional<double> profile_term(const std::map<std::string, double>& profile, const std::string& key) {
    const auto found = profile.find(key);
    if (found == profile.end() || !(found->second > 0) || !std::isfinite(found->second)) return {};
    return found->second;
}

struct ProfileUnit {
    const char* key;
    const char* name;
    double unit;
    const char* unit_name;
};

constexpr ProfileUnit kProfileUnits[] = {
    {"weight_bytes", "weights streamed by every step", kGiga, "GB"},
    {"weight_bytes_per_s", "weight bandwidth", kGiga, "GB/s"},
    {"kv_bytes_per_token", "KV cache per token", 1024, "KiB"},
    {"kv_bytes_per_s", "KV bandwidth", kGiga, "GB/s"},
    {"linear_s_per_token", "arithmetic of a token", 1e-6, "µs"},
    {"lm_head_s_per_sequence", "output projection of a token", 1e-6, "µs"},
    {"attention_flops_per_token_pair", "attention per pair of tokens", 1e6, "MFLOP"},
    {"attention_flops_per_s", "attention arithmetic", kTera, "TFLOP/s"},
    {"max_num_seqs", "sequences at once", 1, ""},
    {"kv_capacity_tokens", "KV capacity", 1, "tokens"},
    {"fixed_ttft_s", "fixed time to first token", 1e-3, "ms"},
    {"fixed_itl_s", "fixed time between tokens", 1e-3, "ms"},
};

constexpr const char* kMemoryAndCompute[] = {"weight_bytes",         "weight_bytes_per_s",
                                             "kv_bytes_per_token",   "kv_bytes_per_s",
                                             "linear_s_per_token",   "attention_flops_per_token_pair",
                                             "attention_flops_per_s"};

}  // namespace

HardwareTerms hardware_of_datasheet(const cards::GpuCard& gpu, std::uint32_t count,
                                    const std::string& weight_dtype) {
    const std::string source =
        fmt::format("datasheet: {}{}", count > 1 ? fmt::format("{} × ", count) : "", gpu.source);
    HardwareTerms terms;
    terms.ranks = count;
    terms.read_bytes_per_s = Sourced{gpu.memory_bytes_per_s, source};
    terms.memory_bytes = Sourced{gpu.memory_bytes, source};
    if (const auto flops = cards::flops_for_weights(gpu, weight_dtype))
        terms.flops_per_s = Sourced{flops->per_s, fmt::format("{}, {}", source, flops->dtype)};
    return terms;
}

HardwareTerms hardware_of_micro(const MicroResults& micro, const cards::ModelCard& model,
                                std::uint32_t count) {
    const MicroDevice& device = micro.device;
    const std::string name =
        device.backend == MicroBackend::gpu ? fmt::format("{} ({})", device.name, device.id) : device.name;
    const std::string source =
        fmt::format("measured by micro on {}{}, {}", count > 1 ? fmt::format("{} × ", count) : "", name,
                    micro.date.substr(0, 10));
    const auto sourced = [&](const MeasuredFigure& figure) {
        return Sourced{figure.value, fmt::format("{}: {}", source, figure.row)};
    };
    HardwareTerms terms;
    terms.ranks = std::max<std::uint32_t>(1, count);
    const double streamed = cards::streamed_weight_bytes(model) / terms.ranks;
    if (const auto ceiling = read_ceiling_of(micro, streamed)) terms.read_bytes_per_s = sourced(*ceiling);
    if (const SizeFit* fit = fastest_read_fit(micro, streamed / dependent_matrices(model)))
        terms.read_fixed_s = sourced({fit->fixed_s, fit->kernel + " (fit by size)"});
    if (const auto flops = flops_ceiling_of(micro, model.weight_dtype)) terms.flops_per_s = sourced(*flops);
    if (device.backend == MicroBackend::gpu && device.memory_bytes)
        terms.memory_bytes = Sourced{*device.memory_bytes, "memory of " + name};
    terms.kernels = kernel_speeds(micro, model, terms.ranks);
    terms.kernels_source = source;
    return terms;
}

HardwareTerms overlaid(const HardwareTerms& measured, const HardwareTerms& datasheet) {
    HardwareTerms terms = datasheet;
    terms.ranks = std::max(measured.ranks, datasheet.ranks);
    if (measured.read_bytes_per_s) terms.read_bytes_per_s = measured.read_bytes_per_s;
    terms.read_fixed_s = measured.read_fixed_s;
    if (measured.flops_per_s) terms.flops_per_s = measured.flops_per_s;
    if (measured.memory_bytes) terms.memory_bytes = measured.memory_bytes;
    terms.kernels = measured.kernels;
    terms.kernels_source = measured.kernels_source;
    return terms;
}

LimitInputs limit_inputs(const cards::ModelCard& model, const HardwareTerms& hardware) {
    LimitInputs inputs;
    add_model(inputs, model);
    add_bandwidth(inputs, model, hardware);
    add_fixed_cost(inputs, model, hardware);
    add_arithmetic(inputs, model, hardware);
    add_memory(inputs, model, hardware);
    add_kernels(inputs, model, hardware);
    return inputs;
}

LimitInputs limit_inputs_of_simulator(const std::map<std::string, double>& profile) {
    LimitInputs inputs;
    for (const ProfileUnit& unit : kProfileUnits)
        if (const auto value = profile_term(profile, unit.key))
            inputs.terms.push_back(scaled(unit.name, *value, unit.unit, unit.unit_name, "profile"));
    inputs.max_sequences = profile_term(profile, "max_num_seqs");
    if (profile.contains("fixed_itl_s") || profile.contains("fixed_ttft_s")) {
        inputs.fixed_ttft_s = profile_term(profile, "fixed_ttft_s").value_or(0);
        inputs.fixed_itl_s = profile_term(profile, "fixed_itl_s").value_or(0);
        return inputs;
    }
    // A term is 0 where all layers have a window; the term of those layers is then the whole.
    for (const char* key : kMemoryAndCompute)
        if (!profile_term(profile, key) && !profile_term(profile, fmt::format("windowed_{}", key)))
            inputs.dropped.push_back(fmt::format("profile's {}", key));
    inputs.dense_weight_bytes = profile_term(profile, "weight_bytes").value_or(0);
    inputs.weight_bytes_per_s = profile_term(profile, "weight_bytes_per_s");
    inputs.kv_bytes_per_token = profile_term(profile, "kv_bytes_per_token").value_or(0);
    inputs.kv_bytes_per_s = profile_term(profile, "kv_bytes_per_s");
    inputs.linear_s_per_token = profile_term(profile, "linear_s_per_token");
    inputs.lm_head_s_per_sequence = profile_term(profile, "lm_head_s_per_sequence").value_or(0);
    if (const auto layers = profile_term(profile, "routed_layers")) {
        inputs.routed = RoutedWeights{*layers, profile_term(profile, "routed_experts").value_or(0),
                                      profile_term(profile, "active_experts").value_or(0),
                                      profile_term(profile, "expert_bytes").value_or(0)};
    }
    if (const auto window = profile_term(profile, "window")) {
        inputs.window = *window;
        inputs.windowed_kv_bytes_per_token = profile_term(profile, "windowed_kv_bytes_per_token").value_or(0);
    }
    inputs.drafts = profile_term(profile, "drafts").value_or(0);
    inputs.tokens_per_pass = profile_term(profile, "tokens_per_pass").value_or(1);
    // The profile gives decode attention as KV time only; prefill attention alone is arithmetic.
    const auto pair = profile_term(profile, "attention_flops_per_token_pair");
    const auto flops = profile_term(profile, "attention_flops_per_s");
    if (pair && flops) inputs.prefill_attention_s_per_pair = *pair / *flops;
    const auto windowed_pair = profile_term(profile, "windowed_attention_flops_per_token_pair");
    if (windowed_pair && flops) inputs.windowed_prefill_attention_s_per_pair = *windowed_pair / *flops;
    const double kv_bytes_per_token = inputs.kv_bytes_per_token + inputs.windowed_kv_bytes_per_token;
    if (const auto tokens = profile_term(profile, "kv_capacity_tokens"); tokens && kv_bytes_per_token > 0)
        inputs.kv_pool_bytes = inputs.kv_pool_bytes_most = *tokens * kv_bytes_per_token;
    return inputs;
}

bool limits_anything(const LimitInputs& inputs) {
    if (inputs.fixed_itl_s || inputs.fixed_ttft_s)
        return inputs.fixed_ttft_s.value_or(0) > 0 || inputs.fixed_itl_s.value_or(0) > 0;
    return inputs.weight_bytes_per_s || inputs.linear_s_per_token;
}

double weight_pass_s(const LimitInputs& inputs, double tokens) {
    return over(weight_bytes(inputs, tokens), inputs.weight_bytes_per_s);
}

double cache_read_s(const LimitInputs& inputs, const Totals& work) {
    const Decoding decoding = decoding_of(inputs, work, 1);
    return over(inputs.kv_bytes_per_token * decoding.context +
                    inputs.windowed_kv_bytes_per_token * decoding.windowed_context,
                inputs.kv_bytes_per_s);
}

double arithmetic_s(const LimitInputs& inputs, const Totals& work) {
    LimitInputs plain = inputs;
    plain.drafts = 0;
    plain.tokens_per_pass = 1;
    return prefill_time(plain, work).compute_s + decoding_time(plain, decoding_of(plain, work, 1)).compute_s;
}

StepTime step_time(const LimitInputs& inputs, double batch, double context) {
    return decoding_time(inputs, {1, batch, batch * context, batch * windowed(context, inputs)});
}

PrefillTime prefill_time(const LimitInputs& inputs, const Totals& work) {
    PrefillTime time;
    if (!(work.prompts > 0)) return time;
    const double windowed_pairs = within(work.prefill_pairs_within, work.prefill_pairs, inputs);
    time.compute_s = times(work.fresh_input_tokens, inputs.linear_s_per_token) +
                     work.prompts * inputs.lm_head_s_per_sequence +
                     times(work.prefill_pairs, inputs.prefill_attention_s_per_pair) +
                     times(windowed_pairs, inputs.windowed_prefill_attention_s_per_pair);
    time.fixed_s = work.prompts * inputs.weight_pass_fixed_s;
    const double fresh = std::max(1.0, work.fresh_input_tokens / work.prompts);
    time.memory_s = over(work.prompts * weight_bytes(inputs, fresh), inputs.weight_bytes_per_s);
    return time;
}

std::optional<LimitPoint> limit_at(const LimitInputs& inputs, LimitKind kind, const Totals& work,
                                   double batch) {
    if (!limits_anything(inputs) || !(work.output_tokens > 0) || !(batch > 0)) return {};
    const auto seconds = seconds_of(inputs, kind, work, batch);
    if (!seconds) return {};
    const double output_per_s = work.output_tokens / *seconds;
    return LimitPoint{batch, output_per_s / batch, output_per_s, {}};
}

std::optional<double> edge_tolerance(const Totals& stretch) {
    if (!(stretch.prompts > 0) || !(stretch.seconds > 0)) return {};
    return stretch.time_in_system_s / stretch.seconds / stretch.prompts;
}

std::optional<double> batch_cap(const LimitInputs& inputs, const Totals& work) {
    std::optional<double> fitting;
    if (work.prompts > 0) {
        const double tokens = work.fresh_input_tokens + work.cached_input_tokens + work.output_tokens;
        fitting = sequences_in(inputs.kv_pool_bytes, inputs, tokens / work.prompts);
    }
    const auto cap = smaller_of(fitting, inputs.max_sequences);
    return cap ? std::optional(std::max(1.0, std::floor(*cap))) : std::nullopt;
}

ReachedBandwidth reached_bandwidth(const LimitInputs& inputs, double batch, double context) {
    ReachedBandwidth reached;
    if (!inputs.reachable) return reached;
    const ReachableTerms& reachable = *inputs.reachable;
    if (const auto weights = weight_speed_at(reachable.kernels, batch))
        reached.weight_bytes_per_s = *weights * reachable.ranks;
    if (const SpeedAt* attention = nearest_speed(reachable.kernels.attention, batch, context))
        reached.kv_bytes_per_s = attention->per_s * reachable.kv_ranks;
    return reached;
}

std::string binding_term(const LimitInputs& inputs, const Totals& work, double batch) {
    const StepTime decoding = decoding_time(inputs, decoding_of(inputs, work, batch));
    const std::string_view name =
        decoding.memory_s >= decoding.compute_s + prefill_time(inputs, work).compute_s ? kMemoryBandwidth
                                                                                       : kArithmetic;
    const auto found = std::ranges::find(inputs.terms, name, &SourcedTerm::name);
    return found == inputs.terms.end() ? "" : fmt::format("{}, {}", name, found->source);
}

std::optional<double> reachable_step_s(const LimitInputs& inputs, double batch, double context) {
    if (!inputs.reachable) return {};
    const auto parts = parts_s(inputs, 1, batch, context, batch * kv_bytes(inputs, context));
    return parts ? std::optional(*parts * whole_by_parts(inputs, batch, context)) : std::nullopt;
}

std::vector<LimitPoint> limit_curve(const LimitInputs& inputs, LimitKind kind,
                                    const std::vector<Totals>& works, double up_to) {
    const auto cap_of = [&](const Totals& work) {
        return batch_cap(inputs, work).value_or(std::max(1.0, up_to));
    };
    std::set<double> batches;
    for (const Totals& work : works) {
        const double cap = cap_of(work);
        for (double batch = 1; batch < cap; batch *= 2) {
            batches.insert(batch);
            if (batch >= 2 && batch * 1.5 < cap) batches.insert(batch * 1.5);
        }
        batches.insert(cap);
    }
    std::vector<LimitPoint> curve;
    for (const double batch : batches) {
        std::optional<LimitPoint> highest;
        for (const Totals& work : works) {
            if (batch > cap_of(work)) continue;
            const auto point = limit_at(inputs, kind, work, batch);
            if (point && (!highest || point->output_tokens_per_s > highest->output_tokens_per_s))
                highest = point;
        }
        if (highest) curve.push_back(*highest);
    }
    return curve;
}

std::optional<LimitPoint> limit_at_interactivity(const LimitInputs& inputs, LimitKind kind,
                                                 const Totals& work, double interactivity, double up_to) {
    double high = batch_cap(inputs, work).value_or(std::max(1.0, up_to));
    double low = 1;
    const auto at = [&](double batch) { return limit_at(inputs, kind, work, batch); };
    const auto slowest = at(high);
    const auto fastest = at(low);
    if (!slowest || !fastest || fastest->interactivity < interactivity) return {};
    if (slowest->interactivity >= interactivity) return slowest;
    for (int i = 0; i < 60 && high - low > 1e-9 * high; ++i) {
        const double middle = (low + high) / 2;
        (at(middle)->interactivity >= interactivity ? low : high) = middle;
    }
    return at(low);
}

}  // namespace paretoken::reports
