#include "reports/analysis/model/gap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr double kMilliseconds = 1e3;
/// A part below this share of the step is the rounding error of a difference, and the part is zero.
constexpr double kRounding = 1e-6;
constexpr std::string_view kEstimatedPrefill = "estimate: prompts at the limit's arithmetic";
constexpr std::string_view kOnlyCeiling = "micro's read ceiling";

/// The parts in their order. A remedy is something that a user can change; empty if there is nothing.
struct KnownPart {
    std::string_view name;
    std::string_view on_gpu;  ///< remedy where GPUs serve
    std::string_view on_cpu;  ///< remedy where a CPU serves
};
enum Place : std::size_t {
    kLimit,
    kWeights,
    kAttention,
    kCommunication,
    kOverhead,
    kPrefill,
    kBatch,
    kSpeculation,
    kExperts,
    kResidual,
    kParts
};
constexpr KnownPart kKnownParts[kParts] = {
    {"hardware limit", "", ""},
    {"weight bandwidth that kernels reach", "a weight format or kernels that stream faster",
     "a weight format or kernels that stream faster, or as many threads as cores"},
    {"attention bandwidth that kernels reach", "another attention kernel, or a smaller KV format",
     "another attention kernel, or a smaller KV format"},
    {"communication between GPUs", "fewer ranks, or a faster link", ""},
    {"step overhead", "graphs of launches, or more tokens per step", "more tokens per step"},
    {kPrefillPart, "prefix caching, or prefill on GPUs of its own",
     "prefix caching, shorter prompts, or more threads for prompts"},
    {kBatchPart, "", ""},  // batch_remedy()
    {"speculation shortfall", "drafts that are right more often, or fewer of them",
     "drafts that are right more often, or fewer of them"},
    {"expert imbalance", "experts distributed by their use", ""},
    {kResidualPart, "", ""},
};

/// The seconds that the run takes by each extended model in turn; an absent value was not measured.
struct Chain {
    std::optional<double> seconds[kResidual];
    std::string source[kResidual];
};

/// The remedy for requests that wait: more slots if the KV cache has room, else more room. If the server does
/// not tell how full its cache is, the settings of a simulated server say which of the two is short.
std::string batch_remedy(const GapRun& run, const GapInputs& inputs) {
    constexpr double kFull = 0.9;
    const std::string slots = inputs.on_cpu ? "more slots (`--parallel` of llama.cpp)"
                                            : "a higher limit of sequences (`--max-num-seqs` of vLLM)";
    const std::string memory = "memory for more KV cache, or a smaller KV format";
    if (run.kv_usage && *run.kv_usage < kFull)
        return fmt::format("{}; the KV cache has room: at most {} % of it was used", slots,
                           significant(*run.kv_usage * 100));
    if (run.kv_usage)
        return fmt::format("{}; up to {} % of the KV cache was used", memory,
                           significant(*run.kv_usage * 100));
    LimitInputs without_slots = inputs.measured;
    without_slots.max_sequences.reset();
    const auto fits = batch_cap(without_slots, run.work);
    if (inputs.measured.max_sequences && fits && *fits > *inputs.measured.max_sequences)
        return fmt::format("{}; the KV cache has room for {:.0f}", slots, *fits);
    if (inputs.measured.max_sequences && fits) return memory;
    return fmt::format("{} if the KV cache has room, else {}", slots, memory);
}

double seconds_at(const LimitInputs& inputs, LimitKind kind, const Totals& work, double batch) {
    const auto limit = limit_at(inputs, kind, work, batch);
    return limit ? work.output_tokens / limit->output_tokens_per_s : 0;
}

/// The inputs without the caps on how many sequences run at once, because the cost of these caps is batch
/// shortfall.
LimitInputs uncapped(LimitInputs inputs) {
    inputs.max_sequences.reset();
    inputs.kv_pool_bytes.reset();
    inputs.kv_pool_bytes_most.reset();
    return inputs;
}

