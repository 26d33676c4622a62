#pragma once
// What the hardware could deliver at a load, from bytes, bandwidths and arithmetic alone (a roofline of the
// steady state). The load is given as sums over requests (core/result/totals.h), because means of lengths are
// no bound where long prompts have short answers. The hard limit lets prefill compute while decode streams,
// so only a mistake beats it; the reference without overlap is what a server reaches that never does both at
// once. Rates are of the whole deployment.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cards/gpu.h"
#include "cards/model.h"
#include "core/result/totals.h"
#include "reports/micro/micro_kernels.h"
#include "reports/micro/micro_results.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// A figure and where it came from.
struct Sourced {
    double value = 0;
    std::string source;

    bool operator==(const Sourced&) const = default;
};

/// What is known of the hardware of one rank; what is not drops out of the limit by name.
struct HardwareTerms {
    std::optional<Sourced> read_bytes_per_s;
    std::optional<Sourced> read_fixed_s = {};  ///< of one read on its own, however small
    std::optional<Sourced> flops_per_s;
    std::optional<Sourced> memory_bytes;
    std::uint32_t ranks = 1;
    std::optional<KernelSpeeds> kernels = {};  ///< what our own reach on one rank: no part of the limit
    std::string kernels_source = {};

    bool operator==(const HardwareTerms&) const = default;
};

/// Datasheet figures of `count` GPUs for weights of this type.
HardwareTerms hardware_of_datasheet(const cards::GpuCard& gpu, std::uint32_t count,
                                    const std::string& weight_dtype);

/// The read ceiling and the fastest arithmetic that was measured on each of `count` equal devices, and what
/// our own kernels reach there. The memory for the KV cache is a GPU's own; a CPU's is shared.
HardwareTerms hardware_of_micro(const MicroResults& micro, const cards::ModelCard& model,
                                std::uint32_t count = 1);

/// `measured` where it has a figure, else `datasheet`.
HardwareTerms overlaid(const HardwareTerms& measured, const HardwareTerms& datasheet);

struct RoutedWeights {
    double layers = 0;
    double experts = 0;
    double active = 0;
    double expert_bytes = 0;

    bool operator==(const RoutedWeights&) const = default;
};

/// What our own kernels need for the model on this hardware: the reachable limit.
struct ReachableTerms {
    KernelSpeeds kernels;  ///< of one rank
    double ranks = 1;
    double kv_ranks = 1;
    double layers = 0;
    double head_bytes = 0;  ///< of the output projection, over all ranks
    double small_kernels_s =
        0;  ///< launches of a step that move next to nothing: norms, rotation, activation
    double linear_flops_per_token = 0;
    double head_flops = 0;
    double attention_flops_per_pair = 0;
    double windowed_attention_flops_per_pair = 0;

    bool operator==(const ReachableTerms&) const = default;
};

/// Everything the formulas need, ranks already folded in. An absent term costs no time.
struct LimitInputs {
    double dense_weight_bytes = 0;  ///< streamed by every step
    std::optional<RoutedWeights> routed;
    double kv_bytes_per_token = 0;           ///< layers that keep the whole context
    double windowed_kv_bytes_per_token = 0;  ///< layers with a window
    std::optional<double> window;
    std::optional<double> weight_bytes_per_s;
    std::optional<double> kv_bytes_per_s;
    double weight_pass_fixed_s =
        0;  ///< of a pass over the weights, matrix after matrix; not in the hard limit

    std::optional<double> linear_s_per_token;  ///< arithmetic of one token in the linear layers of the body
    double lm_head_s_per_sequence = 0;  ///< output head: once for a whole prompt, once per token after that
    std::optional<double> prefill_attention_s_per_pair;
    std::optional<double> windowed_prefill_attention_s_per_pair;
    std::optional<double> decode_attention_s_per_pair;
    std::optional<double> windowed_decode_attention_s_per_pair;

    std::optional<double> kv_pool_bytes;       ///< as servers are configured: 0.9 of memory less the weights
    std::optional<double> kv_pool_bytes_most;  ///< were all of memory used
    std::optional<double> max_sequences;       ///< what the server runs at once
    double tokens_per_pass = 1;                ///< above 1 with speculation
    double drafts = 0;                         ///< tokens checked beside the one of each pass

    std::optional<double> fixed_ttft_s;  ///< a server of fixed times: the only terms then
    std::optional<double> fixed_itl_s;

