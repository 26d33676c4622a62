#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "datasets/catalog.h"
#include "datasets/files/csv_row.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using paretoken::testing::TemporaryFile;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::unique_ptr<Dataset> dataset_of(std::string_view spec, std::string_view text,
                                    PromptForm form = PromptForm::token_ids) {
    const TemporaryFile file(text);
    return make_dataset({.spec = parse_spec(spec), .form = form, .path = file.path()});
}

std::string refusal_of(std::string_view spec, std::string_view text) {
    try {
        dataset_of(spec, text);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

const TokenIds& ids_of(const Request& request) {
    return std::get<TokenIds>(request.prompt);
}

std::size_t common_prefix(const TokenIds& a, const TokenIds& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

constexpr std::string_view kMooncake =
    R"({"timestamp": 500, "input_length": 1200, "output_length": 6, "hash_ids": [7, 8, 9]}
{"timestamp": 3500, "input_length": 1100, "output_length": 9, "hash_ids": [7, 8, 10]}
{"timestamp": 3500, "input_length": 600, "output_length": 1, "hash_ids": [11, 12]}
)";

TEST(Mooncake, EqualHashIdsAreEqualBlocksOfText) {
    const auto dataset = dataset_of("mooncake", kMooncake);
    EXPECT_EQ(dataset->size(), 3U);
    EXPECT_EQ(dataset->recorded_time(0), milliseconds(0));
    EXPECT_EQ(dataset->recorded_time(2), milliseconds(3000));
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, 9);
    EXPECT_EQ(ids_of(dataset->request(0)).size(), 1200U);
    EXPECT_EQ(ids_of(dataset->request(1)).size(), 1100U);
    const auto common = common_prefix(ids_of(dataset->request(0)), ids_of(dataset->request(1)));
    EXPECT_GE(common, 1024U);
    EXPECT_LT(common, 1030U);
    EXPECT_LT(common_prefix(ids_of(dataset->request(0)), ids_of(dataset->request(2))), 8U);
    EXPECT_EQ(dataset->outline(0).prompt, dataset->request(0).prompt);
}

TEST(Mooncake, RowsWithoutALengthOfTheirAnswersHaveTheGivenOne) {
    const auto dataset = dataset_of("mooncake:osl=16",
                                    "{\"timestamp\": 0, \"input_length\": 100, \"hash_ids\": [1]}\n"
                                    "{\"timestamp\": 5, \"input_length\": 100, \"output_length\": 7}\n");
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 16);
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, 7);
}

TEST(Mooncake, TextsShareTheWordsOfEqualBlocksAndHaveTheirLengths) {
    const auto dataset = dataset_of("mooncake:block=100", kMooncake, PromptForm::text);
    const auto one = std::get<std::string>(dataset->request(0).prompt);
    const auto two = std::get<std::string>(dataset->request(1).prompt);
    const auto same =
        static_cast<std::size_t>(std::mismatch(one.begin(), one.end(), two.begin()).first - one.begin());
    EXPECT_NEAR(
        static_cast<double>(std::count(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(same), ' ')),
        200, 3);
    EXPECT_EQ(std::count(one.begin(), one.end(), ' ') + 1, 1200) << "a word is a token here";
}

