#include "reports/analysis/model/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "reports/analysis/model/join.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::ThrowsMessage;

LoadedRun run(std::uint64_t concurrency, const std::string& sweep, const Labels& metadata = {}) {
    LoadedRun loaded{.directory = sweep + "/c" + std::to_string(concurrency),
                     .result = sample::run(concurrency),
                     .sweep = sweep};
    loaded.result.provenance.metadata = metadata;
    return loaded;
}

LoadedRun on_its_own(const std::string& directory, const Labels& metadata) {
    LoadedRun loaded = run(4, directory, metadata);
    loaded.sweep.clear();
    return loaded;
}

std::string as_it_is(std::string_view hardware) {
    return std::string(hardware);
}

std::vector<Labels> labels_of_groups(std::vector<LoadedRun> runs,
                                     const std::optional<std::vector<std::string>>& by = {}) {
    std::vector<Labels> labels;
    for (const RunGroup& group : grouped_runs(std::move(runs), by, as_it_is)) labels.push_back(group.labels);
    return labels;
}

TEST(Labels, KnowsEngineAndModelCardOfARunAndPutsWhatTheUserSaidBeforeIt) {
    LoadedRun one = run(1, "a", {{"kv", "as configured"}, {"build", "b1"}});
    one.result.provenance.model_card = ModelCardNote{"llama", "llama", "int4", "fp8", "0"};
    one.result.provenance.hardware_count = 2;
    const Labels labels = labels_of(one);
    EXPECT_EQ(labels.at("engine"), "llama.cpp");
    EXPECT_EQ(labels.at("weights"), "int4");
    EXPECT_EQ(labels.at("kv"), "as configured");
    EXPECT_EQ(labels.at("build"), "b1");
    EXPECT_EQ(labels.at("gpus"), "2");
}

TEST(Labels, TwoQuantizationsServedUnderOneNameAreTwoCurves) {
    EXPECT_THAT(labels_of_groups({run(1, "a", {{"precision", "q4_1"}, {"build", "b1"}}),
                                  run(2, "a", {{"precision", "q4_1"}, {"build", "b1"}}),
                                  run(1, "b", {{"precision", "q8_0"}, {"build", "b1"}})}),
                ElementsAre(Labels{{"precision", "q4_1"}}, Labels{{"precision", "q8_0"}}));
}

TEST(Labels, ThatVaryWithinASweepDoNotTellSweepsApart) {
    EXPECT_THAT(labels_of_groups({run(1, "a", {{"note", "first"}}), run(2, "a", {{"note", "second"}}),
                                  run(4, "b", {{"note", "third"}})}),
                ElementsAre(Labels{}));
}

TEST(Labels, OfOneSweepAloneTellNothing) {
    EXPECT_THAT(
        labels_of_groups({run(1, "a", {{"precision", "q4_1"}}), run(2, "a", {{"precision", "q4_1"}})}),
        ElementsAre(Labels{}));
}

TEST(Labels, CellsOfOneSweepAreSweepsOfTheirOwn) {
    LoadedRun few = run(1, "a");
    few.cell = {{"prefill_concurrency", "1"}, {"isl", "128"}};
    LoadedRun many = run(1, "a");
    many.cell = {{"prefill_concurrency", "4"}, {"isl", "128"}};
    EXPECT_THAT(labels_of_groups({few, many}),
                ElementsAre(Labels{{"prefill_concurrency", "1"}}, Labels{{"prefill_concurrency", "4"}}));
}

TEST(Labels, RunsOnTheirOwnAreToldApartButNotByTheNumberOfAGatesPair) {
    EXPECT_THAT(labels_of_groups({on_its_own("x", {{"precision", "q4_1"}, {"gate_pair", "1"}}),
                                  on_its_own("y", {{"precision", "q4_1"}, {"gate_pair", "2"}}),
                                  on_its_own("z", {{"gate_pair", "2"}})}),
                ElementsAre(Labels{{"precision", "q4_1"}}, Labels{}));
}

