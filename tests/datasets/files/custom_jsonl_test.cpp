#include "datasets/files/custom_jsonl.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "core/error.h"
#include "datasets/job.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using File = paretoken::testing::TemporaryFile;

std::unique_ptr<Dataset> dataset_of(std::string_view text, std::string_view spec = "custom") {
    const File file(text);
    return make_dataset({.spec = parse_spec(spec), .path = file.path()});
}

std::string refusal_of(std::string_view text, std::string_view spec = "custom") {
    try {
        dataset_of(text, spec);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(CustomJsonl, ReadsTimesInAnyUnitSince1970AndAsDates) {
    for (const char* const field :
         {"at_s\":0.5", "at_s\":1700000000.5", "at_s\":1700000000500", "at_s\":\"2023-11-14T22:13:20.5Z\"",
          "timestamp\":500", "timestamp\":1700000000500", "timestamp\":1700000000500000",
          "timestamp\":1700000000500000000", "timestamp\":\"1700000000500\""}) {
        const bool relative = std::string_view(field).size() < 16;
        const std::string first = std::string(field).substr(0, std::string_view(field).find(':') - 1) +
                                  (relative ? "\":0" : "\":\"2023-11-14 22:13:20\"");
        const auto dataset =
            dataset_of("{\"prompt\":\"a\",\"" + first + "}\n{\"prompt\":\"b\",\"" + field + "}");
        EXPECT_NEAR(seconds(*dataset->recorded_time(1)), .5, 1e-3) << field;
    }
    EXPECT_THAT(refusal_of(R"({"prompt":"a","at_s":"noon"})"), HasSubstr("date and time"));
    EXPECT_THAT(refusal_of(R"({"prompt":"a","timestamp":-1})"), HasSubstr("at least 0"));
}

TEST(CustomJsonl, SaysWhyARowIsNotJson) {
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\"},\n"), HasSubstr("no comma"));
    EXPECT_THAT(refusal_of("{\n\"prompt\":\"a\"\n}\n"), HasSubstr("jq -c ."));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"output_tokens\":NaN}\n"), HasSubstr("write null"));
    EXPECT_THAT(refusal_of("{'prompt':'a'}\n"), HasSubstr("double quotes"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"caf\xe9\"}\n"), HasSubstr("iconv"));
}

TEST(CustomJsonl, halves_of_surrogate_pairs_are_replaced) {
    const File file(R"({"prompt":"cut \ud83d"})"
                    "\n"
                    R"({"prompt":"\uDE00 \ud83d\ude00 \\ud83d"})"
                    "\n");
    const auto dataset = make_dataset({.spec = parse_spec("custom:osl=4"), .path = file.path()});
    EXPECT_EQ(dataset->request(0).prompt, Prompt("cut \ufffd"));
    EXPECT_EQ(dataset->request(1).prompt, Prompt("\ufffd \U0001F600 \\ud83d"));
}

TEST(CustomJsonl, messages_that_end_with_the_assistant_are_told) {
    const auto notes_of = [](std::string_view messages) {
        const File file(fmt::format("{{\"messages\":{}}}\n", messages));
        return make_dataset({.spec = parse_spec("custom:osl=4"), .path = file.path()})->notes();
    };
    const std::string user = R"({"role":"user","content":"a"})";
    const std::string reply = R"({"role":"assistant","content":"b")";
    EXPECT_THAT(notes_of("[" + user + "," + reply + "}]"),
                ::testing::ElementsAre(HasSubstr("1 of 1 rows end with a message of the assistant")));
    EXPECT_THAT(notes_of("[" + user + "," + reply + R"(,"prefix":true}])"), ::testing::IsEmpty())
        << "it is meant to be continued";
    EXPECT_THAT(notes_of("[" + user + "]"), ::testing::IsEmpty());
}

TEST(CustomJsonl, prompts_repeat_unless_they_are_salted_or_made_up) {
    const auto repeats_after = [](std::string_view rows, bool salt) {
        const File file(rows);
        return make_dataset({.spec = parse_spec("turns"), .path = file.path(), .salt_prompts = salt})
            ->repeats_after();
    };
    constexpr std::string_view kRows =
        "{\"prompt\":\"a\",\"output_tokens\":3}\n{\"prompt\":\"b\",\"output_tokens\":3}\n";
    EXPECT_EQ(repeats_after(kRows, false), 2U);
    EXPECT_EQ(repeats_after(kRows, true), std::nullopt);
    EXPECT_EQ(repeats_after(R"({"input_tokens":9,"output_tokens":3})", false), std::nullopt);
    EXPECT_EQ(repeats_after(R"({"input_tokens":9,"output_tokens":3,"hash_ids":[1],"block_tokens":16})", true),
              1U);
    EXPECT_EQ(repeats_after(R"({"job":"a","input_tokens":9,"output_tokens":3,"hash_ids":[1],)"
                            R"("block_tokens":16,"hash_scope":"job"})",
                            false),
              std::nullopt)
        << "each play of a job has blocks of its own";
    EXPECT_EQ(make_dataset({.spec = parse_spec("agents:jobs=2")})->repeats_after(), std::nullopt);
}

