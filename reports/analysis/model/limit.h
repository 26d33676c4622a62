#pragma once
// Computes an upper bound on the rate of a deployment at a load, from bytes, bandwidths and arithmetic alone
// (a roofline of the steady state, docs/limit.md). A result above the hard limit × (1 + edge_tolerance())
// shows that an input is wrong. A rank is one of the devices over which the model is spread.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/gpu.h"
#include "cards/model.h"
#include "core/result/totals.h"
#include "reports/analysis/micro/micro_kernels.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

struct Sourced {
    double value = 0;
    std::string source;

    bool operator==(const Sourced&) const = default;
};

/// The known figures of one rank; terms without one are named in LimitInputs::dropped.
struct HardwareTerms {
    std::optional<Sourced> read_bytes_per_s;   ///< memory bandwidth
    std::optional<Sourced> read_fixed_s = {};  ///< fixed time of one read, however small the read is
    std::optional<Sourced> flops_per_s;        ///< arithmetic
    std::optional<Sourced> memory_bytes;       ///< size of the memory
    std::uint32_t ranks = 1;                   ///< number of ranks
    std::optional<KernelSpeeds> kernels = {};  ///< our own kernels' speeds on one rank; no part of the limit
    std::string kernels_source = {};           ///< device and date of these speeds

    bool operator==(const HardwareTerms&) const = default;
};

HardwareTerms hardware_of_datasheet(const cards::GpuCard& gpu, std::uint32_t count,
                                    const std::string& weight_dtype);

/// Measured figures of `count` equal devices; only a GPU has a memory size of its own.
HardwareTerms hardware_of_micro(const MicroResults& micro, const cards::ModelCard& model,
                                std::uint32_t count = 1);

/// The figures of `measured`, with those of `datasheet` where a measured figure is missing.
HardwareTerms overlaid(const HardwareTerms& measured, const HardwareTerms& datasheet);

struct RoutedWeights {
    double layers = 0;        ///< layers with experts
    double experts = 0;       ///< experts of a layer
    double active = 0;        ///< experts of a layer that one token uses
    double expert_bytes = 0;  ///< bytes of one expert in one layer

    bool operator==(const RoutedWeights&) const = default;
};

/// The terms of the reachable limit: the speeds of our own kernels, and the model's bytes and arithmetic.
struct ReachableTerms {
    KernelSpeeds kernels;  ///< speeds on one rank
    double ranks = 1;
    double kv_ranks = 1;    ///< ranks that hold different parts of the KV cache, at most `ranks`
    double layers = 0;      ///< layers of the model
    double head_bytes = 0;  ///< bytes of the output projection, over all ranks
    /// Seconds that a step needs to launch its small kernels: norms, rotation, activation.
    double small_kernels_s = 0;
    double linear_flops_per_token = 0;  ///< of all linear layers but the output projection
    double head_flops = 0;              ///< of the output projection, per token
    /// FLOP of attention for a pair of a query and a key token, over all layers without, and with, a window.
    double attention_flops_per_pair = 0;
    double windowed_attention_flops_per_pair = 0;

    bool operator==(const ReachableTerms&) const = default;
};

inline constexpr std::string_view kMemoryBandwidth = "memory bandwidth";  ///< name of a SourcedTerm
inline constexpr std::string_view kArithmetic = "arithmetic";             ///< name of a SourcedTerm

/// All inputs of the formulas, summed over the ranks. An absent term costs no time.
struct LimitInputs {
    double dense_weight_bytes = 0;  ///< bytes of the weights that every step reads, without routed experts
    std::optional<RoutedWeights> routed;
    double kv_bytes_per_token = 0;             ///< bytes in the layers that keep the whole context
    double windowed_kv_bytes_per_token = 0;    ///< bytes in the layers with a sliding window
    std::optional<double> window;              ///< length of the sliding window in tokens
    std::optional<double> weight_bytes_per_s;  ///< bandwidth at which weights are read
    std::optional<double> kv_bytes_per_s;      ///< bandwidth at which the KV cache is read
    /// Time that a pass over the weights needs besides the bandwidth; not in the hard limit.
    double weight_pass_fixed_s = 0;

    /// Seconds of arithmetic for a token in all linear layers but the output head.
    std::optional<double> linear_s_per_token;
    /// Seconds of arithmetic in the output head, once per prompt and once per decoded token.
    double lm_head_s_per_sequence = 0;
    /// Seconds of attention for a pair of query and key token, over all layers without, and with, a window.
    std::optional<double> prefill_attention_s_per_pair;
    std::optional<double> windowed_prefill_attention_s_per_pair;
    std::optional<double> decode_attention_s_per_pair;
    std::optional<double> windowed_decode_attention_s_per_pair;

    std::optional<double>
        kv_pool_bytes;  ///< memory for the KV cache at a usual setting: 0.9 of all, less weights
    std::optional<double> kv_pool_bytes_most;  ///< most memory for the KV cache: all, less the weights
    std::optional<double> max_sequences;       ///< most sequences that the server runs at once
    double tokens_per_pass = 1;  ///< output tokens per pass of a sequence; above 1 with speculation
    double drafts = 0;           ///< draft tokens that a pass checks; a pass computes drafts + 1 tokens