LimitInputs with_every_draft_right(LimitInputs inputs) {
    inputs.tokens_per_pass = inputs.drafts + 1;
    return inputs;
}

/// Whether a closed loop has at most one request in flight, so that it never waits for another one.
bool is_one_at_a_time(const GapRun& run) {
    constexpr double kOne = 1.01;
    return run.closed_loop && run.in_flight <= kOne;
}

/// The work of sequences that were computed again after a preemption: each is computed up to the mean context
/// length.
Totals work_again(const GapRun& run) {
    Totals again;
    if (!run.preemptions || !(run.work.decoded_tokens > 0)) return again;
    const double context = run.work.decoded_context_tokens / run.work.decoded_tokens;
    again.prompts = *run.preemptions;
    again.fresh_input_tokens = *run.preemptions * context;
    again.prefill_pairs = *run.preemptions * context * context / 2;
    return again;
}

// --- a real server
// --------------------------------------------------------------------------------------------

LimitInputs with_weight_bandwidth(LimitInputs inputs, const ReachedBandwidth& reached) {
    if (reached.weight_bytes_per_s && inputs.weight_bytes_per_s)
        inputs.weight_bytes_per_s = std::min(*inputs.weight_bytes_per_s, *reached.weight_bytes_per_s);
    return inputs;
}

LimitInputs with_attention_bandwidth(LimitInputs inputs, const ReachedBandwidth& reached) {
    if (reached.kv_bytes_per_s && inputs.kv_bytes_per_s)
        inputs.kv_bytes_per_s = std::min(*inputs.kv_bytes_per_s, *reached.kv_bytes_per_s);
    return inputs;
}

Chain chain_of_server(const GapRun& run, const GapInputs& given) {
    LimitInputs datasheet = uncapped(given.datasheet);
    LimitInputs measured = uncapped(given.measured);
    for (LimitInputs* inputs : {&datasheet, &measured})
        if (run.drafts) inputs->drafts = *run.drafts;
    const LimitInputs datasheet_best = with_every_draft_right(datasheet);
    const LimitInputs measured_best = with_every_draft_right(measured);
    const double context =
        run.work.decoded_tokens > 0 ? run.work.decoded_context_tokens / run.work.decoded_tokens : 1;
    const double batch = run.in_flight;
    const ReachedBandwidth reached = reached_bandwidth(given.measured, batch, context);
    const double passes = run.work.decoded_tokens / measured_best.tokens_per_pass;
    const double per_step =
        given.communication_s_per_step.value_or(0) + given.overhead_s_per_step.value_or(0);

    Chain chain;
    double now = seconds_at(datasheet_best, LimitKind::hard, run.work, batch);
    chain.seconds[kLimit] = now;
    chain.source[kLimit] = binding_term(datasheet_best, run.work, batch);
    const LimitInputs with_weights = with_weight_bandwidth(measured_best, reached);
    if (reached.weight_bytes_per_s || given.measured != given.datasheet) {
        now = std::max(now, seconds_at(with_weights, LimitKind::hard, run.work, batch));
        chain.seconds[kWeights] = now;
        chain.source[kWeights] =
            reached.weight_bytes_per_s ? "rows of weights in micro" : std::string(kOnlyCeiling);
    }
    const LimitInputs with_kernels = with_attention_bandwidth(with_weights, reached);
    if (reached.kv_bytes_per_s) {
        now = std::max(now, seconds_at(with_kernels, LimitKind::hard, run.work, batch));
        chain.seconds[kAttention] = now;
        chain.source[kAttention] = "rows of attention in micro";
    }
    if (given.communication_s_per_step) {
        now += passes / batch * *given.communication_s_per_step;
        chain.seconds[kCommunication] = now;
        chain.source[kCommunication] = given.communication_source;
    }
    if (given.overhead_s_per_step) {
        now += passes / batch * *given.overhead_s_per_step;
        chain.seconds[kOverhead] = now;
        chain.source[kOverhead] = given.overhead_source;
    }
    const double apart = seconds_at(with_kernels, LimitKind::no_overlap, run.work, batch);
    const double overlapped = seconds_at(with_kernels, LimitKind::hard, run.work, batch);
    if (run.prefill_s) {
        // While the server computes prompts it may also decode, so that both together can be longer than the
        // measured time; then prompts take what is left of it.
        const double measured_s = run.work.output_tokens / run.output_tokens_per_s;
        const double decoding = apart - prefill_time(with_kernels, run.work).prefill_s();
        now += std::clamp(decoding + *run.prefill_s - overlapped, 0.0, std::max(0.0, measured_s - now));
        chain.source[kPrefill] = run.prefill_source;
    } else {
        now += std::max(0.0, apart - overlapped);
        chain.source[kPrefill] = fmt::format("{}, one after the other", kEstimatedPrefill);
    }
    chain.seconds[kPrefill] = now;
    const std::optional<double> at_once = run.running && *run.running > 0
                                              ? run.running
                                              : (run.slots && *run.slots > 0 ? run.slots : std::nullopt);
    if (is_one_at_a_time(run)) {
        // Samples of the server's metrics may find none running, between two answers.
        chain.seconds[kBatch] = now;
        chain.source[kBatch] = "one request in flight waits for no other";
    } else if (at_once) {
        const double running = std::min(batch, *at_once);
        now += std::max(0.0, seconds_at(with_kernels, LimitKind::no_overlap, run.work, running) - apart) +
               (passes / running - passes / batch) * per_step +
               prefill_time(with_kernels, work_again(run)).prefill_s();
        chain.seconds[kBatch] = now;
        chain.source[kBatch] =
            fmt::format("{} of {} requests in flight were running, by the server's {}", significant(running),
                        significant(batch), run.running ? "metrics" : "slots");
    }
    if (run.tokens_per_pass && measured.drafts > 0) {
        LimitInputs actual = with_kernels;
        actual.tokens_per_pass = std::clamp(*run.tokens_per_pass, 1.0, measured.drafts + 1);
        now += std::max(0.0, seconds_at(actual, LimitKind::no_overlap, run.work, batch) - apart);
        chain.seconds[kSpeculation] = now;
        chain.source[kSpeculation] =
            fmt::format("{} of {} tokens per pass, by the server's counts of drafts",
                        significant(actual.tokens_per_pass), significant(measured.drafts + 1));
    }
    return chain;
}