TEST(CustomJsonl, rows_with_equal_prompts_are_counted_unless_their_times_or_conversations_make_them_traffic) {
    const auto different = [](const std::string& further, std::string_view last = "a") {
        std::string rows;
        for (const std::string_view prompt : {std::string_view("a"), std::string_view("b"), last})
            rows += R"({"output_tokens":3,"prompt":")" + std::string(prompt) + "\"" + further + "}\n";
        const File file(rows);
        return make_dataset({.spec = parse_spec("custom"), .path = file.path()})->different_prompts();
    };
    EXPECT_EQ(different(""), 2U);
    EXPECT_EQ(different("", "c"), std::nullopt);
    EXPECT_EQ(different(R"(,"at_s":1)"), std::nullopt);
    EXPECT_EQ(different(R"(,"conversation":"x")"), std::nullopt);
}

/// A file of 20 rows, whose times under "timestamp" have this distance.
std::unique_ptr<Dataset> rows_in_time(std::string_view spec, double step) {
    std::string rows;
    for (int i = 0; i < 20; ++i)
        rows += fmt::format("{{\"input_tokens\":9,\"output_tokens\":3,\"prompt\":\"a\",\"timestamp\":{}}}\n",
                            i * step);
    return dataset_of(rows, spec);
}

TEST(CustomJsonl, times_that_may_be_seconds_are_told) {
    const auto whole = rows_in_time("turns", 2);
    EXPECT_THAT(whole->notes(), ::testing::ElementsAre(HasSubstr("read as milliseconds")));
    EXPECT_EQ(whole->recorded_time(19), std::chrono::milliseconds(38));
    EXPECT_THAT(rows_in_time("turns:unit=ms", 2)->notes(), ::testing::IsEmpty());
}

TEST(CustomJsonl, times_with_fractions_that_all_lie_within_a_second_as_milliseconds_are_seconds) {
    for (const std::string_view name : {"turns", "custom"}) {
        const auto fractions = rows_in_time(name, .5);
        EXPECT_EQ(fractions->recorded_time(19), std::chrono::milliseconds(9500)) << name;
        EXPECT_THAT(fractions->notes(),
                    ::testing::ElementsAre(
                        AllOf(HasSubstr("read as seconds"), HasSubstr("0.0095 s"), HasSubstr("unit=ms"))));
        const std::string stated(name);
        EXPECT_EQ(rows_in_time(stated + ":unit=ms", .5)->recorded_time(19), Duration(9'500'000)) << name;
        EXPECT_EQ(rows_in_time(stated + ":unit=s", 2)->recorded_time(19), std::chrono::seconds(38)) << name;
        EXPECT_EQ(rows_in_time(name, 100.5)->recorded_time(19), Duration(1'909'500'000))
            << name << " lasts more than a second";
    }
    EXPECT_THAT(refusal_of(R"({"prompt":"a"})", "custom:unit=min"),
                HasSubstr("unit=min is neither s nor ms"));
}

TEST(CustomJsonl, ReadsPromptsConversationsAndTokenIds) {
    const auto dataset = dataset_of(
        "{\"prompt\": \"h\\u00e9llo\", \"output_tokens\": 5, \"class\": \"batch\"}\n"
        "\r\n"
        "{\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"}, {\"role\": \"user\", "
        "\"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"text\", \"text\": \"b\"}]}]}\n"
        "{\"prompt\": [5, 6, 7]}");
    EXPECT_EQ(dataset->size(), 3u);
    EXPECT_EQ(dataset->request(0).prompt, Prompt("héllo"));
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 5);
    EXPECT_EQ(dataset->request(0).request_class, "batch");
    EXPECT_EQ(dataset->request(1).prompt,
              Prompt(Messages{{"system", "be brief"},
                              {"user", "ab", R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])"}}));
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, std::nullopt);
    EXPECT_EQ(dataset->request(2).prompt, Prompt(TokenIds{5, 6, 7}));
    EXPECT_EQ(dataset->request(2).wanted_input_tokens, 3);
}

TEST(CustomJsonl, KnowsTheLineOfTheFirstPromptOfTokenIds) {
    EXPECT_EQ(dataset_of("{\"prompt\":\"a\"}\n\n{\"prompt\":[5]}\n{\"prompt\":[6]}")->line_of_token_ids(),
              3U);
    EXPECT_EQ(dataset_of("{\"prompt\":\"a\"}\n")->line_of_token_ids(), std::nullopt);
}

TEST(CustomJsonl, ReadsAnArrayOfRowsAsOtherProgramsWriteIt) {
    const auto dataset = dataset_of(
        "[\n  {\n    \"prompt\": \"a\",\n    \"output_tokens\": 5.0\n  },\n"
        "  {\"prompt\": \"b\", \"max_tokens\": \"7\"}\n]\n");
    ASSERT_EQ(dataset->size(), 2U);
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 5);
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, 7);
    EXPECT_THAT(refusal_of(R"({"prompt": "a", "output_tokens": 5.5})"), HasSubstr("not a whole number"));
    EXPECT_THAT(refusal_of(R"({"prompt": "a", "output_tokens": "five"})"), HasSubstr("not a whole number"));
    EXPECT_THAT(refusal_of(R"({"prompt": "a", "output_tokens": 2000000000})"), HasSubstr("to 1e9"));
    EXPECT_THAT(refusal_of(R"({"prompt": "a", "output_tokens": -1})"), HasSubstr("not a whole number"));
}

