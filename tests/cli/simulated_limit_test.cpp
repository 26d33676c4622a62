// Compares simulated runs with the limit of their own profile: none may be above it, for any
// requests. The simulator and the limit share no code, so that each checks the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "datasets/dataset.h"
#include "loadgen/progress.h"
#include "loadgen/virtual.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/limit.h"
#include "tests/support/arrivals.h"
#include "tests/support/kept_records.h"

namespace paretoken {
namespace {

using reports::LimitKind;

/// Profiles. Those without fixed costs of steps come nearest to the limit.
const std::vector<std::string> kProfiles{
    "llama3-8b-h100-bf16?jitter=0",
    "llama3-8b-h100-fp8?jitter=0&step_s=0&sequence_s=0&linear_overlap_exponent=50",
    "llama3-8b-h100-bf16",
    "llama3-8b-h100-bf16?jitter=0&step_s=0&sequence_s=0&max_num_seqs=4",
    "llama3-8b-h100-bf16?jitter=0&step_s=0&sequence_s=0&blocks=700",
    "llama3-8b-h100-bf16?jitter=0&step_s=0&sequence_s=0&prefix_cache=0&max_batched_tokens=512",
    "llama3-8b-h100-fp8?jitter=0&speculative_tokens=4&acceptance=0.8",
    "llama3-8b-h100-bf16?hiccup=5ms-20ms/2s",
    "ideal?ttft=20ms&itl=5ms",
    "llama-3.1-70b/h200x2/fp8/fp8?jitter=0",
    "gpt-oss-120b/h200?jitter=0&step_s=0&sequence_s=0",
    "qwen3-30b-a3b/h100-sxm?jitter=0&step_s=0&sequence_s=0&linear_overlap_exponent=50",
    "llama-3.1-70b/h100-sxmx16?jitter=0&step_s=0&sequence_s=0&prompt_step_s=0&communication_s=0",
    // Ranks that exchange: over each kind of link, by each kind of parallelism.
    "llama-3.1-70b/h200x2/fp8/fp8?jitter=0&engine=trtllm",
    "llama-3.1-70b/h100-sxmx8/fp8/fp8?jitter=0&step_s=0&sequence_s=0&communication_s=0",
    "llama-3.1-70b/b200/nvfp4/fp8?jitter=0&step_s=0&sequence_s=0&linear_overlap_exponent=50",
    "llama-3.1-405b/b200x4/nvfp4/fp8?jitter=0&engine=trtllm&step_s=0&sequence_s=0",
    "llama-3.1-8b/a100-80gb-pciex2?jitter=0&link=pcie&step_s=0&sequence_s=0",
    "llama-3.1-70b/a100-80gb-pciex4?jitter=0&step_s=0&communication_s=0&communication_s_per_token=1e-6",
    "llama-3.1-8b/a100-40gbx2?jitter=0&link=ethernet&communication_s=0&communication_s_per_token=1e-6",
    "llama-3.1-70b/mi300xx4?jitter=0&step_s=0&sequence_s=0",
    "llama-3.1-8b/rtx-3090x4/q8_0?jitter=0&parallel=layers&step_s=0&sequence_s=0&max_num_seqs=32",
    "llama-3.1-8b/l40sx4/int4?jitter=0&step_s=0&sequence_s=0&communication_s=0",
    // Experts.
    "qwen3-30b-a3b/b200/nvfp4/fp8?jitter=0&engine=trtllm&step_s=0&sequence_s=0",
    "qwen3-30b-a3b/h200x4/fp8?jitter=0&parallel=dep&step_s=0&sequence_s=0&communication_s=0",
    "gpt-oss-120b/h100-sxmx4?jitter=0&parallel=dep&engine=trtllm&step_s=0&sequence_s=0&communication_s=0",
    "gpt-oss-120b/b200x2?jitter=0&step_s=0&sequence_s=0&communication_s=0&expert_tile=128",
    "qwen3-30b-a3b/h100-sxm?jitter=0&step_s=0&sequence_s=0&expert_imbalance=2&linear_overlap_exponent=50",
    // Latent attention.
    "deepseek-v3/b200x8/nvfp4/"
    "fp8?jitter=0&step_s=0&prompt_step_s=0&communication_s=0&communication_s_per_token=0",
    "deepseek-v3/h200x8?jitter=0&parallel=dep&engine=trtllm&step_s=0&sequence_s=0&communication_s=0",
    "deepseek-v3/"
    "h200x16?jitter=0&parallel=dep&step_s=0&prompt_step_s=0&communication_s=0&speculative_tokens=2&"
    "acceptance=.8",
    // Another admission, and servers that change.
    "llama3-8b-h100-bf16?jitter=0&step_s=0&sequence_s=0&blocks=700&admission=no_evict",
    "llama3-8b-h100-bf16?jitter=0&step_s=0&sequence_s=0&drift=1000%/h&from=2s:weight_bytes_per_s=3e12"
    "&from=4s:linear_s_per_token=1e-5",
};

struct RequestShape {
    std::int64_t shared = 0;  ///< tokens at the front that all requests share
    std::int64_t own = 1;
    std::int64_t output = 1;
};

struct Workload {
    const char* name;
    RequestShape (*shape)(std::uint64_t index);
};

/// Draws a lognormal length with a coefficient of variation of 1.
std::int64_t lognormal(std::uint64_t index, std::uint64_t stream, double mean, double most) {
    Random random(derived_seed(index, stream == 0 ? "input" : "output"));
    const double sigma = std::sqrt(std::log(2.0));
    const double length = mean * std::exp(sigma * random.normal() - sigma * sigma / 2);
    return static_cast<std::int64_t>(std::clamp(length, 2.0, most));
}

const std::vector<Workload> kWorkloads{
    {"alike",
     [](std::uint64_t) {
         return RequestShape{0, 512, 64};
     }},
    {"lognormal",
     [](std::uint64_t i) {
         return RequestShape{0, lognormal(i, 0, 400, 4000), lognormal(i, 1, 64, 400)};
     }},
    {"long prompts with short answers",
     [](std::uint64_t i) {
         return i % 2 == 0 ? RequestShape{0, 4000, 4} : RequestShape{0, 64, 128};
     }},
    {"answers of two tokens",
     [](std::uint64_t) {
         return RequestShape{0, 256, 2};
     }},
    {"mixed cache hits",
     [](std::uint64_t i) {
         return i % 2 == 0 ? RequestShape{2048, 16, 32} : RequestShape{0, 48, 48};
     }},
};

class ShapedPrompts final : public datasets::Dataset {
  public:
    explicit ShapedPrompts(const Workload& workload) : workload_(workload) {}

