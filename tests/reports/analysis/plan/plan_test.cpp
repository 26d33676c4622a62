#include "reports/analysis/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "reports/analysis/plan/engine_command.h"
#include "reports/analysis/plan/plan_words.h"
#include "reports/files/json/sizing_json.h"
#include "reports/pages/sizing.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kGib = 1024.0 * 1024 * 1024;

PlannedLengths fixed_lengths() {
    return lengths_of("1000", "100", {1000, 1000, 1000}, {100, 100, 100});
}

PlannedCell cell_on(const std::string& gpu, std::uint32_t tp, double usd_per_h) {
    PlannedCell cell{.gpu = gpu, .weights = "bf16", .kv = "bf16"};
    cell.deployment = {.memory_bytes = 79 * kGib, .tensor_parallel = tp};
    cell.settings = {.max_model_len = 1320, .max_num_seqs = 8, .max_num_batched_tokens = 2048};
    fill_sizes(cell, cards::model_card("llama-3.1-8b"), fixed_lengths(), 131072);
    cell.usd_per_h = usd_per_h;
    return cell;
}

DeploymentPlan plan_with(std::vector<PlannedCell> cells) {
    DeploymentPlan plan{
        .model = "llama-3.1-8b", .engine = "vllm", .context = 131072, .lengths = fixed_lengths()};
    plan.cells = std::move(cells);
    plan.best = best_of(plan.cells, false);
    return plan;
}

TEST(Plan, LengthsAreThoseOfWholeRequests) {
    const PlannedLengths lengths = lengths_of("a", "b", {100, 200, 300}, {30, 20, 10});
    EXPECT_EQ(lengths.input_mean, 200);
    EXPECT_EQ(lengths.total_p50, 220);
    EXPECT_EQ(lengths.total_max, 310);
    EXPECT_NEAR(lengths.input_p99, 298, 1e-9);
}

TEST(Plan, TheFewestReplicasCarryTheDemandAndOneFewerDoesNot) {
    for (const double rate : {.5, 9.9, 10.0, 10.1, 55.0, 1000.0})
        for (const double target : {.3, .7, 1.0}) {
            DeploymentPlan plan = plan_with({cell_on("h100-sxm", 4, 2)});
            plan.demand = {.requests_per_s = rate, .target_utilization = target};
            plan.cells.front().speed = PlannedSpeed{.load = 10};
            const PlannedFleet fleet = fleet_of(plan, plan.cells.front(), replicas_for(plan.demand, 10));
            const auto replicas = static_cast<double>(fleet.replicas);
            EXPECT_GE(replicas * 10 * target, rate * (1 - 1e-9));
            EXPECT_LT((replicas - 1) * 10 * target, rate);
            EXPECT_EQ(fleet.gpus, 4 * fleet.replicas);
            EXPECT_LE(fleet.utilization, target + 1e-9);
        }
}

TEST(Plan, AnswersQuestionsOfCostForAllServersTogether) {
    DeploymentPlan plan = plan_with({cell_on("h100-sxm", 2, 7.0)});
    plan.demand.requests_per_s = 20;
    PlannedCell& cell = plan.cells.front();
    cell.speed = PlannedSpeed{.load = 10, .output_tokens_per_s = 1000};
    cell.fleet = PlannedFleet{.replicas = 3, .gpus = 6};
    const cards::GpuCard gpu = cards::gpu_card("h100-sxm");
    const CostGiven known = known_to_cost(plan, cell, cards::model_card("llama-3.1-8b"), gpu);
    EXPECT_EQ(known.numbers.at("usd_per_h"), (CostValue{21, "price card"}));
    EXPECT_EQ(known.numbers.at("tokens_per_s"), (CostValue{3000, "simulated runs"}));
    EXPECT_EQ(known.numbers.at("all_tokens_per_s").value, 33000) << "10 input tokens for each output token";
    EXPECT_DOUBLE_EQ(known.numbers.at("gb_per_s").value, 2 * gpu.memory_bytes_per_s / 1e9)
        << "a step runs on one server";
    EXPECT_DOUBLE_EQ(known.numbers.at("watts").value, 6 * gpu.tdp_w.value());
    plan.decisions = answers_from(known);
    const Facts facts = decision_facts(plan);
    EXPECT_EQ(facts.items.front(),
              std::pair(std::string("per-million"), std::string("$1.9444 per million output tokens")));
    EXPECT_THAT(sizing_console(plan), HasSubstr("$1.9444 per million output tokens"));
    const auto json = nlohmann::json::parse(sizing_json(plan));
    EXPECT_EQ(json.at("decisions").at(0).at("inputs").at("usd_per_h").at("source"), "price card");
}