// --- a simulated server, whose terms are all known
// ------------------------------------------------------------

class SimulatedServer {
  public:
    SimulatedServer(const LimitInputs& inputs, const std::map<std::string, double>& terms, const Totals& work)
        : inputs_(inputs), work_(work), computed_per_pass_(inputs.drafts + 1) {
        const auto term = [&](const char* key, double otherwise) {
            const auto found = terms.find(key);
            return found == terms.end() ? otherwise : found->second;
        };
        step_s_ = term("step_s", 0);
        sequence_s_ = term("sequence_s", 0);
        prompt_step_s_ = term("prompt_step_s", 0);
        overlap_ = std::max(1.0, term("linear_overlap_exponent", 1));
        batched_ = std::max(1.0, term("max_batched_tokens", 1e18));
        communication_s_ = term("communication_s", 0);
        communication_s_per_token_ = term("communication_s_per_token", 0);
        experts_ = {.bytes_per_s = term("expert_bytes_per_s", 0),
                    .s_per_token = term("routed_s_per_token", 0),
                    .tile = term("expert_tile", 0),
                    .imbalance = term("expert_imbalance", 1)};
        attention_s_per_pair_ = term("decode_attention_s_per_pair", 0);
        fresh_ = work.prompts > 0 ? work.fresh_input_tokens / work.prompts : 0;
    }

    double passes(double tokens_per_pass) const { return work_.decoded_tokens / tokens_per_pass; }

    /// The time of decoding alone, with `batch` sequences and nothing else in each step.
    double decoding_s(double batch, double tokens_per_pass) const {
        const double all = passes(tokens_per_pass);
        return all / batch * linear_s(batch * computed_per_pass_) +
               all * computed_per_pass_ * inputs_.lm_head_s_per_sequence + cache_s(tokens_per_pass);
    }

