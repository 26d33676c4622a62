// Compares the waterfall of simulated runs with the engine's own steps: the time of each step for weights,
// prompts, fixed costs, and sequences that were in flight but not in the step. The engine and the
// waterfall share no code.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "core/random.h"
#include "reports/analysis/model/gap.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/model.h"

namespace paretoken {
namespace {

struct Case {
    const char* name;
    const char* profile;
    std::int64_t in_flight;
    double prompt_tokens;  ///< mean; lengths are uniform from 0.5 to 1.5 times the mean
    double answer_tokens;
};

constexpr Case kCases[] = {
    {"decoding", "llama3-8b-h100-bf16?jitter=0", 32, 64, 300},
    {"prompts among decoding", "llama3-8b-h100-bf16?jitter=0", 32, 600, 200},
    {"slow steps", "llama3-8b-h100-bf16?jitter=0&step_s=0.004", 16, 200, 200},
    {"few blocks", "llama3-8b-h100-bf16?jitter=0&blocks=700&prefix_cache=0", 64, 300, 300},
    {"few sequences", "llama3-8b-h100-bf16?jitter=0&max_num_seqs=24", 64, 200, 200},
    {"drafts", "llama3-8b-h100-fp8?jitter=0&speculative_tokens=4&acceptance=0.7", 16, 200, 400},
    {"small steps", "llama3-8b-h100-bf16?jitter=0&max_batched_tokens=256", 32, 600, 200},
    {"a model of a card", "llama3-8b/l40s/fp8?jitter=0", 16, 256, 256},
    {"ranks on NVLink", "llama3-70b/h200x2/fp8?jitter=0", 32, 300, 200},
    {"ranks on PCIe", "llama3-8b/a100-80gb-pciex2?jitter=0", 32, 300, 200},
    {"experts", "qwen3-30b-a3b/h200?jitter=0", 32, 300, 200},
    {"experts and latent attention", "deepseek-v3/h200x8?jitter=0&parallel=dep", 64, 300, 300},
};

/// The milliseconds of the window, by their use in the engine.
struct Account {
    double decoding = 0;  ///< time for weights, multiplications, cache and head of decoded tokens
    double communication = 0;
    double overhead = 0;
    double prefill = 0;
    double batch = 0;
    double prefilled_tokens = 0;
    double preemptions = 0;
    double seconds = 0;
    Totals work;
};

double linear_s(const sim::Profile& profile, double tokens) {
    const double q = profile.linear_overlap_exponent;
    const auto overlapped = [q](double reading, double computing) {
        return std::pow(std::pow(reading, q) + std::pow(computing, q), 1 / q);
    };
    const double dense =
        overlapped(profile.weight_bytes / profile.weight_bytes_per_s, profile.linear_s_per_token * tokens);
    if (!(profile.routed_layers > 0)) return dense;
    const double share = profile.active_experts / profile.routed_experts;
    const double drawn = profile.routed_experts * (1 - std::pow(1 - share, tokens));
    return dense +
           overlapped(profile.routed_layers * profile.expert_bytes * drawn / sim::expert_bandwidth(profile),
                      sim::routed_seconds(profile, tokens));
}

void add_step(Account& account, const sim::Profile& profile, const sim::StepWork& work, double decoding,
              double in_flight) {
    const auto sequences = static_cast<double>(work.sequences);
    const double tokens = decoding * (1 + static_cast<double>(profile.speculative_tokens));
    const double head = sim::lm_head_seconds_per_sequence(profile);
    const double cache =
        static_cast<double>(work.decode_context_tokens) *
        std::max(profile.kv_bytes_per_token / profile.kv_bytes_per_s, profile.decode_attention_s_per_pair);
    const double alone = linear_s(profile, tokens);
    const double all = sim::step_seconds(profile, work);
    // A step's fixed part is shared equally by all in flight: by those that decode, by those whose
    // prompt is computed, and by those that are not in the step.
    const double share = decoding / in_flight;
    account.decoding += alone * share + cache + tokens * head;
    const double waiting = profile.communication_s * share + profile.communication_s_per_token * tokens;
    account.communication += waiting;
    account.overhead += profile.step_s * share + profile.sequence_s * decoding;
    const double fixed = alone + profile.step_s + profile.communication_s;
    account.batch += fixed * std::max(0.0, 1 - sequences / in_flight);
    account.prefill += all - fixed - profile.communication_s_per_token * tokens -
                       profile.sequence_s * decoding - cache - tokens * head +
                       fixed * (sequences - decoding) / in_flight;
    account.prefilled_tokens += static_cast<double>(work.tokens) - tokens;
    account.seconds += all;
}

struct Served {
    double prompt = 0;
    double emitted = 0;
};

/// Measures a closed loop over the engine, after the first requests have spread.
Account measured(const Case& one, const sim::Profile& profile) {
    const auto engine = sim::engine_of(profile, 7);
    Random random(3);
    std::uint64_t next_id = 0;
    std::map<std::uint64_t, Served> served;
    const auto submit = [&](TimePoint at) {
        const auto length = [&](double mean) {
            return std::max<std::int64_t>(2, std::llround(mean * (0.5 + random.uniform())));
        };
        const sim::EngineRequest request{++next_id, length(one.prompt_tokens), length(one.answer_tokens)};
        served[request.id].prompt = static_cast<double>(request.prompt_tokens);
        engine->submit(request, at);
    };
    for (std::int64_t i = 0; i < one.in_flight; ++i) submit(TimePoint{});
    Account account;
    constexpr std::uint64_t kSpread = 400;
    constexpr std::uint64_t kEnd = 3000;
    std::uint64_t preemptions_before = 0;
    while (next_id < kEnd && engine->begin_step()) {
        const sim::Step step = engine->end_step();
        const bool counts = next_id > kSpread;
        if (!counts) preemptions_before = engine->state().preemptions;
        double decoding = 0;
        for (const sim::Emission& emission : step.emitted) {
            Served& request = served[emission.id];
            if (counts) {
                Totals& work = account.work;
                if (emission.index == 0) {
                    work.prompts += 1;
                    work.fresh_input_tokens += request.prompt;
                    work.prefill_pairs += request.prompt * request.prompt / 2;
                }
                for (std::int64_t token = 0; token < emission.tokens; ++token) {
                    work.output_tokens += 1;
                    if (emission.index + token == 0) continue;
                    work.decoded_tokens += 1;
                    work.decoded_context_tokens +=
                        request.prompt + request.emitted + static_cast<double>(token);
                }
            }
            decoding += emission.index > 0 ? 1 : 0;
            request.emitted += static_cast<double>(emission.tokens);
            if (emission.last) {
                served.erase(emission.id);
                submit(step.end + std::chrono::microseconds(100));
            }
        }
        if (counts) add_step(account, profile, step.work, decoding, static_cast<double>(one.in_flight));
    }
    account.work.seconds = account.seconds;
    account.preemptions = static_cast<double>(engine->state().preemptions - preemptions_before);
    // Prompts that are computed again are not requested work; they count as batch shortfall.
    const double again = std::max(0.0, 1 - account.work.fresh_input_tokens / account.prefilled_tokens);
    account.batch += again * account.prefill;
    account.prefill *= 1 - again;
    return account;
}

class GapAccounting : public ::testing::TestWithParam<Case> {};

TEST_P(GapAccounting, each_part_is_what_the_engine_spent_on_it) {
    const Case& one = GetParam();
    const sim::Profile profile = sim::profile_named(one.profile);
    const Account account = measured(one, profile);
    const auto terms = sim::limit_terms(profile);
    const reports::LimitInputs limit = reports::limit_inputs_of_simulator(terms);
    const auto gap = reports::gap_of({.work = account.work,
                                      .in_flight = static_cast<double>(one.in_flight),
                                      .output_tokens_per_s = account.work.output_tokens / account.seconds,
                                      .preemptions = account.preemptions},
                                     {.datasheet = limit, .measured = limit, .simulator = terms});
    ASSERT_TRUE(gap);
    const double to_ms = gap->step_ms / account.seconds;
    const auto part = [&](std::size_t place) { return gap->parts[place].ms.value_or(0); };
    double sum = 0;
    for (const reports::GapPart& each : gap->parts) sum += each.ms.value_or(0);
    EXPECT_NEAR(sum, gap->step_ms, 1e-9 * gap->step_ms);

    // The cost of wrong drafts is a share of everything except the prompts.
    const double right = limit.tokens_per_pass / (limit.drafts + 1);
    const double wrong = (1 - right) * (account.decoding + account.overhead);
    const std::map<std::string, std::pair<double, double>> parts{
        {"limit and weights", {part(0) + part(1) + part(2), account.decoding * right * to_ms}},
        {"communication", {part(3), account.communication * right * to_ms}},
        {"step overhead", {part(4), account.overhead * right * to_ms}},
        {"prefill interference", {part(5), account.prefill * to_ms}},
        {"batch shortfall", {part(6), account.batch * to_ms}},
        {"speculation shortfall", {part(7), wrong * to_ms}},
    };
    for (const auto& [name, values] : parts) {
        // A part below a fiftieth of the step is compared relative to the step.
        const double tolerance = std::max(0.1 * values.second, 0.02 * gap->step_ms);
        EXPECT_NEAR(values.first, values.second, tolerance) << name << " of " << gap->step_ms << " ms";
    }
    EXPECT_LE(std::abs(gap->parts.back().ms.value()), 0.05 * gap->step_ms);
}

INSTANTIATE_TEST_SUITE_P(Profiles, GapAccounting, ::testing::ValuesIn(kCases), [](const auto& one) {
    std::string name = one.param.name;
    for (char& c : name)
        if (c == ' ') c = '_';
    return name;
});

}  // namespace
}  // namespace paretoken