DeploymentPlan plan_with_speed(const Demand& demand) {
    DeploymentPlan plan = plan_with({cell_on("h100-sxm", 1, 2)});
    plan.demand = demand;
    plan.cells.front().speed = at_its_rate({.load = 10}, plan.lengths);
    return plan;
}

TEST(Plan, TheBillIsThatOfEveryGpuAroundTheClock) {
    const DeploymentPlan plan = plan_with_speed({.requests_per_s = 20});
    const PlannedFleet fleet = fleet_of(plan, plan.cells.front(), 3);
    EXPECT_DOUBLE_EQ(*fleet.usd_per_month, 3 * 2 * 720);
    EXPECT_DOUBLE_EQ(*fleet.usd_per_m_output, 6.0 / 3600 / (20 * 100) * 1e6);
    EXPECT_NEAR(fleet.utilization, 2. / 3, 1e-9);
}

TEST(Plan, ADemandByHourIsPlannedForTheBusiestAndBilledForTheMean) {
    const DeploymentPlan plan = plan_with_speed({.requests_per_s = 40, .hours = {40, 10, 10}});
    EXPECT_EQ(replicas_for(plan.demand, 10), 4U);
    const PlannedFleet fleet = fleet_of(plan, plan.cells.front(), 4);
    EXPECT_NEAR(fleet.utilization, .5, 1e-9);
    EXPECT_DOUBLE_EQ(*fleet.usd_per_m_output, 8.0 / 3600 / (20 * 100) * 1e6);
}

TEST(Plan, LoadUtilizationAndPriceOfTokensAgree) {
    DeploymentPlan plan = plan_with_speed({.requests_per_s = 25});
    PlannedCell& cell = plan.cells.front();
    cell.speed->output_tokens_per_s = 930;  // as the window of a short run may say
    cell.speed = at_its_rate(*cell.speed, plan.lengths);
    EXPECT_DOUBLE_EQ(cell.speed->output_tokens_per_s, 10 * 100);
    EXPECT_DOUBLE_EQ(usd_per_m_at_speed(plan, cell).value(), 2.0 / 3600 / 1000 * 1e6);
    const PlannedFleet fleet = fleet_of(plan, cell, 3);
    EXPECT_DOUBLE_EQ(*fleet.usd_per_m_output * fleet.utilization, usd_per_m_at_speed(plan, cell).value());
    EXPECT_GT(fleet_of(plan, cell, 2).utilization, 1) << "a share of more than all is not hidden";
}

TEST(Plan, TokensCostMoreIfTheServersServeForAPartOfThePaidTime) {
    DeploymentPlan plan = plan_with_speed({.requests_per_s = 20});
    const PlannedCell& cell = plan.cells.front();
    const PlannedFleet always = fleet_of(plan, cell, 2);
    plan.earning_share = .45;
    const PlannedFleet partly = fleet_of(plan, cell, 2);
    EXPECT_DOUBLE_EQ(*partly.usd_per_m_output, *always.usd_per_m_output / .45);
    EXPECT_EQ(partly.usd_per_month, always.usd_per_month);
    EXPECT_DOUBLE_EQ(
        known_to_cost(plan, cell, cards::model_card("llama-3.1-8b"), {}).numbers.at("tokens_per_s").value,
        450);
    plan.cells.front().fleet = partly;
    EXPECT_THAT(answer_of(plan), HasSubstr("serving in 45.0 % of the paid time"));
    plan.price_card = "mine";
    EXPECT_EQ(nlohmann::json::parse(sizing_json(plan)).at("prices").at("earning_share"), .45);
}

TEST(Plan, TheBestCellIsTheCheapestThatCarriesTheDemand) {
    PlannedCell cheap = cell_on("l40s", 1, 1);
    PlannedCell dear = cell_on("h100-sxm", 1, 3);
    PlannedCell refused = cell_on("t4", 1, .1);
    refused.refused = "too small";
    cheap.fleet = PlannedFleet{.replicas = 9, .gpus = 9, .usd_per_month = 6480};
    dear.fleet = PlannedFleet{.replicas = 2, .gpus = 2, .usd_per_month = 4320};
    cheap.speed = dear.speed = PlannedSpeed{.load = 1};
    EXPECT_EQ(best_of({refused, cheap, dear}, true), 2U);
    dear.fleet->usd_per_month = 7000;
    EXPECT_EQ(best_of({refused, cheap, dear}, true), 1U);
    EXPECT_EQ(best_of({refused}, false), std::nullopt);
}