    double overhead_s(double batch, double tokens_per_pass) const {
        return passes(tokens_per_pass) * (step_s_ / batch + sequence_s_);
    }

    /// The time that ranks wait for each other in the steps of decoding.
    double communication_s(double batch, double tokens_per_pass) const {
        return passes(tokens_per_pass) *
               (communication_s_ / batch + computed_per_pass_ * communication_s_per_token_);
    }

    /// The time of the whole run with `running` sequences at once, some of which are prompts.
    double whole_s(double running, double tokens_per_pass) const {
        const double all = passes(tokens_per_pass);
        const double prompt_steps = work_.prompts * steps_per_prompt();
        const double steps = (all + prompt_steps) / running;
        const double tokens = all * computed_per_pass_ / steps;
        return steps * (linear_s(tokens) + step_s_ + communication_s_) +
               (all * computed_per_pass_ + work_.fresh_input_tokens) * communication_s_per_token_ +
               (all + prompt_steps) * sequence_s_ +
               (all * computed_per_pass_ + prompt_steps) * inputs_.lm_head_s_per_sequence +
               cache_s(tokens_per_pass) + prompt_attention_s() + steps * prompts_in_steps_s(tokens, steps);
    }

    /// The number of requests in flight that run at once. In a closed loop a new request waits for the
    /// current step to end; the caps on sequences and memory apply too.
    double running(double in_flight, double tokens_per_pass, bool closed_loop) const {
        const double own = passes(tokens_per_pass) / std::max(1.0, work_.prompts) + steps_per_prompt();
        double most = closed_loop ? in_flight * own / (own + 1) : in_flight;
        if (inputs_.max_sequences) most = std::min(most, *inputs_.max_sequences);
        const double each = work_.decoded_tokens > 0
                                ? inputs_.kv_bytes_per_token *
                                      (work_.decoded_context_tokens - work_.decoded_cached_tokens) /
                                      work_.decoded_tokens
                                : 0;
        if (inputs_.kv_pool_bytes_most && each > 0) most = std::min(most, *inputs_.kv_pool_bytes_most / each);
        return std::max(std::min(1.0, in_flight), most);
    }

  private:
    /// What the experts of a simulated server take besides their bytes.
    struct Experts {
        double bytes_per_s = 0;
        double s_per_token = 0;
        double tile = 0;
        double imbalance = 1;
    };

    /// The time of the linear layers in a step. Reading the weights and multiplying overlap in part, for the
    /// experts apart from the other layers.
    double linear_s(double tokens) const {
        const double all = tokens * inputs_.linear_s_per_token.value_or(0);
        if (!inputs_.routed || !(experts_.bytes_per_s > 0))
            return cards::overlapped_seconds(weight_pass_s(inputs_, tokens), all, overlap_);
        LimitInputs dense = inputs_;
        dense.routed.reset();
        const double computing = all - tokens * experts_.s_per_token;
        return cards::overlapped_seconds(weight_pass_s(dense, tokens), computing, overlap_) +
               experts_s(tokens);
    }

    double experts_s(double tokens) const {
        const RoutedWeights& routed = *inputs_.routed;
        const double drawn = cards::distinct_experts(routed.experts, routed.active, tokens);
        const double padding = std::min(drawn * experts_.tile / routed.active, tokens) / 2;
        return cards::overlapped_seconds(routed.layers * routed.expert_bytes * drawn / experts_.bytes_per_s,
                                         experts_.s_per_token * experts_.imbalance * (tokens + padding),
                                         overlap_);
    }

    double cache_s(double tokens_per_pass) const {
        LimitInputs inputs = inputs_;
        inputs.tokens_per_pass = tokens_per_pass;
        const double arithmetic = attention_s_per_pair_ * work_.decoded_context_tokens / tokens_per_pass;
        return std::max(cache_read_s(inputs, work_), arithmetic);
    }