TEST(Mooncake, ATraceInSecondsWithBlocksOfOtherSizeIsRefusedWithTheFieldsThatReadIt) {
    std::string ids = "0";
    for (int i = 1; i < 33; ++i) ids += fmt::format(",{}", i);
    const auto trace = [&](std::string_view first, std::string_view last) {
        constexpr std::string_view kRow =
            "{{\"timestamp\": {}, \"input_length\": 521, \"output_length\": 4, \"hash_ids\": [{}]}}\n";
        return fmt::format(kRow, first, ids) + fmt::format(kRow, last, ids);
    };
    EXPECT_THAT(refusal_of("mooncake", trace("0.5", "2.75")),
                AllOf(HasSubstr(":1: 33 hash ids of 512 tokens do not fit a prompt of 521 tokens"),
                      HasSubstr("the time 0.5 is not"), HasSubstr("--dataset mooncake:block=16,unit=s")));
    EXPECT_THAT(refusal_of("mooncake:block=16", trace("1", "2.75")),
                AllOf(HasSubstr(":2: the time 2.75"), HasSubstr("--dataset mooncake:block=16,unit=s")));
    EXPECT_THAT(refusal_of("mooncake", trace("1", "2")),
                AllOf(HasSubstr("--dataset mooncake:block=16"), Not(HasSubstr("unit"))));
    const auto seconds = dataset_of("mooncake:block=16,unit=s", trace("0.5", "2.75"));
    EXPECT_EQ(seconds->recorded_time(1), milliseconds(2250));
    EXPECT_EQ(ids_of(seconds->request(0)).size(), 521U);
    EXPECT_EQ(dataset_of("mooncake:block=16,unit=ms", trace("0.5", "2.5"))->recorded_time(1),
              milliseconds(2));
    EXPECT_THAT(refusal_of("mooncake:unit=min", kMooncake),
                HasSubstr("unit=min is none of s, ms, us and ns"));
}