TEST(CustomJsonl, RowsWithoutAPromptOrWithoutOutputAreLeftOutAndCounted) {
    const auto dataset = dataset_of(
        "{\"prompt\": null}\n{\"messages\": []}\n{\"messages\": null, \"prompt\": \"a\"}\n"
        "{\"prompt\": \"b\", \"output_tokens\": 0}\n{\"output_tokens\": 5}\n{\"prompt\": []}\n"
        "{\"text\": \"\"}\n{\"prompt\": \"\"}\n");
    ASSERT_EQ(dataset->size(), 1U);
    EXPECT_EQ(dataset->request(0).prompt, Prompt("a"));
    EXPECT_THAT(dataset->notes(), ::testing::UnorderedElementsAre(
                                      HasSubstr("6 of 8 rows (75 %) left out, for their prompt is empty"),
                                      HasSubstr("1 of 8 rows (12.5 %) left out, for they have 0 tokens")));
}

TEST(CustomJsonl, ReadsAPromptOfAnotherNameBesideMessagesThatAreNull) {
    EXPECT_EQ(dataset_of(R"({"messages": null, "text": "a"})")->request(0).prompt, Prompt("a"));
}

TEST(CustomJsonl, ReadsTimesModelsAndBodies) {
    const auto dataset = dataset_of(
        R"({"prompt": "a", "at_s": 3, "model": "lora-a", "body": {"tools": [{"type": "function"}], "seed": null}})"
        "\n"
        R"({"prompt": "b", "at_s": 4.5})");
    EXPECT_EQ(dataset->request(0).model, "lora-a");
    EXPECT_EQ(dataset->request(0).body, R"({"tools":[{"type":"function"}],"seed":null})");
    EXPECT_EQ(dataset->recorded_time(0), Duration{}) << "times count from the first row's";
    EXPECT_EQ(dataset->recorded_time(1), std::chrono::milliseconds(1500));
    EXPECT_EQ(dataset_of(R"({"prompt": "a"})")->recorded_time(0), std::nullopt);
}

TEST(CustomJsonl, RowsMayHaveSlosOfTheirOwn) {
    const auto dataset = dataset_of(
        R"({"prompt": "a", "slo": "ttft:500,tpot:20ms"})"
        "\n"
        R"({"prompt": "b"})"
        "\n"
        R"({"messages": [{"role": "user", "content": "c"}], "conversation": "x", "slo": "e2e:2s"})"
        "\n"
        R"({"messages": [{"role": "user", "content": "d"}], "conversation": "x", "slo": "e2e:1s"})");
    EXPECT_EQ(dataset->request(0).slo, "ttft:500 tpot:20ms");
    EXPECT_EQ(dataset->outline(0).slo, "ttft:500 tpot:20ms");
    EXPECT_EQ(dataset->request(1).slo, "");
    EXPECT_EQ(dataset->request(2).slo, "e2e:2s");
    EXPECT_EQ(dataset->follow_up(2, 1, {dataset->request(2).prompt, "reply"}).slo, "e2e:1s");
}

TEST(CustomJsonl, SlosThatCannotJudgeARequestAreRefusedByLine) {
    const auto refusal = [](std::string_view slo) {
        return refusal_of(fmt::format("{{\"prompt\":\"a\"}}\n{{\"prompt\":\"b\",\"slo\":{}}}\n", slo));
    };
    EXPECT_THAT(refusal("\"speed:5\""),
                AllOf(HasSubstr(":2: \"slo\""), HasSubstr("speed"), HasSubstr("ttft")));
    EXPECT_THAT(refusal("\"ttft\""), AllOf(HasSubstr(":2: \"slo\""), HasSubstr("TAG:LIMIT")));
    EXPECT_THAT(refusal("\"ttft_p95:500\""),
                AllOf(HasSubstr(":2: \"slo\""), HasSubstr("leave the _pNN out")));
    EXPECT_THAT(refusal("\"itl:5\""), AllOf(HasSubstr(":2: \"slo\""), HasSubstr("pooled")));
    EXPECT_THAT(refusal("\" \""), AllOf(HasSubstr(":2: \"slo\""), HasSubstr("no limit")));
    EXPECT_THAT(refusal("7"), HasSubstr(":2: \"slo\" is not text"));
    std::string many;
    for (int i = 1; i <= 1001; ++i) many += fmt::format("{{\"prompt\":\"a\",\"slo\":\"ttft:{}\"}}\n", i);
    EXPECT_THAT(refusal_of(many), AllOf(HasSubstr(":1001: "), HasSubstr("1000 different")));
}