    double steps_per_prompt() const { return std::max(1.0, std::ceil(fresh_ / batched_)); }

    double prompt_attention_s() const {
        LimitInputs only_attention = inputs_;
        only_attention.linear_s_per_token.reset();
        only_attention.lm_head_s_per_sequence = 0;
        return prefill_time(only_attention, work_).compute_s;
    }

    /// The time that prompts add to a step on average when they arrive independently of each other. Tokens
    /// that do not fit into one step go into further steps.
    double prompts_in_steps_s(double decoding, double steps) const {
        const double mean = work_.prompts / steps;
        const double room = std::max(1.0, batched_ - decoding);
        const double alone = linear_s(decoding);
        double share = std::exp(-mean);
        double sum = 0;
        constexpr int kMost = 400;
        for (int prompts = 1; prompts < kMost && (prompts < mean || share > 1e-12); ++prompts) {
            share *= mean / prompts;
            const double tokens = prompts * fresh_;
            const double full = std::floor(tokens / room);
            const auto with_prompt = [&](double all) { return std::max(linear_s(all), prompt_step_s_); };
            sum += share * (full * (with_prompt(decoding + room) - alone) +
                            with_prompt(decoding + tokens - full * room) - alone);
        }
        return sum;
    }

    LimitInputs inputs_;
    Totals work_;
    double computed_per_pass_;
    double step_s_ = 0;
    double sequence_s_ = 0;
    double prompt_step_s_ = 0;  ///< least time of the linear layers of a step with a prompt
    double overlap_ = 1;
    double batched_ = 0;
    double communication_s_ = 0;  ///< per step
    double communication_s_per_token_ = 0;
    Experts experts_;
    double attention_s_per_pair_ = 0;
    double fresh_ = 0;  ///< computed tokens per prompt
};

Chain chain_of_simulator(const GapRun& run, const GapInputs& given) {
    const LimitInputs inputs = uncapped(given.measured);
    const SimulatedServer server(given.measured, given.simulator, run.work);
    const double best = inputs.drafts + 1;
    const double actual = run.tokens_per_pass.value_or(given.measured.tokens_per_pass);
    const double batch = run.in_flight;
    const std::string profile = "the profile";
    Chain chain;
    const double limit = seconds_at(with_every_draft_right(inputs), LimitKind::hard, run.work, batch);
    chain.seconds[kLimit] = limit;
    double now = std::max(limit, server.decoding_s(batch, best));
    chain.seconds[kWeights] = now;
    chain.seconds[kAttention] = now;  // no difference: the limit reads the cache as fast as the server does
    if (given.simulator.contains("communication_s")) {
        now += server.communication_s(batch, best);
        chain.seconds[kCommunication] = now;
    }
    now += server.overhead_s(batch, best);
    chain.seconds[kOverhead] = now;
    const double whole = server.whole_s(batch, best);
    now = std::max(now, whole);
    chain.seconds[kPrefill] = now;
    const std::optional<double> told = is_one_at_a_time(run) ? std::nullopt : run.running;
    const double running = told ? std::min(batch, *told) : server.running(batch, actual, run.closed_loop);
    now += server.whole_s(running, best) - whole;
    chain.seconds[kBatch] = now;
    chain.source[kBatch] = fmt::format("{} of {} requests in flight run at once, {}", significant(running),
                                       significant(batch), told ? "by the server's metrics" : profile);
    if (run.preemptions) {
        Totals with_again = run.work;
        with_again += work_again(run);
        now += SimulatedServer(given.measured, given.simulator, with_again).whole_s(running, best) -
               server.whole_s(running, best);
        chain.seconds[kBatch] = now;
        chain.source[kBatch] += fmt::format("; {} preemptions", significant(*run.preemptions));
    }
    if (inputs.drafts > 0) {
        now += server.whole_s(running, actual) - server.whole_s(running, best);
        chain.seconds[kSpeculation] = now;
        chain.source[kSpeculation] =
            fmt::format("{} of {} tokens per pass, {}", significant(actual), significant(best),
                        run.tokens_per_pass ? "by the server's counts of drafts" : profile);
    }
    for (const Place place : {kLimit, kWeights, kAttention, kCommunication, kOverhead, kPrefill})
        chain.source[place] = profile;
    return chain;
}