TEST(TokenTraces, HaveTheTimesAndLengthsOfTheirColumns) {
    const auto azure = dataset_of("azure",
                                  "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                  "2023-11-16 23:59:59.5000000,4808,10\n"
                                  "2023-11-17 00:00:01.2500000,110,27\n");
    EXPECT_EQ(azure->recorded_time(1), milliseconds(1750));
    EXPECT_EQ(ids_of(azure->request(0)).size(), 4808U);
    EXPECT_EQ(azure->request(1).wanted_output_tokens, 27);
    EXPECT_EQ(azure->mean_input_tokens(), 2459);
    const auto images =
        dataset_of("azure", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n5,2,48,10\n6,0,48,10\n");
    EXPECT_THAT(images->notes(),
                ::testing::ElementsAre(HasSubstr("1 of 2 rows have images, which are not sent")));

    const auto burst = dataset_of("burstgpt",
                                  "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                  "5,ChatGPT,472,18,490,Conversation log\n"
                                  "45,\"GPT-4, new\",1087,230,1317,Conversation log\n");
    EXPECT_EQ(burst->recorded_time(1), std::chrono::seconds(40));
    EXPECT_EQ(burst->request(1).wanted_input_tokens, 1087);

    const auto log = dataset_of(
        "log",
        "{\"prompt_tokens\": 20, \"completion_tokens\": 5, \"at\": \"2026-11-21T09:00:00Z\"}\n"
        "{\"prompt_tokens\": 30, \"completion_tokens\": 6, \"at\": \"2026-11-21T10:00:02+01:00\"}\n");
    EXPECT_EQ(log->recorded_time(1), std::chrono::seconds(2));
    EXPECT_EQ(log->request(0).wanted_input_tokens, 20);
}

TEST(TokenTraces, RefuseAnOslWhichTheirOwnLengthsWouldMakeUseless) {
    const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n5,4808,10\n";
    const std::string burst =
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Log\n";
    const std::string log = "{\"prompt_tokens\": 20, \"completion_tokens\": 5, \"at\": 1}\n";
    for (const auto& [spec, text] :
         {std::pair{"mooncake:osl=64", std::string(kMooncake)}, std::pair{"azure:osl=64", azure},
          std::pair{"burstgpt:osl=64", burst}, std::pair{"log:osl=64", log}})
        EXPECT_THAT(refusal_of(spec, text), AllOf(StartsWith("--osl 64"), HasSubstr("leave it out")));
}

TEST(TokenTraces, ThatAreWrongAreRefusedWithLineAndField) {
    const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    EXPECT_THAT(refusal_of("azure", header + "2023-11-16 -1:15:46,5,10\n"), HasSubstr("2023-11-16 -1:15:46"));
    EXPECT_THAT(refusal_of("azure", header + "2023-11-16 18:15:46,-1,10\n"),
                HasSubstr(":2: '-1' under 'ContextTokens'"));
    EXPECT_THAT(refusal_of("azure", header + "soon,5,10\n"), HasSubstr(":2: 'soon'"));
    EXPECT_THAT(refusal_of("azure", header + "2023-11-16 18:15:46,5\n"),
                HasSubstr(":2: the row has no field"));
    EXPECT_THAT(refusal_of("azure", "a,b\n1,2\n"), HasSubstr("no column 'TIMESTAMP'"));
    EXPECT_THAT(refusal_of("azure", header + "9,5,5\n8,5,5\n"), HasSubstr(":3: the time goes back"));
    EXPECT_THAT(refusal_of("azure", header), HasSubstr("holds no requests"));
    EXPECT_THAT(refusal_of("mooncake", "{\"timestamp\": 1, \"input_length\": -1, \"output_length\": 1}"),
                HasSubstr("\"input_length\""));
    EXPECT_THAT(refusal_of("mooncake:block=0", kMooncake), HasSubstr("block"));
    EXPECT_THAT(refusal_of("log", "{\"prompt_tokens\": 1, \"completion_tokens\": 2}"),
                HasSubstr("\"at\" (or"));
    EXPECT_THAT(refusal_of("sharegpt", "[{\"id\": 1}]"), HasSubstr("\"conversations\" is missing"));
}

TEST(Mooncake, TimesSince1970AreOfTheUnitThatTheyCanHave) {
    const auto trace = [](std::string_view first, std::string_view second) {
        return fmt::format(
            "{{\"timestamp\": {}, \"input_length\": 100, \"output_length\": 6, \"hash_ids\": [1]}}\n"
            "{{\"timestamp\": {}, \"input_length\": 100, \"output_length\": 6, \"hash_ids\": [2]}}\n",
            first, second);
    };
    const auto second_time = [&](std::string_view spec, std::string_view first, std::string_view second) {
        return dataset_of(spec, trace(first, second))->recorded_time(1);
    };
    EXPECT_EQ(second_time("mooncake", "1732700000000", "1732700000500"), milliseconds(500));
    EXPECT_THAT(refusal_of("mooncake", trace("1732700000", "1732700002")),
                AllOf(HasSubstr("seconds since 1970"), HasSubstr("mooncake:block=512,unit=s")));
    EXPECT_EQ(second_time("mooncake:unit=s", "1732700000", "1732700002"), std::chrono::seconds(2));
    EXPECT_THAT(refusal_of("mooncake", trace("1732700000000000", "1732700000500000")), HasSubstr("unit=us"));
    EXPECT_EQ(second_time("mooncake:unit=us", "1732700000000000", "1732700000500000"), milliseconds(500));
    EXPECT_THAT(refusal_of("mooncake", trace("1732700000000000000", "1732700000500000000")),
                HasSubstr("unit=ns"));
    EXPECT_EQ(second_time("mooncake", "\"500\"", "\"1500\""), std::chrono::seconds(1)) << "numbers as texts";
}

TEST(Mooncake, RowsThatFollowEachOtherFasterThanRealOnesAreTold) {
    const auto notes = [](std::string_view spec, int step) {
        std::string rows;
        for (int i = 0; i < 20; ++i)
            rows += fmt::format(
                "{{\"timestamp\": {}, \"input_length\": 100, \"output_length\": 6, \"hash_ids\": [{}]}}\n",
                step * i, i);
        return dataset_of(spec, rows)->notes();
    };
    EXPECT_THAT(notes("mooncake", 2),
                ElementsAre(HasSubstr("20 rows in 0.038 s: times were read as milliseconds")));
    EXPECT_THAT(notes("mooncake:unit=ms", 2), ElementsAre());
    EXPECT_THAT(notes("mooncake:unit=s", 2), ElementsAre());
    EXPECT_THAT(notes("mooncake", 100), ElementsAre());
    EXPECT_THAT(notes("mooncake", 0), ElementsAre());
}

TEST(Mooncake, AsManyIdsMustBeThereAsThePromptNeeds) {
    const auto row = [](int tokens, std::string_view ids) {
        return fmt::format("{{\"timestamp\": 0, \"input_length\": {}, \"output_length\": 6{}}}\n", tokens,
                           ids);
    };
    EXPECT_THAT(
        refusal_of("mooncake", row(1024, ", \"hash_ids\": [1]") + row(4096, ", \"hash_ids\": [1, 2, 3, 4]")),
        AllOf(HasSubstr(":2: 4 hash ids of 512 tokens do not fit a prompt of 4096"),
              HasSubstr("block=1024")));
    // Blocks of 256 tokens, the next power of two above 645 / 5, are too large for 5 ids.
    for (const char* const dataset : {"mooncake", "mooncake:block=256"})
        EXPECT_THAT(refusal_of(dataset, row(645, ", \"hash_ids\": [1, 2, 3, 4, 5]")),
                    AllOf(HasSubstr("no power of two does"), HasSubstr("block=TOKENS")));
    EXPECT_EQ(refusal_of("mooncake", row(1000, ", \"hash_ids\": [1]")), "accepted")
        << "the last block is not whole";
    EXPECT_EQ(refusal_of("mooncake:block=512", row(9000, ", \"hash_ids\": [1]")), "accepted")
        << "as was stated";
    const auto lengths = dataset_of("mooncake", row(700, "") + row(800, ", \"hash_ids\": null"));
    EXPECT_EQ(ids_of(lengths->request(1)).size(), 800U);
    EXPECT_LT(common_prefix(ids_of(lengths->request(0)), ids_of(lengths->request(1))), 8U);
}

TEST(TokenTraces, TimesSince1970InMillisecondsAreNoSeconds) {
    const auto azure = dataset_of("azure",
                                  "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                  "1700158546680,374,44\n1700158550990,396,109\n");
    EXPECT_NEAR(seconds(*azure->recorded_time(1)), 4.31, 1e-6);
    const auto log =
        dataset_of("log",
                   "[{\"at\": 1732700000000000, \"prompt_tokens\": 5, \"completion_tokens\": 6},\n"
                   " {\"at\": 1732700001000000, \"prompt_tokens\": 5, \"completion_tokens\": 6}]");
    EXPECT_EQ(log->recorded_time(1), std::chrono::seconds(1)) << "microseconds, in an array";
    EXPECT_EQ(seconds_of_number(86400), 86400);
    EXPECT_EQ(seconds_of_number(1.7e18), 1.7e9);
}

TEST(TokenTraces, TablesMayHaveSemicolonsAndEmptyFields) {
    const auto azure =
        dataset_of("azure",
                   "TIMESTAMP;ContextTokens;GeneratedTokens\n"
                   "2023-11-16 18:15:46;374;44\n2023-11-16 18:15:47;374;\n2023-11-16 18:15:48;396;5\n");
    ASSERT_EQ(azure->size(), 2U);
    EXPECT_EQ(azure->request(1).wanted_input_tokens, 396);
    EXPECT_THAT(azure->notes(),
                ElementsAre(HasSubstr("1 of 3 rows (33.3 %) left out, for they have 0 tokens")));
}

TEST(Log, HasTheTimesOfSeveralProgramsNames) {
    for (const char* const name : {"at", "timestamp", "startTime", "created"}) {
        const auto log = dataset_of(
            "log",
            fmt::format(R"({{"{0}": "2026-01-01T00:00:00.5Z", "prompt_tokens": 10, "completion_tokens": 5}}
{{"{0}": "2026-01-01T00:00:02Z", "prompt_tokens": 10, "completion_tokens": 5}})",
                        name));
        EXPECT_EQ(log->recorded_time(1), std::chrono::milliseconds(1500)) << name;
    }
    EXPECT_THAT(refusal_of("log", R"({"prompt_tokens": 10, "completion_tokens": 5})"),
                HasSubstr("--dataset columns:input_tokens=prompt_tokens"));
}

TEST(ShareGpt, SpeakersMayHaveRolesAndOtherSpellings) {
    const auto dataset = dataset_of(
        "sharegpt",
        R"([{"conversations": [{"role": "user", "content": "one?"}, {"role": "assistant", "content": "1"}]},
 {"conversations": [{"role": "user", "value": "two?"}, {"role": "assistant", "value": "2"}]},
 {"conversations": [{"from": "Human", "value": "three?"}, {"from": "GPT", "value": "3"}]},
 {"conversations": [{"from": "human", "value": null}, {"from": "gpt", "value": "4"}]},
 {"conversations": null}])");
    ASSERT_EQ(dataset->size(), 3U);
    EXPECT_EQ(dataset->request(0).prompt, Prompt(Messages{{"user", "one?"}}));
    EXPECT_EQ(dataset->request(1).prompt, Prompt(Messages{{"user", "two?"}}));
    EXPECT_EQ(dataset->request(2).prompt, Prompt(Messages{{"user", "three?"}}));
    EXPECT_THAT(dataset->notes(), ElementsAre(HasSubstr("2 of 5 rows (40 %) left out")));
}