TEST(Plan, OfCellsThatCostTheSameTheOneWithTheReserveIsTheBest) {
    PlannedCell full = cell_on("h100-sxm", 4, 11.8);
    PlannedCell half = cell_on("h100-sxm", 8, 23.6);
    full.speed = half.speed = PlannedSpeed{.load = 1};
    full.fleet = PlannedFleet{.replicas = 4, .gpus = 16, .utilization = 1, .usd_per_month = 33984};
    half.fleet = PlannedFleet{
        .replicas = 2, .gpus = 16, .utilization = .58, .usd_per_month = std::nextafter(33984., 40000.)};
    EXPECT_EQ(best_of({full, half}, true), 1U);
    EXPECT_EQ(best_of({half, full}, true), 0U);
}

TEST(Plan, ACellWithoutALoadWithinTheLimitsIsNotTheBest) {
    PlannedCell slow = cell_on("l40s", 1, 1);
    slow.no_speed = "ttft_p95 is 900 ms";
    EXPECT_EQ(best_of({slow}, true), std::nullopt);
    DeploymentPlan plan = plan_with({slow});
    plan.best.reset();
    EXPECT_THAT(answer_of(plan), HasSubstr("no load is within the limits: ttft_p95 is 900 ms"));
}

TEST(Plan, TheFewestReplicasAreSearchedFromTheEstimateInBothDirections) {
    const auto found = [](std::uint64_t estimate, std::uint64_t least) {
        return fewest_within(estimate, [&](std::uint64_t replicas) { return replicas >= least; });
    };
    EXPECT_EQ(found(12, 11), 11U);
    EXPECT_EQ(found(12, 14), 14U);
    EXPECT_EQ(found(1, 1), 1U);
    EXPECT_EQ(found(1, 2), 2U);
    EXPECT_EQ(found(1000, 950), 960U) << "by 2 % of many replicas";
    EXPECT_EQ(found(4, 100), std::nullopt) << "the runs at the demand miss the limits at any number";
}

TEST(Plan, TheTableHasTheBestCellFirstAndThoseThatCarryNothingLast) {
    DeploymentPlan plan = plan_with({});
    plan.slos = {"ttft_p95:800"};
    for (const auto& [gpu, usd] : {std::pair("a100", 0.), {"b200", 0.}, {"h100-sxm", 900.}, {"l40s", 300.}}) {
        PlannedCell cell = cell_on(gpu, 1, 2);
        if (usd > 0) cell.speed = PlannedSpeed{.load = 10};
        if (usd > 0) cell.fleet = PlannedFleet{.replicas = 5, .gpus = 5, .usd_per_month = usd};
        plan.cells.push_back(std::move(cell));
    }
    plan.cells.front().refused = "1 GiB is missing";
    const Table table = cells_table(plan);
    std::vector<std::string> servers;
    for (const auto& row : table.rows) servers.push_back(row.front());
    EXPECT_THAT(servers, testing::ElementsAre("1 × l40s", "1 × h100-sxm", "1 × b200", "1 × a100"));
    EXPECT_EQ(ranked_cells(plan).front(), &plan.cells.at(best_of(plan.cells, true).value()));
    for (int i = 0; i < 30; ++i) plan.cells.insert(plan.cells.begin(), plan.cells.front());
    const std::string text = sizing_console(plan);
    EXPECT_THAT(text, HasSubstr("1 × l40s")) << "the best cell is in the rows that are shown";
    EXPECT_THAT(text, HasSubstr("and 10 more"));
}

TEST(Plan, ADemandThatUsesAlmostEverythingIsNamedAndSoAreThePricesBesideTheCost) {
    DeploymentPlan plan = plan_with_speed({.requests_per_s = 50});
    plan.price_card = "2026-11-cloud";
    plan.price_as_of = "2026-11-20";
    plan.price_basis = "on_demand";
    for (const auto& [replicas, used] : {std::pair(5, "100 % of the 50.0 req/s"), {7, ""}}) {
        plan.cells.front().fleet = fleet_of(plan, plan.cells.front(), static_cast<std::uint64_t>(replicas));
        EXPECT_THAT(caution_on(plan), HasSubstr(used));
        EXPECT_EQ(caution_on(plan).empty(), replicas == 7);
        EXPECT_EQ(sizing_console(plan).find("--target-utilization") == std::string::npos, replicas == 7);
        EXPECT_THAT(sizing_console(plan), HasSubstr("the price card 2026-11-cloud of 2026-11-20, on_demand"));
    }
}