TEST(CustomJsonl, PromptsTimesAndBodiesMayHaveTheNamesOfOtherPrograms) {
    const auto dataset = dataset_of(R"({"text": "a", "timestamp": 500, "extra": {"top_p": 0.9}})"
                                    "\n"
                                    R"({"question": "b", "timestamp": 2000})"
                                    "\n"
                                    R"({"turns": ["c", "d"], "timestamp": 2500})");
    EXPECT_EQ(dataset->request(0).prompt, Prompt("a"));
    EXPECT_THAT(dataset->request(0).body, HasSubstr("top_p"));
    EXPECT_EQ(dataset->request(1).prompt, Prompt("b"));
    EXPECT_EQ(dataset->recorded_time(1), std::chrono::milliseconds(1500)) << "timestamps are in ms";
    EXPECT_EQ(dataset->request(2).prompt, Prompt("c")) << "the first of several turns";
    EXPECT_THAT(dataset->notes(), ::testing::IsEmpty()) << "the fields have an effect";
    EXPECT_EQ(dataset_of(R"({"prompt": "p", "text": "t"})")->request(0).prompt, Prompt("p"));
    EXPECT_THAT(refusal_of(R"({"turns": [1]})"), HasSubstr("the first of the \"turns\" is not a text"));
}

TEST(CustomJsonl, TurnsAreWholeNumbers) {
    EXPECT_THAT(refusal_of(R"({"conversation": "a", "turn": 0.5, "prompt": "x"})"),
                HasSubstr(":1: \"turn\" is not a whole number"));
}

TEST(CustomJsonl, PartsOfAMessageGoOutAsTheyCame) {
    const auto dataset = dataset_of(
        R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,é"}}]}]})");
    EXPECT_EQ(std::get<Messages>(dataset->request(0).prompt).front().parts,
              R"([{"type":"image_url","image_url":{"url":"data:,é"}}])");
}

TEST(CustomJsonl, FieldsOfToolMessagesAreKept) {
    const auto dataset = dataset_of(
        R"({"messages": [{"role": "user", "content": "weather?"}, {"content": null, "role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "w", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "c1", "name": "w", "content": "rain"}]})");
    EXPECT_EQ(
        dataset->request(0).prompt,
        Prompt(Messages{
            {.role = "user", .content = "weather?"},
            {.role = "assistant",
             .content = "",
             .parts = "null",
             .fields = R"("tool_calls":[{"id":"c1","function":{"name":"w","arguments":"{\"a\": 1}"}}])"},
            {.role = "tool", .content = "rain", .fields = R"("tool_call_id":"c1","name":"w")"}}));
    EXPECT_THAT(dataset->notes(), ::testing::IsEmpty());
    EXPECT_THAT(refusal_of(R"({"messages": [{"role": "assistant", "content": null}]})"),
                HasSubstr("neither text nor a list of parts"));
    EXPECT_THAT(refusal_of(R"({"messages": [7]})"), HasSubstr("lacks \"role\""));
    EXPECT_EQ(refusal_of(R"({"messages": [{"role": "assistant", "tool_calls": []}]})"), "accepted");
}

TEST(CustomJsonl, TakesOtherNamesOfOutputTokens) {
    for (const char* name : {"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens",
                             "output_len", "output_length", "completion_tokens", "n_predict"}) {
        const auto dataset = dataset_of(fmt::format("{{\"prompt\":\"a\",\"{}\":7}}", name));
        EXPECT_EQ(dataset->request(0).wanted_output_tokens, 7) << name;
        EXPECT_THAT(dataset->notes(), ::testing::IsEmpty()) << name;
    }
    EXPECT_THAT(refusal_of(R"({"prompt": "a", "max_tokens": 7, "output_tokens": 8})"),
                AllOf(HasSubstr(":1: \"output_tokens\" is 8"), HasSubstr("\"max_tokens\" is 7")));
}

TEST(CustomJsonl, SaysThatAPauseIsVeryLong) {
    const auto notes = [](double second, double third) {
        return dataset_of(fmt::format(R"({{"job":"j","conversation":"a","prompt":"a"}}
{{"job":"j","conversation":"a","prompt":"b","delay_s":{}}}
{{"job":"j","conversation":"a","prompt":"c","tool_s":{}}})",
                                      second, third))
            ->notes();
    };
    EXPECT_THAT(notes(3600, 3599), ::testing::IsEmpty());
    EXPECT_THAT(notes(3601, 56048.7),
                ::testing::ElementsAre(AllOf(HasSubstr("2 of 3 rows have a pause of more than an hour"),
                                             HasSubstr("(first in line 2); the longest is 56049 s"),
                                             HasSubstr("unless --idle-cap cuts it"))));
}