TEST(ShareGpt, RowsWithoutAMessageOfTheHumanAreLeftOutAndCounted) {
    const auto dataset = dataset_of("sharegpt",
                                    R"([{"conversations": []},
 {"conversations": [{"from": "gpt", "value": "the rest of it"}]},
 {"conversations": [{"from": "human", "value": "one?"}, {"from": "gpt", "value": "1"}]},
 {"conversations": []},
 {"conversations": [{"from": "human", "value": "two?"}, {"from": "gpt", "value": "2"}]}])");
    ASSERT_EQ(dataset->size(), 2U);
    EXPECT_EQ(dataset->request(0).prompt, Prompt(Messages{{"user", "one?"}}));
    EXPECT_EQ(dataset->request(1).prompt, Prompt(Messages{{"user", "two?"}}));
    EXPECT_THAT(dataset->notes(),
                ElementsAre(HasSubstr("3 of 5 rows (60 %) left out, for they have no message of the human's "
                                      "(first in line 1)")));
    EXPECT_THAT(refusal_of("sharegpt", R"([{"conversations": []}])"),
                AllOf(HasSubstr("holds no requests"), HasSubstr("1 of 1 rows")));
}

TEST(ShareGpt, EmptyMessagesOfTheHumanAreLeftOutWithTheirAnswers) {
    const auto dataset =
        dataset_of("sharegpt:turns=4,osl=8",
                   R"([{"conversations": [{"from": "human", "value": ""}, {"from": "gpt", "value": "1"}]},
 {"conversations": [{"from": "human", "value": ""}, {"from": "gpt", "value": "1"}, {"from": "human", "value": "a"},
  {"from": "gpt", "value": "2"}, {"from": "human", "value": ""}, {"from": "gpt", "value": "3"},
  {"from": "human", "value": "b"}]}])");
    ASSERT_EQ(dataset->size(), 1U);
    ASSERT_EQ(dataset->turns(0), 2U);
    const Request opening = dataset->request(0);
    EXPECT_EQ(opening.prompt, Prompt(Messages{{"user", "a"}}));
    EXPECT_EQ(dataset->follow_up(0, 1, {opening.prompt, "2"}).prompt,
              Prompt(Messages{{"user", "a"}, {"assistant", "2"}, {"user", "b"}}));
    EXPECT_THAT(dataset->notes(),
                ElementsAre(HasSubstr("1 of 2 rows (50 %) left out, for they have no message")));
}

