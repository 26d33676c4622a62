#include "reports/analysis/model/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/statistics.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

LoadedRun run(const Labels& metadata) {
    LoadedRun loaded{.directory = "runs/x", .result = sample::run(1)};
    loaded.result.provenance.metadata = metadata;
    return loaded;
}

TEST(Quality, IsReadFromAListOfScores) {
    const auto scores = parse_quality(
        R"([{"label": "precision=q8_0", "score": 0.61, "n": 500}, {"label": "precision=q4_1", "score": 0.4, "n": 50}])",
        "q.json");
    ASSERT_EQ(scores.size(), 2u);
    EXPECT_EQ(quality_of(run({{"precision", "q8_0"}}), scores)->score, 0.61);
    EXPECT_EQ(quality_of(run({{"precision", "q4_1"}}), scores)->n, 50);
    EXPECT_FALSE(quality_of(run({{"precision", "f16"}}), scores));
}

TEST(Quality, OfTheHarnessIsTheShareOverAllTasks) {
    const char* text =
        R"({"results": {"arc": {"acc,none": 0.5, "alias": "arc"}, "gsm8k": {"exact_match,strict-match": 0.8}},
        "n-samples": {"arc": {"original": 300, "effective": 300}, "gsm8k": {"original": 200, "effective": 100}}})";
    const auto scores = parse_quality(text, "r.json", {{"precision", "q8_0"}});
    ASSERT_EQ(scores.size(), 1u);
    EXPECT_DOUBLE_EQ(scores[0].score, (150 + 80) / 400.0);
    EXPECT_EQ(scores[0].n, 400);
    EXPECT_THAT([&] { parse_quality(text, "r.json"); },
                ThrowsMessage<UsageError>(HasSubstr("write LABEL=VALUE:r.json")));
}

TEST(Quality, FilesThatLackANumberAreRefusedByTheKey) {
    EXPECT_THAT([] { parse_quality(R"([{"label": "a=b", "score": 0.61}])", "q.json"); },
                ThrowsMessage<UsageError>(HasSubstr("q.json: [0]")));
    EXPECT_THAT([] { parse_quality(R"([{"label": "a=b", "score": 61, "n": 9}])", "q.json"); },
                ThrowsMessage<UsageError>(HasSubstr("a share of right answers from 0 to 1")));
    EXPECT_THAT([] { parse_quality(R"([{"label": "q8", "score": 0.6, "n": 9}])", "q.json"); },
                ThrowsMessage<UsageError>(HasSubstr("LABEL=VALUE")));
    for (const char* bad :
         {"[]", "{}", "7", R"({"results": {}, "n-samples": {}})", R"([{"label":"a=b","score":0.5,"n":0}])"})
        EXPECT_THROW(parse_quality(bad, "q.json", {{"a", "b"}}), UsageError) << bad;
}

TEST(Quality, ScoresForNoRunOrTwiceForOneAreRefused) {
    const std::vector<LoadedRun> runs{run({{"precision", "q8_0"}, {"threads", "2"}})};
    const auto scores = parse_quality(
        R"([{"label": "precision=q8_0", "score": 0.6, "n": 5}, {"label": "threads=2", "score": 0.4, "n": 5}])",
        "q.json");
    EXPECT_THAT([&] { quality_of(runs[0], scores); },
                ThrowsMessage<UsageError>(HasSubstr("are both for the run in")));
    EXPECT_THAT(
        [&] {
            refuse_unmatched(runs,
                             parse_quality(R"([{"label": "precision=q4", "score": 0.6, "n": 5}])", "q.json"));
        },
        ThrowsMessage<UsageError>(HasSubstr("--quality q.json: no run has precision=q4; the labels are")));
}

TEST(Quality, OfARunThatWasAskedQuestionsIsItsOwnUnlessAFileSaysOtherwise) {
    LoadedRun probed = run({{"precision", "q8_0"}});
    EXPECT_FALSE(quality_of(probed, {}));
    probed.result.quality =
        ProbeScore{.probe = "recall:ctx=4000,n=40", .score = .9, .n = 40, .ci95 = {.77, .96}};
    const auto own = quality_of(probed, {});
    ASSERT_TRUE(own);
    EXPECT_EQ(own->score, .9);
    EXPECT_EQ(own->n, 40);
    EXPECT_EQ(own->ci95, (Interval{.77, .96}));
    EXPECT_EQ(own->probe, "recall:ctx=4000,n=40");
    const auto scores = parse_quality(R"([{"label": "precision=q8_0", "score": 0.5, "n": 9}])", "q.json");
    EXPECT_EQ(quality_of(probed, scores)->score, .5);
}

TEST(Quality, IntervalIsWilsons) {
    const Interval half = wilson_interval(0.5, 100);
    EXPECT_NEAR(half.low, 0.4038, 1e-4);
    EXPECT_NEAR(half.high, 0.5962, 1e-4);
    EXPECT_NEAR(wilson_interval(1, 20).low, 0.8389, 1e-4);
    EXPECT_EQ(wilson_interval(0, 20).low, 0);
}

TEST(Quality, PrecisionIsTheNumberFormatsOfTheRun) {
    LoadedRun one = run({{"precision", "q8_0"}, {"threads", "2"}});
    EXPECT_EQ(precision_of(one, nullptr), "precision=q8_0");
    one.result.provenance.model_card = ModelCardNote{"c", "c", "int8", "f16", "0"};
    EXPECT_EQ(precision_of(one, nullptr), "kv=f16, precision=q8_0, weights=int8");
    const cards::ModelCard card = cards::model_card("llama-3.1-8b:weights=int4,kv=fp8");
    EXPECT_EQ(precision_of(run({}), &card), "kv=fp8, weights=int4");
}

}  // namespace
}  // namespace paretoken::reports