TEST(CustomJsonl, SaysThatArgumentsOfToolsAreNotJson) {
    const auto notes = [](std::string_view arguments) {
        return dataset_of(
                   fmt::format(R"({{"messages":[{{"role":"user","content":"a"}},)"
                               R"({{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":)"
                               R"("function","function":{{"name":"ls","arguments":{}}}}}]}},)"
                               R"({{"role":"tool","tool_call_id":"c","content":"x"}}]}})",
                               arguments))
            ->notes();
    };
    EXPECT_THAT(notes(R"("{\"path\": \".\"}")"), ::testing::IsEmpty());
    EXPECT_THAT(notes(R"({"path": "."})"), ::testing::IsEmpty()) << "it is an object";
    for (const char* const broken : {R"("{\"path\": ")", R"("")", R"("path=.")"})
        EXPECT_THAT(notes(broken), ::testing::ElementsAre(HasSubstr("recorded arguments are not JSON")))
            << broken;
}

TEST(CustomJsonl, UnknownFieldsAreNamedOnce) {
    const auto dataset = dataset_of(
        "{\"prompt\":\"a\",\"id\":1}\n{\"prompt\":\"b\",\"id\":2,\"temprature\":0}\n"
        "{\"prompt\":\"c\",\"temprature\":0}\n");
    EXPECT_THAT(dataset->notes(), ::testing::ElementsAre(AllOf(HasSubstr("\"id\" (first in line 1)"),
                                                               HasSubstr("\"temprature\" (first in line 2)"),
                                                               HasSubstr("known are prompt, messages"))));
}

TEST(CustomJsonl, AreSaltedOnlyWhenAskedForAndKeepTheirLengths) {
    const File file(
        "{\"prompt\":\"tell me\"}\n{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n"
        "{\"prompt\":[5,6]}\n");
    const auto of_salt = [&](const std::string& salt, bool salt_prompts) {
        return make_dataset(
            {.spec = parse_spec("custom"), .salt = salt, .path = file.path(), .salt_prompts = salt_prompts});
    };
    EXPECT_EQ(of_salt("one", false)->request(0).prompt, Prompt("tell me"));
    const auto one = of_salt("one", true);
    const auto two = of_salt("two", true);
    const auto words = [](const Prompt& prompt) {
        const auto& text = std::get<std::string>(prompt);
        return std::count(text.begin(), text.end(), ' ');
    };
    EXPECT_NE(one->request(0).prompt, two->request(0).prompt);
    EXPECT_EQ(words(one->request(0).prompt), words(two->request(0).prompt));
    EXPECT_EQ(one->request(0).prompt, of_salt("one", true)->request(0).prompt);
    EXPECT_THAT(std::get<std::string>(one->request(0).prompt), ::testing::EndsWith(": tell me"));
    EXPECT_NE(std::get<Messages>(one->request(1).prompt).front().content, "hi");
    EXPECT_EQ(std::get<TokenIds>(one->request(2).prompt).size(), 6U);
    EXPECT_EQ(one->request(2).wanted_input_tokens, 6);
}

TEST(CustomJsonl, TheSaltOfAJobStandsBehindASystemPromptThatAllJobsOfAPassShare) {
    const std::string row =
        R"({"messages":[{"role":"system","content":"rules"},{"role":"user","content":"hi"}],)"
        R"("job":"J","conversation":"C","id":"T"})";
    std::string rows;
    for (const char* const job : {"a", "b"})
        for (const char* const agent : {"main", "helper"}) {
            std::string own = row;
            own.replace(own.find('J'), 1, job).replace(own.find("\"C\"") + 1, 1, agent);
            rows += own.replace(own.find("\"T\"") + 1, 1, agent) + "\n";
        }
    const File file(rows);
    const auto of_salt = [&](const std::string& salt) {
        return make_dataset(
            {.spec = parse_spec("custom"), .salt = salt, .path = file.path(), .salt_prompts = true});
    };
    const auto dataset = of_salt("one");
    const Prompt none = Messages{};
    const auto opening = [&](std::uint64_t play) {
        return std::get<Messages>(dataset->request(play).prompt);
    };
    const auto of_helper = [&](std::uint64_t play) {
        return std::get<Messages>(dataset->follow_up(play, 1, {.prompt = none, .reply = ""}).prompt);
    };
    EXPECT_THAT(opening(0)[0].content, ::testing::EndsWith(": rules"));
    EXPECT_THAT(opening(0)[1].content, ::testing::EndsWith(": hi"));
    EXPECT_EQ(opening(0), of_helper(0)) << "one salt for all agents of a play";
    EXPECT_EQ(opening(0)[0], opening(1)[0]) << "the jobs of a pass share the system prompt";
    EXPECT_NE(opening(0)[1], opening(1)[1]);
    EXPECT_NE(opening(0)[0], opening(2)[0]) << "the next pass has another one";
    EXPECT_NE(opening(0)[1], opening(2)[1]);
    EXPECT_NE(opening(0)[0], std::get<Messages>(of_salt("two")->request(0).prompt)[0]);
}

TEST(CustomJsonl, BeginsAgainAtTheEnd) {
    const auto dataset = dataset_of("{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n");
    EXPECT_EQ(dataset->request(5).prompt, Prompt("b"));
    EXPECT_EQ(dataset->request(5).index, 5u);
    EXPECT_NE(dataset->request(5).id, dataset->request(1).id);
}

TEST(CustomJsonl, OslFillsInWhatLinesDoNotSay) {
    const auto dataset =
        dataset_of("{\"prompt\":\"a\"}\n{\"prompt\":\"b\",\"output_tokens\":9}\n", "custom:osl=3");
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 3);
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, 9);
    EXPECT_EQ(dataset->mean_output_tokens(), 6);
}

TEST(CustomJsonl, RefusesAnOslThatNoLineNeeds) {
    EXPECT_THAT(refusal_of("{\"prompt\":\"b\",\"output_tokens\":9}\n", "custom:osl=3"),
                AllOf(StartsWith("--osl 3"), HasSubstr("no effect"), HasSubstr("leave it out")));
}

TEST(CustomJsonl, RefusesAnOslThatIsNoNumberOfTokens) {
    for (const char* osl : {"0", "1.5", "1e300", "uniform:min=1;max=9", "nan", ""})
        EXPECT_THAT(refusal_of("{\"prompt\":\"b\"}\n", fmt::format("custom:osl={}", osl)),
                    StartsWith(fmt::format("--osl {}", osl)));
}

TEST(CustomJsonl, AWrongLineIsNamed) {
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\"}\n{\"prompt\":\"b\"\n"), HasSubstr(":2: not JSON"));
    EXPECT_THAT(
        refusal_of("\n{\"words\":\"b\"}\n"),
        AllOf(HasSubstr("holds no requests"), HasSubstr("\"words\" (first in line 2); known are prompt")));
    EXPECT_THAT(refusal_of("[1]"), HasSubstr(":1: no JSON object"));
    EXPECT_THAT(refusal_of("prompt\nWhat is it?\n"), HasSubstr("--dataset columns:path="));
    EXPECT_THAT(refusal_of("{\"prompt\":7}"), HasSubstr("neither text nor token ids"));
    EXPECT_THAT(refusal_of("{\"prompt\":[]}"), HasSubstr("empty"));
    EXPECT_THAT(refusal_of("{\"prompt\":[-1]}"), HasSubstr("not a token id"));
    EXPECT_THAT(refusal_of("{\"messages\":[{\"content\":\"x\"}]}"), HasSubstr("lacks \"role\""));
    EXPECT_THAT(refusal_of("{\"messages\":[]}"), HasSubstr("empty"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"output_tokens\":-1}"), HasSubstr("\"output_tokens\""));
    EXPECT_THAT(refusal_of("\n\n"), HasSubstr("holds no requests"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"at_s\":2}\n{\"prompt\":\"a\",\"at_s\":1}"),
                HasSubstr(":2: the time goes back"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"at_s\":2}\n{\"prompt\":\"a\"}"), HasSubstr(":2: some rows"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"body\":[1]}"), HasSubstr(":1: \"body\" is not an object"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"model\":7}"), HasSubstr(":1: \"model\" is not text"));
}