/// Adds what rounding left to the largest part, so that the parts sum to the step.
void add_to_largest(Gap& gap, double ms) {
    const auto largest = std::ranges::max_element(
        gap.parts, [](const GapPart& a, const GapPart& b) { return a.ms.value_or(0) < b.ms.value_or(0); });
    if (largest != gap.parts.end() && largest->ms) *largest->ms += ms;
}

/// The largest part that `is_candidate` holds for, besides the hardware limit and parts that are not worth
/// fixing.
template <class IsCandidate>
const GapPart* largest_of(const Gap& gap, const IsCandidate& is_candidate) {
    const GapPart* largest = nullptr;
    for (const GapPart& part : gap.parts)
        if (part.name != kKnownParts[kLimit].name && part.ms &&
            certain_ms(gap, part) >= kWorthFixing * gap.step_ms && is_candidate(part) &&
            (largest == nullptr || *part.ms > *largest->ms))
            largest = &part;
    return largest;
}

std::string sentence_about(const GapPart& part, const Gap& gap, bool keeps_in_flight) {
    constexpr double kHardlyAny = 0.02;
    const double certain = certain_ms(gap, part);
    const bool is_exact = *part.ms - certain < kHardlyAny * gap.step_ms;
    std::string text = fmt::format("{}: {} ms of the {} ms of a step", part.name, significant(*part.ms),
                                   significant(gap.step_ms));
    if (!is_exact)
        text += fmt::format(", or {} ms, because the parts add up to {} ms more than the step",
                            significant(certain), significant(*part.ms - certain));
    if (gap.usd_per_m_output && part.usd_per_m && keeps_in_flight)
        text += fmt::format(
            "; without it ${} → ${} per million output tokens{}", dollars(*gap.usd_per_m_output),
            dollars(*gap.usd_per_m_output * (1 - certain / gap.step_ms)), is_exact ? "" : " or less");
    else if (gap.usd_per_m_output && part.usd_per_m)
        text +=
            "; without it answers take less time, which makes a token cheaper only if more requests are sent";
    text += ".";
    if (!part.remedy.empty()) text += fmt::format(" What helps: {}.", part.remedy);
    return text;
}

/// The measurements that would move time from the residual to other parts.
std::string what_would_explain(const Gap& gap, bool reads_metrics) {
    const auto part = [&](Place place) -> const GapPart* {
        for (const GapPart& candidate : gap.parts)
            if (candidate.name == kKnownParts[place].name) return &candidate;
        return nullptr;
    };
    const auto was_measured = [&](Place place) { return part(place) != nullptr && part(place)->ms; };
    std::vector<std::string> measurements;
    if (!was_measured(kWeights))
        measurements.emplace_back(
            "`paretoken micro` on the machine that serves, which measures what its kernels reach");
    else if (part(kWeights)->source == kOnlyCeiling)
        measurements.emplace_back(
            "`paretoken micro --model-card MODEL`, which measures kernels for this format of weights");
    if (part(kPrefill) == nullptr || part(kPrefill)->source.starts_with(kEstimatedPrefill))
        measurements.emplace_back(
            "a run at one in flight (`--concurrency 1`) in the same report, which measures the time of a "
            "prompt");
    if (!was_measured(kBatch))
        measurements.emplace_back(
            reads_metrics
                ? "a longer run, in which enough readings of the server's metrics count the running requests"
                : "the server's metrics (llama.cpp needs `--metrics`; `--scrape URL` names them), "
                  "which count the running requests");
    measurements.emplace_back("a profile of the server's own code");
    return fmt::format("{}", fmt::join(measurements, "; "));
}

}  // namespace