TEST(Labels, ThatWereAskedForGroupAndNoOthersDo) {
    const std::vector<LoadedRun> runs{run(1, "a", {{"precision", "q4_1"}, {"build", "b1"}}),
                                      run(2, "b", {{"precision", "q4_1"}, {"build", "b2"}})};
    EXPECT_EQ(labels_of_groups(runs).size(), 2u);
    EXPECT_THAT(labels_of_groups(runs, {{"precision"}}), ElementsAre(Labels{{"precision", "q4_1"}}));
    EXPECT_THAT(labels_of_groups(runs, std::vector<std::string>()), ElementsAre(Labels{}));
    EXPECT_THAT([&] { labels_of_groups(runs, {{"precison"}}); },
                ThrowsMessage<UsageError>(HasSubstr("--group-by precison: no run has this label; the labels "
                                                    "are build=b1|b2")));
}

TEST(CardSpec, SelectsByLabelsBeforeTheFirstColon) {
    EXPECT_THAT(parse_card_spec("precision=q8_0,threads=2:a/b.gguf:kv=f16").selector,
                ElementsAre(Pair("precision", "q8_0"), Pair("threads", "2")));
    EXPECT_EQ(parse_card_spec("precision=q8_0:a/b.gguf:kv=f16").card, "a/b.gguf:kv=f16");
    EXPECT_THAT(parse_card_spec("llama-3.1-8b:kv=fp8,weights=int4").selector, IsEmpty());
    EXPECT_EQ(parse_card_spec("llama-3.1-8b:kv=fp8").card, "llama-3.1-8b:kv=fp8");
    for (const char* bad : {"precision=:x", "=q8:x", "precision=q8,threads:x", "precision=q8_0:"})
        EXPECT_THROW(parse_card_spec(bad), UsageError) << bad;
}

TEST(ModelCards, AreChosenByLabelAndOneForAllIsForTheOthers) {
    const std::vector<CardChoice> choices{
        {{}, "all", cards::model_card("llama-3.1-8b")},
        {{{"precision", "q8_0"}}, "precision=q8_0:x", cards::model_card("llama-3.1-8b:weights=int8")}};
    EXPECT_EQ(selected_card(run(1, "a", {{"precision", "q8_0"}}), choices)->weight_dtype, "int8");
    EXPECT_EQ(selected_card(run(1, "a", {{"precision", "q4_1"}}), choices)->weight_dtype, "bf16");
    EXPECT_EQ(selected_card(run(1, "a"), {}), nullptr);
}

TEST(ModelCards, TwoForOneRunAndOneForNoneAreRefused) {
    const cards::ModelCard card = cards::model_card("llama-3.1-8b");
    const std::vector<LoadedRun> runs{run(1, "a", {{"precision", "q8_0"}, {"threads", "2"}})};
    EXPECT_THAT(
        [&] {
            selected_card(runs[0], {{{}, "x", card}, {{}, "y", card}});
        },
        ThrowsMessage<UsageError>(HasSubstr("--model-card x and --model-card y are both for")));
    EXPECT_THAT(
        [&] {
            selected_card(runs[0], {{{{"precision", "q8_0"}}, "a", card}, {{{"threads", "2"}}, "b", card}});
        },
        ThrowsMessage<UsageError>(HasSubstr("are both for the run in a/c1")));
    EXPECT_THAT(
        [&] {
            refuse_unmatched(runs, {{{{"precision", "q4"}}, "precision=q4:F", card}});
        },
        ThrowsMessage<UsageError>(HasSubstr("no run has precision=q4; the labels are")));
}

TEST(ModelCards, ThatARunNamesItselfGiveItsLimit) {
    LoadedRun one = run(1, "a");
    const cards::ModelCard card = cards::model_card("llama-3.1-8b:weights=int4");
    one.result.provenance.model_card =
        ModelCardNote{"llama-3.1-8b:weights=int4", card.name, "int4", "bf16", cards::content_hash_of(card)};
    one.result.provenance.hardware = "NVIDIA H200";
    JoinOptions options;
    EXPECT_THAT(
        build_report({one}, options).configurations.front().missing,
        ::testing::Contains(HasSubstr("the model card llama-3.1-8b:weights=int4 that the run names")));
    options.known_models[cards::content_hash_of(card)] = card;
    const Configuration made = build_report({one}, options).configurations.front();
    EXPECT_FALSE(made.hard_limit.empty());
    EXPECT_EQ(made.title, "llama-3.1-8b int4 on NVIDIA H200 SXM 141 GB");
}