TEST(CustomJsonl, AFileThatCannotBeReadIsNamed) {
    try {
        make_dataset({.spec = parse_spec("custom:path=/nowhere/at/all.jsonl")});
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("/nowhere/at/all.jsonl"));
    }
    EXPECT_THROW(make_dataset({.spec = parse_spec("custom:path=/tmp")}), UsageError);
    EXPECT_THROW(make_dataset({.spec = parse_spec("custom")}), UsageError);
}

TEST(CustomJsonl, content_follows_what_the_file_holds_and_not_its_name) {
    const std::string one = R"({"prompt": "a"})";
    EXPECT_EQ(dataset_of(one)->content().size(), 16U);
    EXPECT_EQ(dataset_of(one)->content(), dataset_of(one)->content());
    EXPECT_NE(dataset_of(one)->content(), dataset_of(R"({"prompt": "b"})")->content());
    EXPECT_EQ(make_dataset({.spec = parse_spec("synthetic")})->content(), "");
}

TEST(CustomJsonl, file_is_the_path_or_the_field_of_the_spec_and_must_be_given) {
    EXPECT_EQ(file_of(parse_spec("custom"), "a"), "a");
    EXPECT_EQ(file_of(parse_spec("custom:path=b"), ""), "b");
    EXPECT_EQ(file_of(parse_spec("synthetic"), ""), "");
    EXPECT_THROW(file_of(parse_spec("custom"), ""), UsageError);
    EXPECT_THROW(file_of(parse_spec("sonnet"), ""), UsageError);
}

constexpr std::string_view kTwoConversations =
    R"({"conversation": "a", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a0"}]}
{"prompt": "alone", "output_tokens": 9}
{"conversation": "b", "prompt": "b0"}
{"conversation": "a", "turn": 1, "messages": [{"role": "assistant", "content": "A0"}, {"role": "user", "content": "a1"}], "output_tokens": 7}
{"conversation": "b", "messages": [{"role": "assistant", "content": "B0"}, {"role": "user", "content": "b1"}]}
{"conversation": "a", "messages": [{"role": "assistant", "content": "A1"}, {"role": "user", "content": "a2"}]}
)";