TEST(TokenTraces, FailedRequestsWithoutTokensAreLeftOutAndCounted) {
    std::string text = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n";
    for (int i = 0; i < 40; ++i) text += fmt::format("{},,1,m,{},{}\n", i, 10 + i, i == 2 ? 0 : 5);
    const auto dataset = dataset_of("burstgpt", text);
    ASSERT_EQ(dataset->size(), 39U);
    EXPECT_EQ(dataset->request(2).wanted_input_tokens, 13) << "the row behind the one that is left out";
    EXPECT_EQ(dataset->recorded_time(2), std::chrono::seconds(3));
    EXPECT_EQ(dataset->mean_output_tokens(), 5);
    EXPECT_THAT(dataset->notes(), ElementsAre(HasSubstr("1 of 40 rows left out, for they have 0 tokens")));
    const auto log = dataset_of("log",
                                "{\"prompt_tokens\": 20, \"completion_tokens\": 0, \"at\": 1}\n"
                                "{\"prompt_tokens\": 30, \"completion_tokens\": 6, \"at\": 2}\n"
                                "{\"prompt_tokens\": null, \"completion_tokens\": null, \"at\": 3}\n");
    EXPECT_EQ(log->size(), 1U);
    EXPECT_THAT(log->notes(),
                ElementsAre(HasSubstr("2 of 3 rows (66.7 %) left out, for they have 0 tokens")));
    EXPECT_THAT(refusal_of("log", "{\"prompt_tokens\": 20, \"at\": 1}\n"), HasSubstr("is missing"));
    EXPECT_EQ(log->request(0).wanted_input_tokens, 30);
    EXPECT_THAT(refusal_of("azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n5,0,10\n"),
                AllOf(HasSubstr("holds no requests"), HasSubstr("0 tokens")));
}