    Request request(std::uint64_t index) const override {
        const RequestShape shape = workload_.shape(index);
        TokenIds ids(static_cast<std::size_t>(shape.shared), 4242);
        Random random(derived_seed(index, "prompt"));
        for (std::int64_t i = 0; i < shape.own; ++i)
            ids.push_back(static_cast<std::int32_t>(1000 + random.below(7000)));
        Request request;
        request.prompt = std::move(ids);
        request.wanted_input_tokens = shape.shared + shape.own;
        request.wanted_output_tokens = shape.output;
        return request;
    }
    std::string description() const override { return workload_.name; }

  private:
    const Workload& workload_;
};

struct Load {
    const char* name;
    std::uint64_t concurrency;  ///< 0: open loop
    const char* arrivals;
    std::uint64_t requests;
};
constexpr Load kLoads[] = {{"c=1", 1, "at_once", 12},
                           {"c=8", 8, "at_once", 64},
                           {"c=32", 32, "at_once", 160},
                           {"open", 0, "poisson:rate=12", 100}};

struct SimulatedRun {
    reports::LoadedRun loaded;
    std::vector<RequestRecord> records;
    double batch = 0;
};

SimulatedRun run_of(const sim::Profile& profile, const Workload& workload, const Load& wanted) {
    loadgen::LoadOptions load;
    const ShapedPrompts prompts(workload);
    load.classes = {{.arrivals = loadgen::parse_arrivals(wanted.arrivals),
                     .limits = {.requests = wanted.requests},
                     .dataset = &prompts}};
    if (wanted.concurrency > 0) load.classes.front().concurrency = wanted.concurrency;
    load.worker.id_prefix = "l-";
    loadgen::Progress progress;
    auto outcome = testing::kept_outcome([&](RecordSink& sink) {
        return make_virtual_load(load, {.profile = profile, .chat = false}, sink, progress, {});
    });
    SimulatedRun run;
    run.loaded.directory = wanted.name;
    RunResult& result = run.loaded.result;
    result = result_of(outcome, load);
    result.provenance.hardware = "sim:" + profile.name;
    result.provenance.simulator = sim::limit_terms(profile);
    run.records = std::move(outcome.records);
    run.batch = wanted.concurrency > 0 ? static_cast<double>(wanted.concurrency)
                                       : *result.whole_run.at(figure::kMeanInFlight);
    return run;
}

/// Computes the hard limit in seconds independently: token by token, from the profile's own terms.
double seconds_by_hand(const std::map<std::string, double>& terms, const std::vector<RequestRecord>& records,
                       double batch) {
    const auto term = [&](const char* key, double otherwise = 0) {
        const auto found = terms.find(key);
        return found == terms.end() ? otherwise : found->second;
    };
    double fixed = 0;
    double passes = 0;
    double kv = 0;    // bytes read
    double held = 0;  // bytes that are in memory during a step
    double compute = 0;
    const double drafts = term("drafts");
    const double per_pass = term("tokens_per_pass", 1);
    const double window = term("window", 1e18);
    const auto cache_bytes = [&](double tokens, double in_window) {
        return term("kv_bytes_per_token") * tokens + term("windowed_kv_bytes_per_token") * in_window;
    };
    for (const RequestRecord& r : records) {
        const auto prompt = static_cast<double>(*r.usage.prompt);
        const auto cached = static_cast<double>(r.usage.cached_prompt.value_or(0));
        const auto output = static_cast<double>(*r.usage.completion);
        fixed += term("fixed_ttft_s") + (output - 1) * term("fixed_itl_s");
        passes += (output - 1) / per_pass;
        for (double j = 1; j < output; ++j) {
            const double in_window = std::min(prompt + j, window);
            kv += cache_bytes(prompt + j - drafts / 2, in_window - drafts / 2) / per_pass;
            held += cache_bytes(prompt + j - drafts / 2 - cached, in_window - drafts / 2 - cached) / per_pass;
        }
        const double fresh = prompt - cached;
        double pairs_in_window = 0;
        if (term("window") > 0) {
            const double growing = std::clamp(window - cached, 0.0, fresh);
            pairs_in_window = growing * (cached + cached + growing) / 2 + (fresh - growing) * term("window");
        }
        compute += fresh * term("linear_s_per_token") + term("lm_head_s_per_sequence") +
                   ((fresh * cached + fresh * fresh / 2) * term("attention_flops_per_token_pair") +
                    pairs_in_window * term("windowed_attention_flops_per_token_pair")) /
                       term("attention_flops_per_s", 1);
    }
    if (terms.contains("fixed_itl_s")) return fixed / batch;
    const double pool = term("kv_capacity_tokens") * cache_bytes(1, 1);
    const double steps =
        std::max(passes / std::min(batch, term("max_num_seqs")), std::min(passes, held / pool));
    const double tokens = passes * (drafts + 1);
    double weights = term("weight_bytes");
    if (const double experts = term("routed_experts"); experts > 0)
        weights += term("routed_layers") * term("expert_bytes") * experts *
                   (1 - std::pow(1 - term("active_experts") / experts, tokens / steps));
    compute += tokens * (term("linear_s_per_token") + term("lm_head_s_per_sequence"));
    return std::max(steps * weights / term("weight_bytes_per_s") + kv / term("kv_bytes_per_s"), compute);
}

class SimulatedLimit : public ::testing::TestWithParam<std::string> {};

TEST_P(SimulatedLimit, no_run_is_above_the_limit_of_its_profile) {
    const sim::Profile profile = sim::profile_named(GetParam());
    const auto terms = sim::limit_terms(profile);
    const reports::LimitInputs inputs = reports::limit_inputs_of_simulator(terms);
    // The times of steps and the right drafts are random, so a run of few requests may be faster by luck.
    const double luck = profile.jitter > 0 || profile.speculative_tokens > 0 ? 0.03 : 1e-9;
    double nearest = 0;
    for (const Workload& workload : kWorkloads) {
        for (const Load& load : kLoads) {
            SCOPED_TRACE(std::string(workload.name) + ", " + load.name);
            SimulatedRun run = run_of(profile, workload, load);
            const RunResult& result = run.loaded.result;
            ASSERT_EQ(result.counts.failed, 0u);
            ASSERT_EQ(result.counts.ok, load.requests);
            const Totals& whole = result.whole_run_totals;
            const auto limit = reports::limit_at(inputs, LimitKind::hard, whole, run.batch);
            ASSERT_TRUE(limit);
            const double least_s = whole.output_tokens / limit->output_tokens_per_s;
            EXPECT_NEAR(least_s / seconds_by_hand(terms, run.records, run.batch), 1, 1e-9);
            EXPECT_LE(least_s / whole.seconds, 1 + luck);
            nearest = std::max(nearest, least_s / whole.seconds);
            const auto report = reports::build_report({std::move(run.loaded)}, {});
            const reports::Configuration& configuration = report.configurations.front();
            const reports::ReportPoint& point = configuration.points.front();
            EXPECT_TRUE(configuration.errors.empty()) << configuration.errors.front();
            ASSERT_TRUE(point.of_limit);
            ASSERT_TRUE(point.limit_tolerance);
            const bool fixed =
                profile.timing == sim::Timing::fixed;  // at the limit except for the window's edges
            EXPECT_LE(*point.of_limit, 1 + (fixed ? *point.limit_tolerance : 0));
        }
    }
    EXPECT_GT(nearest, 0.5) << "the limit is too far away to be of use";
}

INSTANTIATE_TEST_SUITE_P(Profiles, SimulatedLimit, ::testing::ValuesIn(kProfiles),
                         [](const auto& profile) { return std::to_string(profile.index); });

}  // namespace
}  // namespace paretoken