TEST(CustomJsonl, RowsOfAConversationAreItsTurns) {
    const auto dataset = dataset_of(kTwoConversations);
    EXPECT_TRUE(dataset->has_conversations());
    EXPECT_TRUE(dataset->needs_replies());
    ASSERT_EQ(dataset->size(), 3U);
    EXPECT_EQ(dataset->turns(0), 3U);
    EXPECT_EQ(dataset->turns(1), 1U);
    EXPECT_EQ(dataset->turns(2), 2U);
    EXPECT_EQ(dataset->turns(3), 3U) << "past the end it begins again";
    EXPECT_EQ(dataset->request(1).prompt, Prompt("alone"));
    EXPECT_EQ(dataset->request(2).prompt, Prompt("b0"));
    const Prompt first = dataset->request(0).prompt;
    const Request second = dataset->follow_up(0, 1, {.prompt = first, .reply = "the server's"});
    EXPECT_EQ(second.prompt,
              Prompt(Messages{
                  {"system", "be brief"}, {"user", "a0"}, {"assistant", "the server's"}, {"user", "a1"}}));
    EXPECT_EQ(second.wanted_output_tokens, 7);
    const Request third = dataset->follow_up(0, 2, {.prompt = second.prompt, .reply = "again"});
    EXPECT_THAT(std::get<Messages>(third.prompt), ::testing::SizeIs(6));
    EXPECT_EQ(std::get<Messages>(third.prompt)[4], (Message{"assistant", "again"}));
    const Request of_text = dataset->follow_up(2, 1, {.prompt = Prompt("b0"), .reply = "B"});
    EXPECT_EQ(of_text.prompt, Prompt(Messages{{"user", "b0"}, {"assistant", "B"}, {"user", "b1"}}));
}

TEST(CustomJsonl, ConversationsGoOnFromRecordedReplies) {
    const File file(kTwoConversations);
    const auto dataset =
        make_dataset({.spec = parse_spec("custom"), .path = file.path(), .live_replies = false});
    EXPECT_FALSE(dataset->needs_replies());
    const Prompt unused;
    EXPECT_EQ(dataset->follow_up(0, 2, {.prompt = unused, .reply = {}}).prompt,
              Prompt(Messages{{"system", "be brief"},
                              {"user", "a0"},
                              {"assistant", "A0"},
                              {"user", "a1"},
                              {"assistant", "A1"},
                              {"user", "a2"}}));
}

TEST(CustomJsonl, RefusesConversationsThatCannotBeHeld) {
    const auto refusal = [](std::string_view text, bool live) {
        const File file(text);
        try {
            make_dataset({.spec = parse_spec("custom"), .path = file.path(), .live_replies = live});
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(
        refusal(
            R"({"conversation": "x", "messages": [{"role": "assistant", "content": "hm"}, {"role": "user", "content": "?"}]})",
            true),
        HasSubstr(":1: a follow-up of conversation 'x' without an opening"));
    EXPECT_THAT(
        refusal("{\"prompt\": \"a\"}\n{\"conversation\": \"x\", \"turn\": 2, \"prompt\": \"b\"}", true),
        HasSubstr(":2: a follow-up of conversation 'x' without an opening"));
    const std::string opened = "{\"conversation\": \"x\", \"prompt\": \"a\"}\n";
    EXPECT_THAT(refusal(opened + R"({"conversation": "x", "turn": 2, "prompt": "b"})", true),
                HasSubstr(":2: turn 2 of conversation 'x' comes where its turn 1 is due"));
    EXPECT_THAT(
        refusal(opened + R"({"conversation": "x", "messages": [{"role": "assistant", "content": "b"}]})",
                true),
        HasSubstr(":2: a follow-up of conversation 'x' without a message of the user's"));
    EXPECT_THAT(refusal(opened + R"({"conversation": "x", "prompt": [1, 2]})", true),
                HasSubstr("not of token ids"));
    EXPECT_EQ(refusal(opened + opened, true), "accepted");
    EXPECT_THAT(refusal(opened + opened, false), HasSubstr(":2: --replies recorded"));
}

// ---- jobs

/// A main agent that asks two helpers, the second of which is a fork, and concludes from both. The conclusion
/// stands before the helpers, and the rows of another job lie between them.
constexpr std::string_view kJob =
    R"({"job": "j", "conversation": "main", "id": "m0", "messages": [{"role": "user", "content": "plan"}], "output_tokens": 5}
{"job": "k", "prompt": "other job", "output_tokens": 5}
{"job": "j", "conversation": "main", "after": ["a0", "b1"], "delay_s": 0.5, "tool_s": 1.5, "messages": [{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "main.cpp"}], "output_tokens": 5}
{"job": "j", "conversation": "a", "id": "a0", "after": ["m0"], "prompt": "look left", "output_tokens": 5}
{"job": "j", "conversation": "b", "fork_of": "m0", "messages": [{"role": "user", "content": "look right"}], "output_tokens": 5}
{"job": "j", "conversation": "b", "id": "b1", "messages": [{"role": "user", "content": "and back"}], "output_tokens": 5}
{"job": "j", "conversation": "log", "after": ["m0"], "background": true, "prompt": "write it down", "output_tokens": 5}
)";

TEST(CustomJsonl, RowsOfAJobAreTurnsThatWaitForEachOther) {
    const auto dataset = dataset_of(kJob);
    EXPECT_TRUE(dataset->has_jobs());
    ASSERT_EQ(dataset->size(), 2U);
    ASSERT_EQ(dataset->turns(0), 6U);
    EXPECT_EQ(dataset->turns(1), 1U);
    const auto graph = dataset->job(0);
    const auto& turns = graph->turns;
    // m0, a0, b0, b1, the conclusion, log
    EXPECT_THAT(turns[4].after, ::testing::ElementsAre(0U, 1U, 3U));
    EXPECT_EQ(turns[4].history, 0U);
    EXPECT_EQ(turns[4].number, 1U);
    EXPECT_EQ(turns[4].delay, std::chrono::milliseconds(500));
    EXPECT_EQ(turns[4].tool, std::chrono::milliseconds(1500));
    EXPECT_EQ(turns[1].history, std::nullopt);
    EXPECT_EQ(turns[2].history, 0U);
    EXPECT_EQ(turns[3].history, 2U);
    EXPECT_TRUE(turns[5].background);
    EXPECT_EQ(turns[5].agent, 3U);
}

TEST(CustomJsonl, AForkContinuesTheHistoryAndASpawnStartsAfresh) {
    const auto dataset = dataset_of(kJob);
    const Prompt opening = dataset->request(0).prompt;
    const datasets::Said said{.prompt = opening, .reply = "planned"};
    EXPECT_EQ(dataset->follow_up(0, 2, said).prompt,
              Prompt(Messages{{"user", "plan"}, {"assistant", "planned"}, {"user", "look right"}}));
    EXPECT_EQ(dataset->follow_up(0, 1, {.prompt = {}, .reply = {}}).prompt, Prompt("look left"));
}

TEST(CustomJsonl, ToolMessagesAndCallsGoOutAsTheyCame) {
    const auto dataset = dataset_of(kJob);
    const Prompt opening = dataset->request(0).prompt;
    const Messages messages =
        std::get<Messages>(dataset->follow_up(0, 4, {.prompt = opening, .reply = "planned"}).prompt);
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[2].role, "tool");
    EXPECT_EQ(messages[2].content, "main.cpp");
    EXPECT_EQ(messages[2].fields, R"("tool_call_id":"c1","name":"ls")");
}