TEST(ShareGpt, AsksWhatTheHumanSaidFirst) {
    const auto dataset = dataset_of(
        "sharegpt:osl=64",
        R"([{"id": "a", "conversations": [{"from": "human", "value": "why?"}, {"from": "gpt", "value": "so"}]},
            {"id": "b", "conversations": [{"from": "system", "value": "be brief"}, {"from": "human", "value": "hi"}]}])");
    EXPECT_EQ(dataset->size(), 2U);
    EXPECT_EQ(dataset->request(0).prompt, Prompt(Messages{{"user", "why?"}}));
    EXPECT_EQ(dataset->request(1).prompt, Prompt(Messages{{"system", "be brief"}, {"user", "hi"}}));
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 64);
}

TEST(ShareGpt, WantsAnswersAsLongAsTheRecordedOnes) {
    const std::string answer(1203, 'a');
    const auto dataset = dataset_of(
        "sharegpt:turns=2",
        fmt::format(
            R"([{{"conversations": [{{"from": "human", "value": "u0"}}, {{"from": "gpt", "value": "{}"}},
                                   {{"from": "gpt", "value": "another"}}, {{"from": "human", "value": "u1"}},
                                   {{"from": "gpt", "value": "ok"}}, {{"from": "human", "value": "u2"}},
                                   {{"from": "gpt", "value": "not a turn"}}]}},
                {{"conversations": [{{"from": "human", "value": "unanswered"}}]}}])",
            answer));
    const Request opening = dataset->request(0);
    EXPECT_EQ(opening.wanted_output_tokens, 300);
    EXPECT_EQ(dataset->follow_up(0, 1, {.prompt = opening.prompt, .reply = "live"}).wanted_output_tokens, 1);
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, 128);
    EXPECT_EQ(dataset->mean_output_tokens(), (300 + 1 + 128) / 3.0);
}

TEST(ShareGpt, SaysThatImagesAreNotSent) {
    EXPECT_THAT(dataset_of("sharegpt", R"([{"conversations": [{"from": "human", "value": "<image> What?"}],
                                            "image": "a.jpg"}])")
                    ->notes(),
                ElementsAre(AllOf(HasSubstr("have no effect"), HasSubstr("\"image\""))));
}