TEST(Plan, WithoutSpeedsTheBestCellIsOnTheFewestGpus) {
    EXPECT_EQ(
        best_of({cell_on("h100-sxm", 4, 12), cell_on("h100-sxm", 1, 3), cell_on("h100-sxm", 2, 6)}, false),
        1U);
}

TEST(Plan, OfEquallyManyGpusTheCheapestPerHourIsTheBestAndThenTheOneWithTheMostRequests) {
    PlannedCell cheap = cell_on("mi300x", 1, 2.5);
    PlannedCell dear = cell_on("b200", 1, 5.5);
    for (const auto& [first, second] : {std::pair(cheap, dear), std::pair(dear, cheap)}) {
        const auto best = best_of({first, second}, false);
        EXPECT_EQ((best == 0U ? first : second).gpu, "mi300x");
    }
    cheap.usd_per_h.reset();
    dear.usd_per_h.reset();
    dear.sequences_p50 = cheap.sequences_p50 + 1;
    EXPECT_EQ(best_of({cheap, dear}, false), 1U);
    EXPECT_EQ(best_of({dear, cheap}, false), 0U);
}

std::optional<std::string> answer_of_plan_to(const char* question, const CostGiven& known) {
    for (const CostAnswer& answer : answers_from(known))
        if (answer.question->name == std::string(question)) return answer.result + ": " + answer.verdict;
    return {};
}

TEST(Plan, FourBitsAreMultipliedIn16AndDoNotServeExpertsThatEveryRequestReads) {
    PlannedCell cell = cell_on("h100-sxm", 1, 2);
    cell.weights = "fp8";
    const DeploymentPlan plan = plan_with({cell});
    const auto gpu = cards::find_gpu("h100-sxm");
    const auto answer =
        answer_of_plan_to("quantization", known_to_cost(plan, cell, cards::model_card("llama-3.1-8b"), gpu));
    ASSERT_TRUE(answer);
    EXPECT_THAT(*answer, HasSubstr("the full gain holds up to 74 requests in flight; from 148 on"));
    EXPECT_FALSE(answer_of_plan_to("quantization",
                                   known_to_cost(plan, cell, cards::model_card("qwen3-30b-a3b"), gpu)));
}

TEST(Plan, AnApiIsPaidForItsReadsOfTheCacheWhereTheDeploymentHasHits) {
    const PlannedLengths lengths = lengths_of("4096", "200", {4096}, {200});
    cards::ApiPrice api;
    api.input = 3;
    api.output = 15;
    api.cache_read = .3;
    CostGiven known;
    add_api(known, lengths, 0, api, "some-api");
    EXPECT_NEAR(known.numbers.at("api_usd_per_m").value, (15 + 20.48 * 3) / 21.48, 1e-9);
    add_api(known, lengths, .5, api, "some-api");
    EXPECT_NEAR(known.numbers.at("api_usd_per_m").value, 2.272, 1e-3);
    EXPECT_EQ(known.numbers.at("api_usd_per_m").source, "api:some-api");
    api.min_cache_tokens = 5000;
    add_api(known, lengths, .5, api, "some-api");
    EXPECT_NEAR(known.numbers.at("api_usd_per_m").value, (15 + 20.48 * 3) / 21.48, 1e-9);
    EXPECT_FALSE(known.api->cache_read);
}

TEST(Plan, AContextThatIsAssumedIsNotTheWholeContext) {
    DeploymentPlan plan = plan_with({cell_on("h100-sxm", 1, 2)});
    EXPECT_THAT(sizing_console(plan), HasSubstr("of the whole context of 131,072"));
    plan.knows_context = false;
    EXPECT_THAT(sizing_console(plan), HasSubstr("of 131,072 tokens (the model's context is not known)"));
    EXPECT_THAT(sizing_console(plan), Not(HasSubstr("whole context")));
}

TEST(Plan, TheAnswerNamesTheGpusAndTheBillFirst) {
    PlannedCell cell = cell_on("l40s", 2, 2.2);
    cell.speed = PlannedSpeed{.load = 10, .output_tokens_per_s = 1000};
    cell.fleet = PlannedFleet{.replicas = 2, .gpus = 4, .utilization = .9, .usd_per_month = 3168};
    DeploymentPlan plan = plan_with({cell});
    plan.demand.requests_per_s = 18;
    EXPECT_THAT(answer_of(plan),
                StartsWith("4 × l40s, bf16 weights, bf16 cache: $3,170 per month for 18.0 req/s"));
    EXPECT_THAT(sizing_console(plan), StartsWith("4 × l40s"));
    EXPECT_EQ(nlohmann::json::parse(sizing_json(plan)).at("cells").at(0).at("fleet").at("gpus"), 4);
}