TEST(CustomJsonl, RefusesJobsThatCannotEnd) {
    const auto refusal = [](std::string_view text) {
        const File file(text);
        try {
            make_dataset({.spec = parse_spec("custom"), .path = file.path()});
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const std::string root = R"({"job": "j", "id": "r", "prompt": "a"})"
                             "\n";
    const auto with_root = [&](std::string_view rows) { return refusal(root + std::string(rows)); };
    EXPECT_THAT(with_root(R"({"job": "j", "conversation": "x", "after": ["nobody"], "prompt": "b"})"),
                HasSubstr(":2: \"after\" names 'nobody', which is no \"id\" of a turn of this job"));
    EXPECT_THAT(with_root(R"({"job": "k", "conversation": "x", "after": ["r"], "prompt": "b"})"),
                HasSubstr(":2: \"after\" names 'r', which is no \"id\" of a turn of this job"));
    EXPECT_THAT(with_root(R"({"job": "j", "conversation": "x", "id": "r", "prompt": "b"})"),
                HasSubstr(":2: \"id\" 'r' is that of an earlier turn too (line 1)"));
    EXPECT_THAT(with_root(R"({"job": "j", "fork_of": "r", "prompt": "b"})"),
                HasSubstr(":2: \"fork_of\" is for the first turn of an agent"));
    EXPECT_THAT(with_root(R"({"job": "j", "conversation": "x", "id": "x", "after": ["y"], "prompt": "b"}
{"job": "j", "conversation": "y", "id": "y", "after": ["x"], "prompt": "c"})"),
                HasSubstr(":2: the turn waits for a turn that waits for it"));
    EXPECT_THAT(refusal(R"({"job": "j", "id": "x", "after": ["x"], "prompt": "b"})"),
                HasSubstr(":1: every turn of the job waits for another one"));
    EXPECT_EQ(refusal(R"({"id": 7, "prompt": "b"})"), "accepted");
    EXPECT_THAT(refusal(R"({"id": "x", "after": [], "tool_s": 1, "prompt": "b"})"),
                HasSubstr(":1: the row has fields of a job, but"));
    EXPECT_THAT(with_root(R"({"job": "j", "after": "r", "prompt": "b"})"),
                HasSubstr(":2: \"after\" is not a list"));
    EXPECT_THAT(with_root(R"({"job": "j", "tool_s": -1, "prompt": "b"})"),
                HasSubstr(":2: \"tool_s\" is not a number of at least 0"));
    EXPECT_THAT(with_root(R"({"job": "j", "background": 1, "prompt": "b"})"),
                HasSubstr(":2: \"background\" is neither true nor false"));
    EXPECT_THAT(
        with_root(
            R"({"job": "j", "conversation": "x", "after": ["r"], "background": true, "id": "b", "prompt": "b"}
{"job": "j", "after": ["b"], "prompt": "c"})"),
        HasSubstr(":3: the turn waits for an agent of the background"));
}

TEST(CustomJsonl, OnlyTheFirstRowOfAJobHasATime) {
    const auto dataset = dataset_of(R"({"job": "a", "at_s": 5, "prompt": "a"}
{"job": "b", "at_s": 7, "prompt": "b"}
{"job": "a", "prompt": "a1"}
{"prompt": "alone", "at_s": 8}
)");
    ASSERT_EQ(dataset->size(), 3U);
    EXPECT_EQ(dataset->recorded_time(1), std::chrono::seconds(2));
    EXPECT_EQ(dataset->recorded_time(2), std::chrono::seconds(3));
    EXPECT_EQ(dataset->turns(0), 2U);
}

}  // namespace
}  // namespace paretoken::datasets