    std::optional<ReachableTerms> reachable;  ///< no part of the limit

    std::vector<SourcedTerm> terms;
    std::vector<std::string> dropped;

    bool operator==(const LimitInputs&) const = default;
};

/// From a model's shape and what is known of the hardware.
LimitInputs limit_inputs(const cards::ModelCard& model, const HardwareTerms& hardware);

/// A simulated server's own terms (Provenance::simulator). Fixed overheads are no part of a hard limit.
LimitInputs limit_inputs_of_simulator(const std::map<std::string, double>& profile);

/// Whether anything in it limits at all.
bool limits_anything(const LimitInputs& inputs);

/// Reading the weights that a step of `tokens` tokens needs, in seconds; 0 where the bandwidth is unknown.
double weight_pass_s(const LimitInputs& inputs, double tokens);

/// Reading the KV cache for every decoded token of `work`, in seconds.
double cache_read_s(const LimitInputs& inputs, const Totals& work);

/// The arithmetic of `work` in seconds at the inputs' speed: each computed token once, none of them in vain.
double arithmetic_s(const LimitInputs& inputs, const Totals& work);

/// One step of `batch` sequences, each `context` tokens long.
struct StepTime {
    double memory_s = 0;
    double compute_s = 0;
    double fixed_s = 0;  ///< of matrices read one after the other; hidden where the next is fetched ahead

    double step_s() const { return memory_s + fixed_s > compute_s ? memory_s + fixed_s : compute_s; }
};
StepTime step_time(const LimitInputs& inputs, double batch, double context);

/// The prompts of `work` one after the other: arithmetic, and the one pass over the weights that each needs
/// at least.
struct PrefillTime {
    double compute_s = 0;
    double memory_s = 0;
    double fixed_s = 0;  ///< likewise

    double prefill_s() const { return memory_s + fixed_s > compute_s ? memory_s + fixed_s : compute_s; }
};
PrefillTime prefill_time(const LimitInputs& inputs, const Totals& work);

/// hard: bytes at the read ceiling and arithmetic at its own, at once. size_aware: the same, but each matrix
/// is read for itself and costs what a read of its size costs. no_overlap: prefill and decode one after the
/// other, at the ceilings. reachable: one after the other, with our own kernels; nothing where none was
/// measured for the model's format.
enum class LimitKind { hard, size_aware, no_overlap, reachable };

/// Bytes/s that our kernels reach at a load, over all ranks; nothing without a row.
struct ReachedBandwidth {
    std::optional<double> weight_bytes_per_s;
    std::optional<double> kv_bytes_per_s;
};
ReachedBandwidth reached_bandwidth(const LimitInputs& inputs, double batch, double context);

/// One decode step with our own kernels, in seconds. A layer that was measured as a whole gives it directly
/// at its batch and context; around it the sum of the parts is scaled by what the layer took beyond them.
std::optional<double> reachable_step_s(const LimitInputs& inputs, double batch, double context);

/// The shortest time in which `work` can be done with `batch` requests in flight (those beyond what fits
/// wait), as rates. Only the proportions of the sums count. Nothing without output tokens or limiting terms.
std::optional<LimitPoint> limit_at(const LimitInputs& inputs, LimitKind kind, const Totals& work,
                                   double batch);

/// Share of the work credited to a stretch of time that may have been done before it: requests in flight at
/// its beginning ÷ prompts answered in it. Nothing where no prompt was answered.
std::optional<double> edge_tolerance(const Totals& stretch);

/// The most whole requests that fit: KV pool ÷ mean of (input + output), and the server's own cap.
std::optional<double> batch_cap(const LimitInputs& inputs, const Totals& work);

/// From batch 1 to the cap, or to `up_to` where none is known; two points per doubling.
std::vector<LimitPoint> limit_curve(const LimitInputs& inputs, LimitKind kind, const Totals& work,
                                    double up_to);

/// The largest batch, up to the cap or `up_to`, at which each user still gets `interactivity` tokens/s.
std::optional<LimitPoint> limit_at_interactivity(const LimitInputs& inputs, LimitKind kind,
                                                 const Totals& work, double interactivity, double up_to);

/// FLOP per byte above which arithmetic is the limit.
double ridge_flops_per_byte(double flops_per_s, double bytes_per_s);

}  // namespace paretoken::reports