TEST(Plan, ACellThatDoesNotFitSaysWhatWould) {
    PlannedCell cell = cell_on("t4", 1, .5);
    cell.refused = "3 GiB per GPU are missing";
    cell.nearest = "--tp 2";
    const DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(answer_of(plan), HasSubstr("3 GiB per GPU are missing; --tp 2 would fit"));
    EXPECT_THROW(server_command_of(plan, "vllm"), UsageError);
}

TEST(Plan, SettingsCoverTheRequestsAndNoMore) {
    const PlannedCell cell = cell_on("h100-sxm", 1, 3);
    const SuggestedSettings use =
        suggested_settings(fixed_lengths(), cell, {.sequences = 256, .tokens = 512}, 131072);
    EXPECT_EQ(use.max_model_len, 1320U) << "1.2 × 1100";
    EXPECT_EQ(use.max_num_batched_tokens, 512U) << "the prompts of 1,000 tokens take two steps";
    EXPECT_EQ(use.max_num_seqs, 256U);
    EXPECT_EQ(suggested_settings(fixed_lengths(), cell, {}, 1200).max_model_len, 1200U);
    PlannedCell groups = cell;
    groups.deployment.tensor_parallel = 4;
    groups.deployment.attention_data_parallel = true;
    groups.sequences_p50 = 400;
    EXPECT_EQ(suggested_settings(fixed_lengths(), groups, {}, 1200).max_num_seqs, 100U) << "of each group";
}

TEST(Plan, CommandsHaveTheNamesThatEachServerGivesItsOptions) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--max-model-len 1320 --max-num-seqs 8"));
    EXPECT_THAT(server_command_of(plan, "sglang"),
                HasSubstr("--context-length 1320 --max-running-requests 8"));
    plan.model = "m.gguf";
    plan.cells.front().sequences_limit = 50;
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--ctx-size 12288 --parallel 8"))
        << "slots have multiples of 256 tokens";
    plan.cells.front().sequences_limit = 5;
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--ctx-size 7680 --parallel 5"))
        << "slots are allocated whole, and the cache has room for five";
    EXPECT_THROW(server_command_of(plan, "tgi"), UsageError);
}

TEST(Plan, CommandsSayHowTheGpusDivideTheModel) {
    PlannedCell cell = cell_on("h100-sxm", 4, 12);
    cell.deployment.pipeline_parallel = 2;
    cell.deployment.expert_parallel = 4;
    DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(server_command_of(plan, "vllm"),
                HasSubstr("--tensor-parallel-size 4 --pipeline-parallel-size 2 --enable-expert-parallel"));
    EXPECT_THAT(server_command_of(plan, "sglang"), HasSubstr("--tp 4 --pp-size 2 --ep-size 4"));
    EXPECT_THAT(server_command_of(plan, "trtllm"), HasSubstr("--tp_size 4 --pp_size 2 --ep_size 4"));
    EXPECT_THAT(answer_of(plan), StartsWith("8 × h100-sxm, PP 2, EP 4"));
    plan.cells.front().deployment.expert_parallel = 1;
    plan.cells.front().deployment.tensor_parallel = 1;
    plan.model = "m.gguf";
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--split-mode layer"));
    plan.cells.front().deployment = {.tensor_parallel = 4, .attention_data_parallel = true};
    EXPECT_THAT(server_command_of(plan, "vllm"),
                HasSubstr("--tensor-parallel-size 1 --data-parallel-size 4 --enable-expert-parallel"));
    EXPECT_THAT(server_command_of(plan, "sglang"), HasSubstr("--dp-size 4 --enable-dp-attention"));
    EXPECT_THAT(server_command_of(plan, "sglang"),
                HasSubstr("--max-running-requests 32 --chunked-prefill-size 8192"))
        << "which the server divides by its 4 groups";
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--max-num-seqs 8 --max-num-batched-tokens 2048"))
        << "of each group";
    EXPECT_THROW(server_command_of(plan, "trtllm"), UsageError);
    plan.cells.front().deployment = {.tensor_parallel = 4, .context_parallel = 2};
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--decode-context-parallel-size 2"));
    EXPECT_THROW(server_command_of(plan, "sglang"), UsageError);
}