std::optional<Gap> gap_of(const GapRun& run, const GapInputs& inputs) {
    if (!(run.output_tokens_per_s > 0) || !(run.in_flight > 0) || !(run.work.output_tokens > 0)) return {};
    if (inputs.measured.fixed_itl_s || inputs.measured.fixed_ttft_s || !limits_anything(inputs.datasheet))
        return {};
    const Chain chain =
        inputs.simulator.empty() ? chain_of_server(run, inputs) : chain_of_simulator(run, inputs);
    Gap gap;
    gap.in_flight = run.in_flight;
    gap.tokens_per_pass = run.tokens_per_pass.value_or(inputs.measured.tokens_per_pass);
    const double per_step = run.in_flight * gap.tokens_per_pass;
    gap.step_ms = per_step / run.output_tokens_per_s * kMilliseconds;
    const double to_ms = per_step / run.work.output_tokens * kMilliseconds;
    double before = 0;
    for (std::size_t place = kLimit; place < kParts; ++place) {
        GapPart part{.name = std::string(kKnownParts[place].name)};
        if (place == kResidual) {
            const double left = gap.step_ms - before;
            part.ms = std::abs(left) > kRounding * gap.step_ms ? left : 0;
            if (*part.ms == 0) add_to_largest(gap, left);
        } else if (chain.seconds[place]) {
            const double added = *chain.seconds[place] * to_ms - before;
            part.ms = std::abs(added) > kRounding * gap.step_ms ? added : 0;
            part.source = chain.source[place];
            if (place == kPrefill && !run.cached_part.empty())
                part.source += (part.source.empty() ? "" : "; ") + run.cached_part;
            before += *part.ms;
        }
        gap.parts.push_back(std::move(part));
    }
    for (std::size_t place = kLimit; place < kParts; ++place) {
        GapPart& part = gap.parts[place];
        if (!part.ms) continue;
        if (run.usd_per_m_output) part.usd_per_m = *run.usd_per_m_output * *part.ms / gap.step_ms;
        if (*part.ms < kWorthFixing * gap.step_ms) continue;
        part.remedy = place == kBatch ? batch_remedy(run, inputs)
                      : inputs.on_cpu ? kKnownParts[place].on_cpu
                                      : kKnownParts[place].on_gpu;
    }
    gap.usd_per_m_output = run.usd_per_m_output;
    gap.first_to_fix = what_to_fix_first(gap, run.reads_metrics, run.keeps_in_flight);
    return gap;
}

double certain_ms(const Gap& gap, const GapPart& part) {
    double excess = 0;
    for (const GapPart& other : gap.parts)
        if (other.name == kResidualPart) excess = std::max(0.0, -other.ms.value_or(0));
    return std::max(0.0, part.ms.value_or(0) - excess);
}

const GapPart* first_to_fix(const Gap& gap) {
    return largest_of(gap, [](const GapPart&) { return true; });
}

std::string what_to_fix_first(const Gap& gap, bool reads_metrics, bool keeps_in_flight) {
    if (gap.parts.empty()) return "";
    const GapPart* part = first_to_fix(gap);
    if (part == nullptr)
        return fmt::format(
            "the {} is {} of the {} ms of a step, and every other part is below {} % of it. Fewer bytes "
            "to read and less to compute, as with a smaller weight format, or faster hardware help.",
            gap.parts.front().name,
            gap.parts.front().ms.value_or(0) < gap.step_ms ? significant(gap.parts.front().ms) + " ms"
                                                           : "all",
            significant(gap.step_ms), significant(kWorthFixing * 100));
    std::string text = sentence_about(*part, gap, keeps_in_flight);
    if (part->name != kResidualPart) return text;
    text += fmt::format(" No other part explains it. What would explain it: {}.",
                        what_would_explain(gap, reads_metrics));
    if (const GapPart* next =
            largest_of(gap, [](const GapPart& candidate) { return !candidate.remedy.empty(); }))
        text +=
            fmt::format(" The largest part with a remedy is {}", sentence_about(*next, gap, keeps_in_flight));
    return text;
}

}  // namespace paretoken::reports
