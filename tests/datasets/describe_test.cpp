#include "datasets/describe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/error.h"
#include "core/random.h"
#include "datasets/catalog.h"
#include "datasets/files/seen_blocks.h"
#include "datasets/recognise.h"
#include "tests/datasets/temporary_file.h"
#include "tests/support/golden.h"

namespace paretoken::datasets {
namespace {

using paretoken::testing::TemporaryFile;

FileDescription described(std::string_view text) {
    const TemporaryFile file(text);
    return description_of(file.path(), row_format_of(parse_spec(guessed_format(file.path()))));
}

/// Returns the rows of Mooncake's synthetic trace from lines "LENGTH FIRST+COUNT …" with ranges of hash ids.
std::string mooncake_trace() {
    std::istringstream lines(paretoken::testing::golden("traces/mooncake_synthetic.txt"));
    std::string trace;
    int row = 0;
    for (std::string line; std::getline(lines, line); ++row) {
        std::istringstream words(line);
        std::int64_t length = 0;
        words >> length;
        std::string ids;
        for (std::string range; words >> range;) {
            const auto plus = range.find('+');
            const std::int64_t first = std::stoll(range.substr(0, plus));
            const std::int64_t count = plus == std::string::npos ? 1 : std::stoll(range.substr(plus + 1));
            for (std::int64_t id = first; id < first + count; ++id)
                ids += fmt::format("{}{}", ids.empty() ? "" : ",", id);
        }
        trace += fmt::format(R"({{"timestamp":{},"input_length":{},"output_length":10,"hash_ids":[{}]}})"
                             "\n",
                             row * 250, length, ids);
    }
    return trace;
}

TEST(Description, RefusesFieldsThatTheFormatDoesNotHave) {
    for (const char* format : {"custom", "sharegpt", "mooncake", "azure", "burstgpt", "log"})
        EXPECT_THROW(row_format_of(parse_spec(fmt::format("{}:blok=5", format))), UsageError) << format;
    EXPECT_THROW(row_format_of(parse_spec("mooncake:block=1.5")), UsageError);
    EXPECT_THROW(row_format_of(parse_spec("sharegpt:turns=1.5")), UsageError);
}

TEST(Description, OfMooncakesTraceFindsWhatAnInfiniteCacheWouldFind) {
    const FileDescription d = described(mooncake_trace());
    EXPECT_EQ(d.format, "mooncake");
    EXPECT_EQ(d.rows, 3993U);
    EXPECT_NEAR(d.block_hits.value_or(0), 0.6396, 5e-5);
    EXPECT_NEAR(d.token_hits.value_or(0), 0.6512, 5e-5);
    EXPECT_NEAR(d.input->mean * 3993, 61'194'628, 1);
    EXPECT_NEAR(d.requests_per_s->mean, 4, 0.01);
    EXPECT_EQ(d.requests_per_s->peak_second, 4);
    EXPECT_EQ(d.requests_per_s->peak_minute, 4);
}

TEST(Description, CountsTheTokensOfAHitOnlyAsFarAsThePromptGoes) {
    // Two blocks of 512 tokens, of which the second is not whole, and the same beginning once more.
    const FileDescription d = described(
        "{\"timestamp\":0,\"input_length\":600,\"output_length\":1,\"hash_ids\":[1,2]}\n"
        "{\"timestamp\":1,\"input_length\":600,\"output_length\":1,\"hash_ids\":[1,2]}\n"
        "{\"timestamp\":2,\"input_length\":800,\"output_length\":1,\"hash_ids\":[1,3]}\n");
    EXPECT_DOUBLE_EQ(d.block_hits.value_or(0), 3.0 / 6);
    EXPECT_DOUBLE_EQ(d.token_hits.value_or(0), (600.0 + 512) / 2000);
}

TEST(Description, CountsNoBlockBehindAnotherBeginningAsAHit) {
    const FileDescription d = described(
        "{\"timestamp\":0,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[100,7]}\n"
        "{\"timestamp\":1,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[101,7]}\n"
        "{\"timestamp\":2,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[102,7]}\n");
    EXPECT_EQ(d.block_hits, 0);
    EXPECT_EQ(d.token_hits, 0);
}

TEST(Description, KnowsABlockOnlyAsFarAsAPromptHadIt) {
    // The first prompt has 188 tokens of its second block, the second prompt has all of them.
    const FileDescription d = described(
        "{\"timestamp\":0,\"input_length\":700,\"output_length\":1,\"hash_ids\":[1,2]}\n"
        "{\"timestamp\":1,\"input_length\":1500,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
        "{\"timestamp\":2,\"input_length\":1536,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
        "{\"timestamp\":3,\"input_length\":1536,\"output_length\":1,\"hash_ids\":[1,2,3]}\n");
    EXPECT_DOUBLE_EQ(d.token_hits.value_or(0), (700.0 + 1500 + 1536) / (700 + 1500 + 1536 + 1536));
}

TEST(Description, HasLengthsRatesAndTheContextThatIsNeeded) {
    std::string rows = "Timestamp,Model,Request tokens,Response tokens\n";
    for (int i = 0; i < 100; ++i) rows += fmt::format("{},m,{},{}\n", i < 90 ? i : 90, i + 1, 50);
    const FileDescription d = described(rows);
    EXPECT_EQ(d.format, "burstgpt");
    EXPECT_NEAR(d.input->p50, 50.5, 1e-9);
    EXPECT_EQ(d.input->max, 100);
    EXPECT_EQ(d.output->p99, 50);
    EXPECT_EQ(d.seconds, 90);
    EXPECT_NEAR(d.requests_per_s->mean, 100 / 90.0, 1e-9);
    EXPECT_EQ(d.requests_per_s->peak_second, 10) << "the last ten came together";
    EXPECT_NEAR(d.requests_per_s->peak_minute, 1, 1e-9);
    EXPECT_NEAR(d.requests_per_s->peak_hour, 100 / 90.0, 1e-9);
    EXPECT_EQ(d.max_model_len, 179) << "p99 of the sum is 149.01";
    EXPECT_FALSE(d.block_hits);
}

TEST(Description, HasTheRateOfEachHourOfALog) {
    const auto with_end = [](int end_s) {
        std::string rows = "Timestamp,Model,Request tokens,Response tokens\n";
        for (int i = 0; i < 36; ++i) rows += fmt::format("{},m,10,5\n", i * 100);
        rows += "10799,m,10,5\n";
        for (int i = 0; i < 9; ++i) rows += fmt::format("{},m,10,5\n", 10800 + i * (end_s - 10800) / 8);
        return described(rows).hours;
    };
    EXPECT_EQ(with_end(12600), (std::vector{.01, 0.0, 1 / 3600.0, 9 / 1800.0})) << "half of the last hour";
    EXPECT_EQ(with_end(12500).size(), 3) << "too little of the last hour";
    EXPECT_TRUE(with_end(40'000'000).empty()) << "more than a year";
    EXPECT_TRUE(
        described("Timestamp,Model,Request tokens,Response tokens\n0,m,1,1\n90,m,1,1\n").hours.empty());
}

TEST(Description, CountsTheTurnsOfJobsAtTheirPauses) {
    std::string rows;
    for (int job = 0; job < 60; ++job) {
        rows += fmt::format(R"({{"session_id":"s{}","timestamp":{},"input_length":512,"output_length":10}})"
                            "\n",
                            job, job * 1000);
        for (int turn = 1; turn < 10; ++turn)
            rows += fmt::format(R"({{"session_id":"s{}","delay":100,"input_length":{},"output_length":10}})"
                                "\n",
                                job, 512 * (turn + 1));
    }
    const FileDescription d = described(rows);
    EXPECT_EQ(d.rows, 600U);
    EXPECT_NEAR(d.seconds.value_or(0), 59.9, 1e-6) << "the last job starts after 59 s and has 9 pauses";
    EXPECT_NEAR(d.requests_per_s->mean, 600 / 59.9, 1e-6);
    EXPECT_EQ(d.requests_per_s->peak_second, 10);
    EXPECT_NEAR(d.prompt_tokens_per_s->mean, 60 * 512 * 55 / 59.9, 1e-3);
}

TEST(Description, HasNoRatesOfJobsWithoutTimes) {
    const FileDescription d = described(
        "{\"job\":\"a\",\"conversation\":\"x\",\"input_tokens\":9,\"output_tokens\":3}\n"
        "{\"job\":\"a\",\"conversation\":\"x\",\"input_tokens\":9,\"output_tokens\":3,\"delay_s\":1}\n");
    EXPECT_EQ(d.jobs->turns, 2U);
    EXPECT_FALSE(d.requests_per_s);
    EXPECT_FALSE(d.seconds);
}

TEST(Description, LeavesOutWhatAFileDoesNotTell) {
    const FileDescription d =
        described("{\"prompt\":\"a\",\"output_tokens\":5}\n{\"prompt\":\"b\",\"output_tokens\":7}\n");
    EXPECT_EQ(d.format, "custom");
    EXPECT_FALSE(d.input);
    EXPECT_FALSE(d.total);
    EXPECT_FALSE(d.requests_per_s);
    EXPECT_FALSE(d.max_model_len);
    EXPECT_EQ(d.output->mean, 6);
}

TEST(Description, CountsRowsThatHoldNoRequest) {
    const FileDescription d = described(
        "Timestamp,Model,Request tokens,Response "
        "tokens\n5,m,472,18\n45,m,1087,230\n118,m,417,0\n185,m,1360,212\n");
    EXPECT_EQ(d.rows, 3U);
    EXPECT_EQ(d.output->max, 230);
    EXPECT_THAT(d.notes, ::testing::ElementsAre(::testing::HasSubstr("1 of 4 rows (25 %) left out")));
}

TEST(Description, AFileOfNoKnownFormatIsRefusedByName) {
    const TemporaryFile file("hello\n");
    EXPECT_THROW(guessed_format(file.path()), UsageError);
    EXPECT_THROW(guessed_format("/nowhere"), UsageError);
    try {
        guessed_format("columns:path=t.csv,prompt=question");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(),
                    ::testing::HasSubstr("give the file alone, and the other fields by --dataset columns:…"));
    }
}

TEST(SeenBlocks, AreThoseThatWereInserted) {
    SeenBlocks seen;
    std::set<std::uint64_t> expected;
    Random random(1);
    const auto name = [&](std::uint64_t kind) {
        const std::uint64_t number = random.below(3000);
        if (kind == 0) return UINT64_MAX - number / 1000;
        return kind == 1 ? number << 50 : number;
    };
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t one = name(random.below(3));
        ASSERT_EQ(seen.contains(one), expected.contains(one)) << one;
        if (random.below(4) == 0) {
            seen.insert(&one, &one + 1);
            expected.insert(one);
        }
    }
    seen = {};
    for (const std::uint64_t one : expected) ASSERT_FALSE(seen.contains(one));
}

}  // namespace
}  // namespace paretoken::datasets