std::string refusal_to_emit(const DeploymentPlan& plan, const char* server) {
    try {
        (void)server_command_of(plan, server);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(Plan, CommandsAskForTheFormatOfTheCacheThatKernelsHave) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    cell.kv = "fp8";
    DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(server_command_of(plan, "sglang"), HasSubstr("--kv-cache-dtype fp8_e4m3"));
    EXPECT_THAT(refusal_to_emit(plan, "trtllm"), HasSubstr("--kv fp8"));
    plan.model_kv = "fp8";
    EXPECT_EQ(refusal_to_emit(plan, "trtllm"), "") << "it reads the format from the checkpoint";
}

TEST(Plan, CommandsServeTheWeightsThatArePlannedOrAreRefused) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    cell.weights = "int4";
    DeploymentPlan plan = plan_with({cell});
    plan.model_weights = "bf16";
    plan.loads_own_model = true;
    EXPECT_THAT(refusal_to_emit(plan, "vllm"),
                HasSubstr("vllm cannot convert the bf16 weights of llama-3.1-8b to int4"));
    plan.loads_own_model = false;
    EXPECT_EQ(refusal_to_emit(plan, "vllm"), "") << "--model names a checkpoint";
    plan.loads_own_model = true;
    plan.cells.front().weights = "f16";
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--dtype float16"));
    EXPECT_THAT(refusal_to_emit(plan, "trtllm"), HasSubstr("--model OWNER/NAME"));
    plan.cells.front().weights = "fp8";
    EXPECT_THAT(server_command_of(plan, "sglang"), HasSubstr("--quantization fp8"));
    plan.cells.front().weights = "bf16";
    EXPECT_THAT(server_command_of(plan, "vllm"), Not(HasSubstr("--dtype float")));
    plan.cells.front().weights = plan.cells.front().kv = "f32";
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--kv-cache-dtype auto --dtype float32"));
    plan.cells.front().weights = "bf16";
    EXPECT_THAT(refusal_to_emit(plan, "vllm"), HasSubstr("--kv f32"));
}

TEST(Plan, CommandsOfLlamacppNameTheFileOfARepositoryByItsFormat) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    DeploymentPlan plan = plan_with({cell});
    plan.model = "owner/name-GGUF";
    const auto repository = [&](const char* weights) {
        plan.cells.front().weights = weights;
        const std::string command = server_command_of(plan, "llamacpp");
        const auto from = command.find("owner/");
        return command.substr(from, command.find(' ', from) - from);
    };
    EXPECT_EQ(repository("q8_0"), "owner/name-GGUF:Q8_0");
    EXPECT_EQ(repository("q4_k"), "owner/name-GGUF:Q4_K_M");
    EXPECT_EQ(repository("int4"), "owner/name-GGUF") << "no file of llama.cpp has this format";
    plan.model = "owner/name-GGUF:Q5_K_S";
    EXPECT_EQ(repository("q5_k"), "owner/name-GGUF:Q5_K_S");
}

TEST(Plan, CommandsHaveRoomForAdapters) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    cell.deployment.lora = {.count = 4, .rank = 16};
    const DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--enable-lora --max-loras 4 --max-lora-rank 16"));
    EXPECT_THAT(server_command_of(plan, "sglang"),
                HasSubstr("--enable-lora --max-loras-per-batch 4 --max-lora-rank 16"));
    EXPECT_THAT(refusal_to_emit(plan, "trtllm"), HasSubstr("--lora"));
}

TEST(Plan, CommandsNameTheDraftModelWhereTheServerTakesOne) {
    DeploymentPlan plan = plan_with({cell_on("h100-sxm", 1, 3)});
    plan.draft_model = "small.gguf";
    plan.inputs["drafts"] = {5, "given"};
    EXPECT_THAT(server_command_of(plan, "sglang"),
                HasSubstr("--speculative-draft-model-path small.gguf --speculative-num-steps 5 "
                          "--speculative-eagle-topk 1 --speculative-num-draft-tokens 6"));
    plan.model = "m.gguf";
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--model-draft small.gguf --draft-max 5"));
    EXPECT_THAT(refusal_to_emit(plan, "vllm"), HasSubstr("--draft-model"));
}

TEST(Plan, CommandsSayHowMuchOfTheHostsMemoryKeepsCache) {
    PlannedCell cell = cell_on("h100-sxm", 2, 3);
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    cell.host_cache = host_cache_of(cell, model, fixed_lengths(), 64e9, 25e9, {});
    DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("\"num_cpu_blocks\":30517}"))
        << "64e9 ÷ 131072 ÷ 16";
    EXPECT_THAT(server_command_of(plan, "sglang"),
                HasSubstr("--enable-hierarchical-cache --hicache-size 32"));
    plan.model = "m.gguf";
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--cache-ram 61035"));
    EXPECT_THAT(refusal_to_emit(plan, "trtllm"), HasSubstr("--kv-offload"));
}