TEST(ModelCards, HashesDifferWhereALimitWould) {
    const auto hash = [](const char* card) { return cards::content_hash_of(cards::model_card(card)); };
    EXPECT_EQ(hash("llama-3.1-8b"), hash("llama-3.1-8b:weights=bf16"));
    EXPECT_NE(hash("llama-3.1-8b"), hash("llama-3.1-8b:kv=fp8"));
    EXPECT_NE(hash("llama-3.1-8b"), hash("llama-3.1-8b:weights=int4"));
    EXPECT_NE(hash("llama-3.1-8b"), hash("qwen3-8b"));
    cards::ModelCard latent = cards::model_card("llama-3.1-8b");
    latent.mla = cards::LatentAttention{512, 64, 1536, 192, 128};
    const std::string of_first = cards::content_hash_of(latent);
    EXPECT_NE(of_first, hash("llama-3.1-8b"));
    latent.mla->rope_dim = 32;
    EXPECT_NE(of_first, cards::content_hash_of(latent));
}

TEST(Names, AreTheShortestThatTellConfigurationsApart) {
    const auto named = [](const std::vector<Configuration>& made) {
        std::vector<Configuration> configurations = made;
        name_configurations(configurations);
        std::vector<std::string> names;
        for (const Configuration& configuration : configurations) names.push_back(configuration.name);
        return names;
    };
    const auto configuration = [](const std::string& hardware, const Labels& labels,
                                  const std::string& load) {
        Configuration c;
        c.model = "llama";
        c.hardware = hardware;
        c.labels = labels;
        c.workload = load;
        return c;
    };
    EXPECT_THAT(named({configuration("L40S", {}, "1:1")}), ElementsAre(""));
    EXPECT_THAT(named({configuration("L40S", {{"precision", "int4"}}, "1:1"),
                       configuration("L40S", {{"precision", "fp8"}}, "1:1")}),
                ElementsAre("precision=int4", "precision=fp8"));
    EXPECT_THAT(named({configuration("L40S", {{"precision", "int4"}}, "1:1"),
                       configuration("H100", {}, "1:1"), configuration("H100", {}, "9:1")}),
                ElementsAre("L40S precision=int4", "H100, 1:1", "H100, 9:1"));
}

TEST(Labels, NameAnOptionOfTheWorkloadThatASweepVariedIfItsTitleDoesNotTellIt) {
    const auto cell = [](const std::string& temperature, const std::string& fingerprint) {
        LoadedRun loaded = run(1, "a");
        loaded.cell = {{"temperature", temperature}, {"isl", "128"}};
        loaded.result.workload.fingerprint = fingerprint;
        return loaded;
    };
    EXPECT_THAT(labels_of_groups({cell("0", "one"), cell("1", "two")}),
                ElementsAre(Labels{{"temperature", "0"}}, Labels{{"temperature", "1"}}));
}

TEST(Labels, TellRunsWhoseUsersHangUpFromOthers) {
    LoadedRun hanging_up = run(1, "b");
    hanging_up.result.plan["cancel"] = "p=.9,after=1s";
    EXPECT_THAT(labels_of_groups({run(1, "a"), hanging_up}),
                ElementsAre(Labels{}, Labels{{"cancel", "p=.9,after=1s"}}));
}

TEST(Labels, AreLeftOutWhereTheTextSaysThemAsAWordAndNumbersNever) {
    const Labels labels{{"kv", "f16"}, {"precision", "q4_1"}, {"threads", "2"}};
    EXPECT_EQ(text_of(labels), "kv=f16, precision=q4_1, threads=2");
    EXPECT_EQ(text_of(labels, "SmolLM2-135M q4_1 on AMD EPYC (2 cores)"), "kv=f16, threads=2");
    EXPECT_EQ(text_of(labels, "SmolLM2-135M bf16, q4_10, f16"), "precision=q4_1, threads=2");
}

}  // namespace
}  // namespace paretoken::reports