    std::optional<double> fixed_ttft_s;  ///< these two are set for a simulated server of fixed times, and are
                                         ///< then the only terms
    std::optional<double> fixed_itl_s;

    std::optional<ReachableTerms> reachable;  ///< terms of the reachable limit; not part of the hard limit

    std::vector<SourcedTerm> terms;    ///< the inputs with their sources, for the report
    std::vector<std::string> dropped;  ///< names of the inputs that are unknown

    bool operator==(const LimitInputs&) const = default;
};

LimitInputs limit_inputs(const cards::ModelCard& model, const HardwareTerms& hardware);

/// Takes the inputs from Provenance::simulator, without fixed overheads.
LimitInputs limit_inputs_of_simulator(const std::map<std::string, double>& profile);

bool limits_anything(const LimitInputs& inputs);

/// The seconds to read the weights that a step of `tokens` tokens needs; 0 if the bandwidth is unknown.
double weight_pass_s(const LimitInputs& inputs, double tokens);

/// The seconds to read the KV cache for all decoding of `work`, once per pass; 0 if the bandwidth is unknown.
double cache_read_s(const LimitInputs& inputs, const Totals& work);

/// The seconds of arithmetic for `work` if each token is computed once, without wrong drafts.
double arithmetic_s(const LimitInputs& inputs, const Totals& work);

/// The time of one step of `batch` sequences, each `context` tokens long.
struct StepTime {
    double memory_s = 0;   ///< time to read weights and KV cache
    double compute_s = 0;  ///< time of the arithmetic, which overlaps with reading
    double fixed_s = 0;    ///< LimitInputs::weight_pass_fixed_s; a server that prefetches could avoid it

    double step_s() const { return memory_s + fixed_s > compute_s ? memory_s + fixed_s : compute_s; }
};
StepTime step_time(const LimitInputs& inputs, double batch, double context);

/// The time of the prompts of `work`, one after the other, each with one pass over the weights.
struct PrefillTime {
    double compute_s = 0;
    double memory_s = 0;
    double fixed_s = 0;  ///< prompts × weight_pass_fixed_s

    double prefill_s() const { return memory_s + fixed_s > compute_s ? memory_s + fixed_s : compute_s; }
};
PrefillTime prefill_time(const LimitInputs& inputs, const Totals& work);

enum class LimitKind {
    hard,  ///< all reads of decoding at the read ceiling and all arithmetic at its ceiling, both at once
    size_aware,  ///< the hard limit with weight_pass_fixed_s for each step
    no_overlap,  ///< prefill and decoding one after the other, each at the ceilings with weight_pass_fixed_s
    reachable    ///< prefill and decoding one after the other, with our own kernels; nothing without kernels
};

/// The bytes/s that our kernels reach at a load, over all ranks; nothing without a row in the micro results.
struct ReachedBandwidth {
    std::optional<double> weight_bytes_per_s;
    std::optional<double> kv_bytes_per_s;
};
ReachedBandwidth reached_bandwidth(const LimitInputs& inputs, double batch, double context);

/// The seconds of one decode step with our own kernels: the sum of the times of its parts, scaled to the
/// nearest load at which a layer was measured. Nothing without a kernel for the weights.
std::optional<double> reachable_step_s(const LimitInputs& inputs, double batch, double context);

/// The rates if `work`, of which only proportions matter, is done in the shortest time with `batch` requests
/// in flight, waiting ones included. Nothing without output tokens, limiting terms or reachable kernels.
std::optional<LimitPoint> limit_at(const LimitInputs& inputs, LimitKind kind, const Totals& work,
                                   double batch);

/// The input that binds the hard limit at `batch` with its source: "memory bandwidth, datasheet: …", or the
/// arithmetic. Empty if the inputs do not name it.
std::string binding_term(const LimitInputs& inputs, const Totals& work, double batch);

/// An estimate of the share of a window's work that was done before it began: mean requests in flight ÷
/// prompts whose first event is in it. Nothing without prompts.
std::optional<double> edge_tolerance(const Totals& stretch);

/// The most requests that run at once: the KV pool ÷ the KV cache of a mean request, or max_sequences;
/// rounded down, at least 1. Nothing if neither is known.
std::optional<double> batch_cap(const LimitInputs& inputs, const Totals& work);

/// The limit at batches from 1 to batch_cap(), or `up_to`: 1, 2, 3, 4, 6, 8, 12 … and the cap. With several
/// `works` it is at each batch the highest of those whose cap is not below it. Empty if there is no limit.
std::vector<LimitPoint> limit_curve(const LimitInputs& inputs, LimitKind kind,
                                    const std::vector<Totals>& works, double up_to);

/// The limit at the largest batch, up to batch_cap() or `up_to`, at which each user gets `interactivity`
/// tokens/s; nothing if not even one does, or without a limit.
std::optional<LimitPoint> limit_at_interactivity(const LimitInputs& inputs, LimitKind kind,
                                                 const Totals& work, double interactivity, double up_to);

}  // namespace paretoken::reports