TEST(Plan, AHostCacheIsComparedWithComputingThePromptAgain) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    const PlannedLengths lengths = lengths_of("1024", "1", {1024}, {1});
    const PlannedHostCache cache =
        host_cache_of(cell, model, lengths, 131072e6, 25e9, cards::gpu_card("h100-sxm"));
    EXPECT_DOUBLE_EQ(cache.tokens, 1e6);
    EXPECT_DOUBLE_EQ(cache.load_s, 1024 * 131072 / 25e9);
    EXPECT_NEAR(*cache.compute_s, .01473, 1e-5) << "the hard limit of a prompt of 1024 tokens";
    cell.host_cache = cache;
    EXPECT_THAT(sizing_console(plan_with({cell})), HasSubstr("1,000,000 tokens"));
    const auto json = nlohmann::json::parse(sizing_json(plan_with({cell})));
    EXPECT_EQ(json.at("cells").at(0).at("host_cache").at("tokens"), 1e6);
}

TEST(Plan, LayersOnTheHostSayHowFastATokenCanBeAtMost) {
    PlannedCell cell = cell_on("l40s", 1, 1);
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    const auto gpu = cards::find_gpu("l40s");
    EXPECT_EQ(host_layers_of(cell, model, 50e9, gpu), std::nullopt);
    cell.deployment.gpu_layers = 16;
    cell.host_layers = host_layers_of(cell, model, 50e9, gpu);
    EXPECT_NEAR(*cell.host_layers->least_s, 6979321856 / 864e9 + 8029995008 / 50e9, 1e-9);
    DeploymentPlan plan = plan_with({cell});
    EXPECT_THAT(sizing_console(plan), HasSubstr("169 ms"));
    EXPECT_NEAR(known_to_cost(plan, cell, model, gpu).numbers.at("gb_per_s").value, 15.0093 / .168678, .01)
        << "both sides together read 15 GB per token";
    plan.model = "m.gguf";
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--n-gpu-layers 16"));
}

TEST(Plan, SpeedHasTheGapsBetweenTokensAndTheGoodRequests) {
    DeploymentPlan plan = plan_with({cell_on("h100-sxm", 1, 2)});
    plan.cells.front().speed = at_its_rate(
        {.load = 10, .itl_p50_s = .01, .itl_p99_s = .025, .goodput_per_s = 9, .goodput_ratio = .96},
        plan.lengths);
    EXPECT_DOUBLE_EQ(*plan.cells.front().speed->goodput_per_s, 9.6) << "of the requests that arrive";
    const Table table = cells_table(plan);
    const auto cell_under = [&](std::string_view title) {
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            if (table.columns[i].title == title) return table.rows.front()[i];
        return std::string();
    };
    EXPECT_EQ(cell_under("ITL p99 ms"), "25.0");
    EXPECT_EQ(cell_under("good %"), "96.0");
    EXPECT_EQ(table.rows.front().size(), table.columns.size());
    EXPECT_EQ(cells_table(plan_with({cell_on("h100-sxm", 1, 2)})).columns.at(2).title, "KV GiB");
    const auto speed = nlohmann::json::parse(sizing_json(plan)).at("cells").at(0).at("speed");
    EXPECT_EQ(speed.at("itl_p99_s"), .025);
    EXPECT_EQ(speed.at("goodput_per_s"), 9.6);
}

TEST(Plan, InputsOfTheSpeedSayWhereTheyComeFrom) {
    DeploymentPlan plan = plan_with({cell_on("h100-sxm", 1, 2)});
    EXPECT_TRUE(input_facts(plan).items.empty());
    plan.inputs["acceptance"] = {.7, "given"};
    plan.inputs["chunk"] = {8192, "default of vllm on h100-sxm"};
    EXPECT_THAT(sizing_console(plan), HasSubstr("0.7 of the drafted tokens (given)"));
    EXPECT_THAT(sizing_console(plan), HasSubstr("8192 tokens in a step (default of vllm on h100-sxm)"));
    EXPECT_EQ(nlohmann::json::parse(sizing_json(plan)).at("inputs").at("acceptance").at("value"), .7);
    plan.inputs["hit"] = {.5, "given"};
    EXPECT_EQ(
        known_to_cost(plan, plan.cells.front(), cards::model_card("llama-3.1-8b"), {}).numbers.at("hit"),
        (CostValue{.5, "given"}));
}