TEST(ShareGpt, HasAsManyTurnsOfAConversationAsAreWanted) {
    constexpr std::string_view kFile =
        R"([{"conversations": [{"from": "human", "value": "u0"}, {"from": "gpt", "value": "r0"},
                               {"from": "human", "value": "u1"}, {"from": "gpt", "value": "r1"},
                               {"from": "human", "value": "u2"}]},
            {"conversations": [{"from": "human", "value": "alone"}, {"from": "gpt", "value": "r"}]}])";
    EXPECT_FALSE(dataset_of("sharegpt", kFile)->has_conversations());
    const auto dataset = dataset_of("sharegpt:turns=2,osl=64", kFile);
    EXPECT_EQ(dataset->turns(0), 2U);
    EXPECT_EQ(dataset->turns(1), 1U);
    const Prompt opening = dataset->request(0).prompt;
    EXPECT_EQ(opening, Prompt(Messages{{"user", "u0"}}));
    const Request second = dataset->follow_up(0, 1, {.prompt = opening, .reply = "live"});
    EXPECT_EQ(second.prompt, Prompt(Messages{{"user", "u0"}, {"assistant", "live"}, {"user", "u1"}}));
    EXPECT_EQ(second.wanted_output_tokens, 64);
    const paretoken::testing::TemporaryFile file(kFile);
    const auto recorded =
        make_dataset({.spec = parse_spec("sharegpt:turns=9"), .path = file.path(), .live_replies = false});
    EXPECT_EQ(recorded->turns(0), 3U);
    EXPECT_EQ(recorded->follow_up(0, 2, {.prompt = opening, .reply = {}}).prompt,
              Prompt(Messages{
                  {"user", "u0"}, {"assistant", "r0"}, {"user", "u1"}, {"assistant", "r1"}, {"user", "u2"}}));
}

TEST(SecondsOfTime, ReadsNumbersDatesAndOffsets) {
    EXPECT_EQ(seconds_of_time("12.5"), 12.5);
    EXPECT_EQ(seconds_of_time("1970-01-02 00:00:01.25"), 86401.25);
    EXPECT_EQ(seconds_of_time("1970-01-01T01:00:00+01:00"), 0);
    EXPECT_EQ(seconds_of_time("2024-02-29T00:00:00Z"), 1709164800);
    EXPECT_EQ(seconds_of_time("2024-02-29 00:00:00 UTC"), 1709164800);
    EXPECT_EQ(seconds_of_time("1970-01-01T01:00:00+0100"), 0);
    for (const char* text : {"", "-1", "nan", "2023-02-29 00:00:00", "2023-01-01 24:00:00", "2023-01-01",
                             "2023-01-01 00:00:00 PST"})
        EXPECT_EQ(seconds_of_time(text), std::nullopt) << text;
}

TEST(SharedPrefix, PromptsOfAGroupBeginAlikeAndEndDifferently) {
    const auto dataset =
        make_dataset({.spec = parse_spec("shared_prefix:groups=4,levels=100;50,unique=20,osl=8"),
                      .form = PromptForm::token_ids});
    std::size_t all = 0;
    std::size_t outer = 0;
    for (std::uint64_t i = 1; i <= 400; ++i) {
        const auto common = common_prefix(ids_of(dataset->request(0)), ids_of(dataset->request(i)));
        EXPECT_EQ(ids_of(dataset->request(i)).size(), 170U);
        EXPECT_LT(common, 160U) << "the last 20 are its own";
        all += common >= 150 ? 1U : 0U;
        outer += common >= 100 ? 1U : 0U;
    }
    EXPECT_NEAR(static_cast<double>(outer), 100, 30) << "one of 4 groups";
    EXPECT_NEAR(static_cast<double>(all), 25, 18) << "and of 4 more within it";
    EXPECT_EQ(dataset->mean_input_tokens(), 170);
}

TEST(SharedPrefix, GroupsAreAsUnevenAsZipfSays) {
    const auto dataset =
        make_dataset({.spec = parse_spec("shared_prefix:groups=100,levels=10,unique=5,zipf=1.1"),
                      .form = PromptForm::token_ids});
    std::map<std::int32_t, int> groups;
    for (std::uint64_t i = 0; i < 2000; ++i) ++groups[ids_of(dataset->request(i)).front()];
    int most = 0;
    for (const auto& [first, requests] : groups) most = std::max(most, requests);
    EXPECT_NEAR(most, 2000 / 4.28, 100);  // 1 / Σ k^-1.1 over 100 ranks
    for (const char* spec : {"shared_prefix:groups=0", "shared_prefix:levels=0", "shared_prefix:levels=a",
                             "shared_prefix:depth=2"})
        EXPECT_THROW(make_dataset({.spec = parse_spec(spec)}), UsageError) << spec;
}

}  // namespace
}  // namespace paretoken::datasets