TEST(Plan, LlamacppLoadsAFileOrARepositoryAndNothingElse) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    DeploymentPlan plan = plan_with({cell});
    for (const char* const file : {"m.gguf", "/models/m.gguf"}) {
        plan.model = file;
        EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr(std::string("--model ") + file));
    }
    plan.model = "owner/name-GGUF:Q4_K_M";
    EXPECT_THAT(server_command_of(plan, "llamacpp"), HasSubstr("--hf-repo owner/name-GGUF:Q4_K_M"));
    for (const char* const other : {"llama-3.1-8b", "/models", "./models", "owner/", "a/b/c"}) {
        plan.model = other;
        EXPECT_THROW(server_command_of(plan, "llamacpp"), UsageError) << other;
    }
    plan.model = "m.gguf";
    plan.model_path = "/a directory with safetensors";
    EXPECT_THROW(server_command_of(plan, "llamacpp"), UsageError);
}

TEST(Plan, ADivisionOrCacheThatAnotherServerDoesNotHaveIsRefused) {
    const auto refuses = [](const char* server, const cards::Deployment& on, const char* kv = "bf16") {
        PlannedCell cell = cell_on("h100-sxm", 4, 12);
        cell.deployment = on;
        cell.kv = kv;
        DeploymentPlan plan = plan_with({cell});
        plan.engine = "sglang";
        plan.model = "m.gguf";
        try {
            (void)server_command_of(plan, server);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const cards::Deployment some_experts{.tensor_parallel = 4, .expert_parallel = 2};
    EXPECT_THAT(refuses("vllm", some_experts), HasSubstr("--ep 2"));
    EXPECT_EQ(refuses("sglang", some_experts), "");
    EXPECT_EQ(refuses("vllm", {.tensor_parallel = 4, .expert_parallel = 4}), "");
    EXPECT_THAT(refuses("llamacpp", {.tensor_parallel = 2, .pipeline_parallel = 2}), HasSubstr("--pp 2"));
    EXPECT_THAT(refuses("trtllm", {}, "fp8"), HasSubstr("--kv fp8"));
    EXPECT_EQ(refuses("trtllm", {}), "");
}

TEST(Plan, OnlyWeightsThatTheEngineConvertsHaveAnOption) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    cell.weights = "fp8";
    DeploymentPlan plan = plan_with({cell});
    plan.model_weights = "bf16";
    EXPECT_THAT(server_command_of(plan, "vllm"), HasSubstr("--quantization fp8"));
    plan.model_weights = "fp8";
    EXPECT_THAT(server_command_of(plan, "vllm"), Not(HasSubstr("--quantization")));
}

TEST(Plan, TheTargetOfAnAutoscalerIsTheRequestsInFlightAtTheHighestLoad) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    DeploymentPlan plan = plan_with({cell});
    EXPECT_EQ(requests_in_flight_target(plan, cell), std::nullopt);
    cell.speed = PlannedSpeed{.load = 10, .requests_per_s = 10, .ttft_p50_s = .5, .tpot_p50_s = .02};
    plan.demand = {.requests_per_s = 50};
    EXPECT_EQ(requests_in_flight_target(plan, cell), 24) << "10/s · (.5 s + 99 · .02 s)";
    plan.demand.target_utilization = .5;
    EXPECT_EQ(requests_in_flight_target(plan, cell), 12);
    plan.demand = {.users = 100};
    EXPECT_EQ(requests_in_flight_target(plan, cell), 10);
}

TEST(Plan, TheTargetOfAnAutoscalerFollowsFromTheMeanTimeOfARequestAndMayBeBelowOne) {
    PlannedCell cell = cell_on("h100-sxm", 1, 3);
    const DeploymentPlan plan = plan_with({cell});
    cell.speed = PlannedSpeed{.load = 10, .ttft_p50_s = .5, .tpot_p50_s = .02, .e2e_mean_s = 3.05};
    EXPECT_EQ(requests_in_flight_target(plan, cell), 30);
    cell.speed->e2e_mean_s = .03;
    EXPECT_EQ(requests_in_flight_target(plan, cell), .3);
    cell.speed->e2e_mean_s = 1e-9;
    EXPECT_EQ(requests_in_flight_target(plan, cell), .001) << "Kubernetes has no smaller number";
}

TEST(Plan, TheBusiestHourHasTheReplicasThatWereConfirmed) {
    for (const double target : {.3, .6, 1.0})
        for (std::uint64_t replicas = 1; replicas < 30; ++replicas) {
            const Demand demand{.requests_per_s = 47, .target_utilization = target};
            const double load =
                47 / (static_cast<double>(replicas) * target);  // of the run that confirmed it
            EXPECT_EQ(replicas_for(demand, load), replicas);
            EXPECT_EQ(staircase_of({47, 47}, load, target, {}).servers.back(), replicas);
        }
}

}  // namespace
}  // namespace paretoken::reports
