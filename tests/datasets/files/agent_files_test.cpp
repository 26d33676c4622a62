// The formats of jobs of agents, on a sample of each: jobs, waits and pauses as each of them states them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "core/random.h"
#include "datasets/catalog.h"
#include "datasets/files/turn_file.h"
#include "datasets/recognise.h"
#include "tests/datasets/temporary_file.h"
#include "tests/support/golden.h"

namespace paretoken::datasets {
namespace {

using paretoken::testing::golden;
using paretoken::testing::TemporaryFile;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A file, opened in the format that its content is recognised as.
struct Opened {
    explicit Opened(std::string_view text, const std::string& spec = "")
        : kept(text),
          dataset(parse_spec(spec.empty() ? guessed_format(kept.path()) : spec)),
          format(row_format_of(dataset)),
          file(kept.path(), format, false, [](const Row&, const RowPlace&) {}) {}

    TemporaryFile kept;
    Spec dataset;
    RowFormat format;
    TurnFile file;
};

Opened sample(const std::string& name) {
    return Opened(golden("agents/" + name));
}

std::string refusal(std::string_view text, const std::string& spec = "") {
    try {
        const Opened opened(text, spec);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(AgentFiles, WekaTimesOfASubAgentCountFromItsStartAndTheMainAgentWaitsForItsEnd) {
    const Opened weka = sample("weka.json");
    EXPECT_EQ(weka.dataset.name, "weka");
    ASSERT_EQ(weka.file.jobs().size(), 1U);
    const auto& turns = weka.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 4U);
    EXPECT_THAT(turns[1].after, ElementsAre(0U));
    EXPECT_EQ(turns[1].agent, 1U);
    EXPECT_EQ(turns[1].delay, milliseconds(500)) << "at 3.0 s, after an answer that ended at 2.5 s";
    EXPECT_THAT(turns[2].after, ElementsAre(1U));
    EXPECT_EQ(turns[2].tool, milliseconds(3000)) << "at 7.5 s, after an answer that ended at 4.5 s";
    EXPECT_THAT(turns[3].after, ElementsAre(0U, 2U));
    EXPECT_EQ(turns[3].tool, milliseconds(500)) << "at 9.5 s, after the sub-agent's end at 9.0 s";
    EXPECT_EQ(turns[3].history, std::nullopt) << "the prompt is stated as a whole";
    const Row last = weka.file.turn(0, 3);
    EXPECT_EQ(last.input_tokens, 384);
    EXPECT_EQ(last.output_tokens, 60);
    EXPECT_THAT(last.blocks, ElementsAre(1U, 2U, 3U, 4U, 5U, 6U));
    EXPECT_EQ(last.block_tokens, 64);
    EXPECT_THAT(weka.file.notes(), ElementsAre(HasSubstr("count from the start of the sub-agent")));
}

/// A job with one sub-agent, whose request is at `t`.
std::string weka_job(double t, std::string_view more = "") {
    return fmt::format(
        R"({{"id": "w", "block_size": 64, "requests": [
 {{"t": 0, "in": 64, "out": 4, "hash_ids": [1], "api_time": 1}},
 {{"t": 10, "type": "subagent", "agent_id": "a", "duration_ms": 4000, "status": "completed"{}, "requests": [
  {{"t": {}, "in": 64, "out": 4, "hash_ids": [9], "api_time": 1}}]}},
 {{"t": 30, "in": 128, "out": 4, "hash_ids": [1, 2], "api_time": 1}}]}})",
        more, t);
}

TEST(AgentFiles, WekaTimesFromTheJobsStartAreRecognisedAndSaid) {
    const Opened weka(weka_job(11.5));
    EXPECT_EQ(weka.file.jobs().graph(0)->turns[1].delay, milliseconds(10500));
    EXPECT_THAT(weka.file.notes(), ElementsAre(HasSubstr("count from the start of the job")));
    const Opened relative(weka_job(1.5));
    EXPECT_EQ(relative.file.jobs().graph(0)->turns[1].delay, milliseconds(10500));
    EXPECT_THAT(refusal(weka_job(1.5), "weka:t=job"),
                HasSubstr(":1: a request of the sub-agent that starts at"));
    EXPECT_THAT(refusal(weka_job(1.5), "weka:t=x"), HasSubstr("t=x is neither agent nor job"));
}

TEST(AgentFiles, ASubAgentThatWasLaunchedAndLeftIsOneOfTheBackground) {
    std::string text = weka_job(1.5);
    text.replace(text.find("\"completed\""), 11, "\"async_launched\"");
    const Opened weka(text);
    const auto& turns = weka.file.jobs().graph(0)->turns;
    EXPECT_TRUE(turns[1].background);
    EXPECT_THAT(turns[2].after, ElementsAre(0U));
}

TEST(AgentFiles, FlatWekaRowsThatOverlapAreDividedByTheirPromptsAndThatIsSaid) {
    const Opened weka(R"({"id": "f", "block_size": 64, "requests": [
 {"t": 0, "in": 64, "out": 4, "hash_ids": [1], "api_time": 2},
 {"t": 3, "in": 64, "out": 4, "hash_ids": [7], "api_time": 4},
 {"t": 4, "in": 128, "out": 4, "hash_ids": [1, 2], "api_time": 1},
 {"t": 8, "in": 128, "out": 4, "hash_ids": [7, 8], "api_time": 1},
 {"t": 12, "in": 192, "out": 4, "hash_ids": [1, 2, 3], "api_time": 1}]})");
    const auto& turns = weka.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 5U);
    EXPECT_EQ(turns[1].agent, 1U);
    EXPECT_THAT(turns[1].after, ElementsAre(0U));
    EXPECT_EQ(turns[1].delay, milliseconds(1000));
    EXPECT_THAT(turns[2].after, ElementsAre(0U));
    EXPECT_EQ(turns[2].agent, 0U);
    EXPECT_THAT(turns[3].after, ElementsAre(1U));
    EXPECT_THAT(turns[4].after, ElementsAre(2U, 3U)) << "the first turn after the end of the other agent";
    EXPECT_THAT(weka.file.notes().back(), HasSubstr("1 of 1 rows state no sub-agents"));
}

TEST(AgentFiles, WhatIsWrongInAWekaJobIsNamed) {
    const auto of_ids = [](const std::string& ids) {
        return refusal(R"({"id": "a", "requests": [{"t": 0, "in": 128, "out": 5)" + ids + "}]}", "weka");
    };
    EXPECT_EQ(of_ids(R"(, "hash_ids": [18446744073709551615, 0])"), "accepted");
    for (const std::string ids : {"[1.5]", "[-1]", "[1,,2]", "[1 2]", "[184467440737095516159]", "[[1]]"})
        EXPECT_THAT(of_ids(R"(, "hash_ids": )" + ids), HasSubstr("\"hash_ids\" holds something")) << ids;
    for (const std::string ids : {"", R"(, "hash_ids": "x")", R"(, "hash_ids": {})"})
        EXPECT_THAT(of_ids(ids), HasSubstr("\"hash_ids\" is not a list")) << ids;
    EXPECT_THAT(refusal(R"({"id": "a", "requests": [3]})", "weka"), HasSubstr("a request is not an object"));
    EXPECT_THAT(refusal(R"({"id": "a", "requests": 3})", "weka"), HasSubstr("\"requests\" is not a list"));
    EXPECT_THAT(refusal(R"({"id": "a"})", "weka"), HasSubstr("\"requests\" is not a list"));
    EXPECT_THAT(refusal(R"({"id": "a", "requests": [{"t": 1, "type": "subagent", "requests": [
                    {"t": 1, "type": "subagent", "requests": []}]}]})",
                        "weka"),
                HasSubstr("only one level is read"));
}

TEST(AgentFiles, AWekaContextMayShrinkAndItsIdsHoldForOneJobAndOnePlay) {
    const TemporaryFile file(R"({"id": "a", "block_size": 64, "requests": [
 {"t": 0, "in": 192, "out": 9, "hash_ids": [1, 2, 3], "api_time": 2},
 {"t": 5, "in": 100, "out": 4, "hash_ids": [1, 5], "api_time": 2}]}
{"id": "b", "block_size": 64, "requests": [{"t": 0, "in": 64, "out": 4, "hash_ids": [1], "api_time": 2}]})");
    const auto dataset = make_dataset({.spec = parse_spec("weka"), .path = file.path()});
    ASSERT_EQ(dataset->size(), 2U);
    const auto ids = [&](std::uint64_t job, std::uint32_t turn) {
        const Request request = turn == 0
                                    ? dataset->outline(job)
                                    : dataset->outline_of_follow_up(job, turn, {.prompt = {}, .reply = {}});
        return std::get<TokenIds>(request.prompt);
    };
    const auto front = [](TokenIds tokens, std::size_t count) {
        tokens.resize(count);
        return tokens;
    };
    EXPECT_EQ(ids(0, 0).size(), 192U);
    EXPECT_EQ(ids(0, 1).size(), 100U);
    EXPECT_EQ(front(ids(0, 0), 64), front(ids(0, 1), 64)) << "equal ids are equal text";
    EXPECT_NE(front(ids(0, 0), 70), front(ids(0, 1), 70));
    EXPECT_NE(front(ids(0, 0), 64), ids(1, 0)) << "ids are local to a job";
    EXPECT_NE(ids(0, 1), ids(2, 1)) << "and to one play of it";
}

TEST(AgentFiles, AgenticMooncakeStatesWaitsForRequestsByTheirIds) {
    const Opened file = sample("agentic_mooncake.jsonl");
    EXPECT_EQ(file.dataset.name, "agentic_mooncake");
    ASSERT_EQ(file.file.jobs().size(), 1U);
    const auto& turns = file.file.jobs().graph(0)->turns;
    EXPECT_THAT(turns[3].after, ElementsAre(0U, 1U, 2U));
    EXPECT_EQ(turns[3].delay + turns[3].tool, milliseconds(1510));
    EXPECT_EQ(turns[1].delay, milliseconds(20));
    EXPECT_EQ(turns[1].agent, 1U);
    EXPECT_THAT(
        refusal(
            R"({"request_id": "r1", "session_id": "s", "wait_for": ["r9"], "input_length": 8, "output_length": 1, "hash_ids": []})"),
        HasSubstr(":1: \"wait_for\" names 'r9', which is no \"request_id\" of a turn of this file"));
}

TEST(AgentFiles, SessionsOfMooncakeAreConversationsWithPauses) {
    const Opened file = sample("mooncake_session.jsonl");
    EXPECT_EQ(file.dataset.name, "mooncake_session");
    ASSERT_EQ(file.file.jobs().size(), 2U);
    const auto lengths = file.file.jobs().graph(0);
    EXPECT_EQ(lengths->turns[1].delay, milliseconds(1200));
    EXPECT_EQ(lengths->turns[1].history, std::nullopt);
    EXPECT_EQ(file.file.jobs().graph(1)->turns[1].history, 0U) << "a delta continues the history";
    EXPECT_EQ(file.file.recorded_time(1), milliseconds(500));
    EXPECT_THAT(refusal(golden("agents/mooncake_session.jsonl"), "mooncake"),
                HasSubstr("--dataset mooncake_session"));
    EXPECT_EQ(sample("mooncake.jsonl").dataset.name, "mooncake");
}

TEST(AgentFiles, RowsOfMlperfAreMessagesWhoseAnswersAreRecorded) {
    const TemporaryFile file(golden("agents/mlcommons_agentic.jsonl"));
    const auto dataset =
        make_dataset({.spec = parse_spec("mlperf_agentic"), .path = file.path(), .live_replies = false});
    EXPECT_EQ(usual_replies(parse_spec("mlperf_agentic")), "recorded");
    ASSERT_EQ(dataset->size(), 1U);
    ASSERT_EQ(dataset->turns(0), 2U);
    EXPECT_EQ(dataset->job(0)->turns[1].tool, milliseconds(1200));
    const Request request = dataset->follow_up(0, 1, {.prompt = {}, .reply = {}});
    const Messages messages = std::get<Messages>(request.prompt);
    ASSERT_EQ(messages.size(), 5U);
    EXPECT_EQ(messages[0].role, "system");
    EXPECT_THAT(messages[2].fields, HasSubstr(R"("reasoning_content":"List it.")"));
    EXPECT_THAT(messages[2].fields, HasSubstr(R"("tool_calls":[{"id":"c1")"));
    EXPECT_EQ(messages[3].fields, R"("tool_call_id":"c1")");
    EXPECT_EQ(messages[4].content, "12 main.cpp") << "two results in one row are two messages";
    EXPECT_THAT(request.body, HasSubstr("\"tools\""))
        << "the tools of the first row go out with each request";
    EXPECT_EQ(guessed_format(file.path()), "mlperf_agentic");
    EXPECT_THAT(refusal(R"({"conversation_id": "c", "turn": 1, "role": "assistant", "content": "x"})"),
                HasSubstr(":1: an answer of the assistant's opens conversation 'c'"));
    EXPECT_THAT(refusal(R"({"conversation_id": "c", "turn": 1, "role": "bot", "content": "x"})"),
                HasSubstr(":1: \"role\" is 'bot'"));
}

TEST(AgentFiles, DagJsonlStatesSpawnsWithJoinsAndForks) {
    const Opened file = sample("aiperf_dag.jsonl");
    EXPECT_EQ(file.dataset.name, "dag_jsonl");
    ASSERT_EQ(file.file.jobs().size(), 2U);
    const auto& job = file.file.jobs().graph(0)->turns;
    ASSERT_EQ(job.size(), 6U);  // two turns of the job, left, two of right, and the conclusion
    EXPECT_THAT(job[1].after, ElementsAre(0U)) << "the turn between goes on meanwhile";
    EXPECT_EQ(job[1].delay, milliseconds(500));
    EXPECT_THAT(job[5].after, ElementsAre(1U, 2U, 4U)) << "the join is two turns later";
    EXPECT_EQ(job[5].history, 1U);
    EXPECT_EQ(job[2].history, std::nullopt);
    const auto& forks = file.file.jobs().graph(1)->turns;
    EXPECT_EQ(forks[1].history, 0U);
    EXPECT_FALSE(forks[1].background);
    EXPECT_TRUE(forks[2].background);
    const std::string turn = R"({"messages": [{"role": "user", "content": "x"}])";
    EXPECT_THAT(refusal("{\"session_id\": \"s\", \"turns\": [" + turn + ", \"forks\": [\"t\"]}]}"),
                HasSubstr("names the agent 't', of which the job has no turn"));
    EXPECT_THAT(
        refusal("{\"session_id\": \"s\", \"turns\": [" + turn + ", \"forks\": [\"t\"]}, " + turn + "}]}"),
        HasSubstr("a turn follows one with a fork"));
    EXPECT_THAT(refusal("{\"session_id\": \"s\", \"turns\": [" + turn +
                        ", \"spawns\": [{\"children\": [\"t\"], \"join_at\": 7}]}]}"),
                HasSubstr("\"join_at\" is 7, but the agent has 1 turns"));
    EXPECT_THAT(refusal("{\"session_id\": \"s\", \"rounds\": 3, \"turns\": [" + turn + "}]}"),
                HasSubstr("\"rounds\" is not read"));
}

TEST(AgentFiles, TurnsOfAiperfsMultiTurnAreTextsBehindAMessageOfTheSystem) {
    const Opened file(
        R"({"session_id": "a", "turns": [{"role": "system", "text": "be brief"}, {"text": "why?"}, )"
        R"({"text": "and then?", "delay": 50, "output_length": 7}]})");
    ASSERT_EQ(file.file.jobs().size(), 1U);
    const auto& turns = file.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 2U) << "what the system says is no turn";
    EXPECT_EQ(turns[1].delay, milliseconds(50));
    EXPECT_EQ(*file.file.turn(0, 0).prompt, Prompt(Messages{{.role = "system", .content = "be brief"},
                                                            {.role = "user", .content = "why?"}}));
    EXPECT_EQ(file.file.turn(0, 1).output_tokens, 7);
}

TEST(AgentFiles, ChatSpansAreTurnsThatWaitForTheToolCallsInTheirPrompts) {
    const Opened otel = sample("otel_spans.json");
    EXPECT_EQ(otel.dataset.name, "otel_spans");
    ASSERT_EQ(otel.file.jobs().size(), 1U);
    const auto& turns = otel.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_THAT(turns[1].after, ElementsAre(0U));
    EXPECT_NEAR(seconds(turns[1].tool), 1.2, 1e-6) << "two tools overlap; the longer one takes 1.2 s";
    EXPECT_NEAR(seconds(turns[1].delay), 0, 1e-6);
    EXPECT_EQ(turns[1].history, std::nullopt) << "the prompt is recorded as a whole";
    const Row second = otel.file.turn(0, 1);
    EXPECT_EQ(second.output_tokens, 8);
    const auto& messages = std::get<Messages>(*second.prompt);
    ASSERT_EQ(messages.size(), 4U);
    EXPECT_EQ(messages[1].parts, "null");
    EXPECT_THAT(messages[1].fields, HasSubstr(R"("id":"c1","type":"function","function":{"name":"ls")"));
    EXPECT_THAT(messages[1].fields, HasSubstr(R"("arguments":"{\"path\":\"src\"}")"));
    EXPECT_EQ(
        messages[2],
        (Message{.role = "tool", .content = "main.cpp", .parts = {}, .fields = R"("tool_call_id":"c1")"}))
        << "the conventions' name of a result";
    EXPECT_EQ(messages[3].content, "guide.md") << "another name of it";
    EXPECT_THAT(otel.file.turn(0, 0).body, HasSubstr("\"tools\":[{"));
    EXPECT_THAT(otel.file.notes(), IsEmpty()) << "no edge was guessed";
}

/// A span from `start` to `end` seconds after ten.
std::string span(const std::string& id, const std::string& parent, int start, int end,
                 const std::string& attributes) {
    return fmt::format(
        R"({{"span_id": "{}", "parent_span_id": "{}", "start_time": "2026-08-01T10:00:{:02}Z",)"
        R"( "end_time": "2026-08-01T10:00:{:02}Z", "attributes": {{{}}}}})",
        id, parent, start, end, attributes);
}

/// The attributes of a chat. `results` are the calls whose results its prompt holds, `calls` those in its
/// answer.
std::string chat(const std::vector<std::string>& results, const std::vector<std::string>& calls,
                 const std::string& said = "", const std::string& answer = "") {
    std::string input = R"({"role": "user", "content": "begin"})";
    if (!said.empty()) input += fmt::format(R"(, {{"role": "assistant", "content": "{}"}})", said);
    for (const std::string& id : results)
        input += fmt::format(R"(, {{"role": "tool", "tool_call_id": "{}", "content": "found"}})", id);
    std::string parts = answer.empty() ? "" : fmt::format(R"({{"type": "text", "content": "{}"}})", answer);
    for (const std::string& id : calls)
        parts += fmt::format(R"({}{{"type": "tool_call", "id": "{}", "name": "f", "arguments": {{}}}})",
                             parts.empty() ? "" : ", ", id);
    return fmt::format(
        R"("gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 5, "gen_ai.input.messages": [{}], )"
        R"("gen_ai.output.messages": [{{"role": "assistant", "parts": [{}]}}])",
        input, parts);
}

std::string tool(const std::string& call) {
    return fmt::format(R"("gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "{}")", call);
}

std::string session(const std::vector<std::string>& spans) {
    return fmt::format(R"({{"trace_id": "t", "spans": [{}]}})", fmt::join(spans, ", "));
}

TEST(AgentFiles, ChatsInsideToolsAreSubAgentsThatTheCallStartsAndTheResultJoins) {
    const Opened otel(
        session({span("m1", "", 0, 2, chat({}, {"a", "b"})), span("ta", "", 2, 9, tool("a")),
                 span("a1", "ta", 3, 5, chat({}, {}, "", "one")),
                 span("a2", "ta", 6, 8, chat({}, {}, "one", "two")), span("tb", "", 2, 6, tool("b")),
                 span("b1", "tb", 3, 5, chat({}, {})), span("m2", "", 10, 12, chat({"a", "b"}, {}))}));
    const auto& turns = otel.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 5U) << "m1, a1, b1, a2, m2 in the order of their starts";
    EXPECT_THAT(turns[1].after, ElementsAre(0U));
    EXPECT_EQ(turns[1].delay, milliseconds(1000));
    EXPECT_THAT(turns[2].after, ElementsAre(0U));
    EXPECT_THAT(turns[3].after, ElementsAre(1U));
    EXPECT_THAT(turns[4].after, ElementsAre(0U, 1U, 2U, 3U));
    EXPECT_EQ(turns[4].tool, milliseconds(1000))
        << "of the two seconds after the sub-agent, the tool took one";
    EXPECT_EQ(turns[4].delay, milliseconds(1000));
    EXPECT_EQ(turns[4].agent, turns[0].agent);
    EXPECT_EQ(turns[3].agent, turns[1].agent);
    EXPECT_NE(turns[1].agent, turns[0].agent);
    EXPECT_NE(turns[1].agent, turns[2].agent);
    EXPECT_THAT(otel.file.notes(), IsEmpty());
}

TEST(AgentFiles, SpansHaveSystemInstructionsAndTellOfPartsThatAreNotSent) {
    const std::string system =
        R"("gen_ai.system_instructions": "[{\"type\": \"text\", \"content\": \"be brief\"}]", )";
    const Opened plain(session({span("x", "", 0, 2, system + chat({}, {}))}));
    EXPECT_EQ(plain.file.turn(0, 0).prompt, Prompt(Messages{{"system", "be brief"}, {"user", "begin"}}));
    EXPECT_THAT(plain.file.notes(), IsEmpty());
    const Opened blob(session({span(
        "x", "", 0, 2,
        R"("gen_ai.operation.name": "generate_content", "gen_ai.input.messages": [{"role": "user", "parts": )"
        R"([{"type": "text", "content": "see"}, {"type": "blob", "modality": "image", "content": "iVBO"}]}])")}));
    EXPECT_EQ(blob.file.turn(0, 0).prompt, Prompt(Messages{{"user", "see"}}));
    EXPECT_THAT(blob.file.notes(), ElementsAre(HasSubstr("neither texts nor tool calls")));
}

TEST(AgentFiles, SpansThatFailedAreLeftOutInEverySpellingOfTheirStatus) {
    for (const char* const status :
         {R"({"code": 2})", R"({"code": "ERROR"})", R"({"code": "STATUS_CODE_ERROR"})",
          R"({"status_code": "ERROR", "description": "x"})", R"("ERROR")"}) {
        const std::string failed = span("y", "", 3, 4, chat({}, {}));
        const Opened otel(
            session({span("x", "", 0, 2, chat({}, {})),
                     fmt::format(R"({}, "status": {}}})", failed.substr(0, failed.size() - 1), status)}));
        EXPECT_EQ(otel.file.jobs().graph(0)->turns.size(), 1U) << status;
        EXPECT_THAT(otel.file.notes(), ElementsAre(HasSubstr("for they failed"))) << status;
    }
}

TEST(AgentFiles, TimesOfSpansMayBeNumbersAndOtherFormsOfMessagesAreNamed) {
    const auto at = [](const char* start, const char* end, const std::string& attributes) {
        return fmt::format(R"({{"span_id": "{}", "start_time": {}, "end_time": {}, "attributes": {}}})",
                           start, start, end, attributes);
    };
    const std::string attributes = "{" + chat({}, {}) + "}";
    for (const auto& [first, second] :
         {std::pair{at("1785578400000000000", "1785578402000000000", attributes),
                    at("1785578405000000000", "1785578406000000000", attributes)},
          std::pair{at("1785578400.0", "1785578402.0", attributes),
                    at("1785578405.0", "1785578406.0", attributes)}}) {
        const Opened otel(session({first, second}));
        EXPECT_EQ(otel.file.jobs().graph(0)->turns[1].delay, milliseconds(3000));
    }
    EXPECT_THAT(refusal(session({span(
                    "x", "", 0, 2, R"("gen_ai.operation.name": "chat", "gen_ai.prompt.0.content": "hi")")})),
                AllOf(HasSubstr("gen_ai.prompt.0.content"), HasSubstr("gen_ai.input.messages")));
}

TEST(AgentFiles, ChatsThatNothingConnectsFollowTheOneBeforeAndThatIsSaid) {
    const Opened otel(session({span("x", "", 0, 2, chat({}, {})), span("y", "", 5, 6, chat({}, {})),
                               span("z", "", 5, 7, chat({}, {}))}));
    const auto& turns = otel.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 3U);
    EXPECT_THAT(turns[1].after, ElementsAre(0U));
    EXPECT_EQ(turns[1].delay, milliseconds(3000));
    EXPECT_THAT(turns[2].after, ElementsAre(0U)) << "it overlaps with y";
    EXPECT_THAT(otel.file.notes(), ElementsAre(HasSubstr("follow the chat that ended last before them")));
}

TEST(AgentFiles, SpansWithoutContentsTimesOrSuccessAreRefusedOrLeftOut) {
    EXPECT_THAT(refusal(session({span("x", "", 0, 2, R"("gen_ai.operation.name": "chat")")})),
                HasSubstr("lacks \"gen_ai.input.messages\"; its exporter must record contents"));
    EXPECT_THAT(refusal(R"({"trace_id": "t", "spans": [{"span_id": "x", "start_time": "soon"}]})"),
                HasSubstr("\"start_time\" of a span is no time"));
    EXPECT_THAT(refusal(R"({"trace_id": "t", "spans": 3})"), HasSubstr("\"spans\" is not a list"));
    EXPECT_THAT(refusal(R"({"resourceSpans": []})"), HasSubstr("an OTLP export"));
    std::string failed = span("x", "", 0, 2, chat({}, {}));
    failed.insert(1, R"("status": {"code": 2}, )");
    const Opened some(session({failed, span("y", "", 3, 4, chat({}, {}))}));
    EXPECT_EQ(some.file.jobs().size(), 1U);
    EXPECT_EQ(some.file.jobs().turns(0), 1U);
    EXPECT_THAT(refusal(session({failed})), HasSubstr("no chat spans that succeeded"));
}

/// A row of a Mooncake trace with `fields` besides its lengths.
std::string trace_row(const std::string& fields, int output = 4) {
    return fmt::format(R"({{{}, "input_length": 600, "output_length": {}, "hash_ids": [0, 1]}})", fields,
                       output) +
           "\n";
}

TEST(AgentFiles, FieldsOfMooncakeHaveDynamosOtherNames) {
    const Opened session(
        R"({"session_id": "a", "created_time": 500, "input_tokens": 600, "output_tokens": 4, "hash_ids": [0, 1]})"
        "\n" +
        trace_row(R"("session_id": "a", "delay_ms": 7000)"));
    EXPECT_EQ(session.dataset.name, "mooncake_session");
    EXPECT_EQ(session.file.turn(0, 0).input_tokens, 600);
    EXPECT_EQ(session.file.turn(0, 0).at_s, .5);
    EXPECT_EQ(session.file.jobs().graph(0)->turns[1].delay, milliseconds(7000));
    EXPECT_THAT(session.file.notes(), IsEmpty());
    EXPECT_THAT(refusal(trace_row(R"("session_id": "a", "delay": 1, "delay_ms": 1)")),
                HasSubstr(":1: \"delay\" and \"delay_ms\" are names of one field"));
}

TEST(AgentFiles, LaterTurnsOfASessionWaitForTheTimeBetweenTheRowsIfTheyStateNoPause) {
    const Opened file(trace_row(R"("session_id": "a", "timestamp": 1000)") +
                      trace_row(R"("session_id": "a", "timestamp": 9000)") +
                      trace_row(R"("session_id": "a", "timestamp": 9500, "delay": 0)"));
    const auto& turns = file.file.jobs().graph(0)->turns;
    EXPECT_EQ(turns[1].delay, milliseconds(8000));
    EXPECT_EQ(turns[2].delay, milliseconds(0)) << "the pause is stated";
    EXPECT_THAT(file.file.notes(), ElementsAre(HasSubstr("1 later turn has a time and no pause")));
    EXPECT_THAT(refusal(trace_row(R"("session_id": "a", "timestamp": 9000)") +
                        trace_row(R"("session_id": "a", "timestamp": 1)")),
                HasSubstr(":2: the time goes back from 9 s"));
    EXPECT_THAT(
        refusal(trace_row(R"("session_id": "a")") + trace_row(R"("session_id": "a", "timestamp": 1)")),
        HasSubstr(":2: the time of a later turn counts from that of the turn before it"));
    const Opened custom(R"({"conversation": "a", "at_s": 1, "prompt": "x"})"
                        "\n"
                        R"({"conversation": "a", "at_s": 9, "prompt": "y"})");
    EXPECT_THAT(custom.file.notes(), ElementsAre(HasSubstr("1 turns have a time that has no effect")));
}

TEST(AgentFiles, RequestsThatWaitForNoneStartAtTheirTimesAndTheOthersMayHaveNone) {
    const Opened file(
        trace_row(R"("request_id": "1", "session_id": "a", "timestamp": 5000)") +
        trace_row(R"("request_id": "2", "session_id": "b", "timestamp": 14000)") +
        trace_row(R"("request_id": "3", "session_id": "a", "wait_for": ["1", "2"], "timestamp": 100)") +
        trace_row(R"("request_id": "4", "session_id": "c", "wait_for": ["5"])") +
        trace_row(R"("request_id": "5", "session_id": "d", "timestamp": 15000)"));
    EXPECT_EQ(file.dataset.name, "agentic_mooncake");
    ASSERT_EQ(file.file.jobs().size(), 2U);
    const auto& turns = file.file.jobs().graph(0)->turns;
    EXPECT_EQ(turns[0].delay, milliseconds(0));
    EXPECT_EQ(turns[1].delay, milliseconds(9000));
    EXPECT_THAT(turns[2].after, ElementsAre(0U, 1U));
    EXPECT_EQ(file.file.recorded_time(1), milliseconds(10000));
    EXPECT_THAT(refusal(trace_row(R"("request_id": "1", "session_id": "a", "wait_for": [])") +
                        trace_row(R"("request_id": "1", "session_id": "b", "wait_for": [])")),
                HasSubstr(":2: \"request_id\" '1' is that of an earlier turn too (line 1)"));
}

TEST(AgentFiles, RequestsThatWaitForNoneStartAtTheirTimesAlsoLaterInTheirSession) {
    const Opened file(
        trace_row(R"("request_id": "1", "session_id": "a", "wait_for": [], "timestamp": 5000)") +
        trace_row(R"("request_id": "2", "session_id": "a", "wait_for": [], "timestamp": 14000, "delay": 0)") +
        trace_row(R"("request_id": "3", "session_id": "a", "wait_for": [], "timestamp": 66000)") +
        trace_row(R"("request_id": "4", "session_id": "a", "wait_for": ["2"], "timestamp": 70000)"));
    ASSERT_EQ(file.file.jobs().size(), 1U);
    const auto& turns = file.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 4U);
    EXPECT_EQ(turns[1].delay, milliseconds(9000));
    EXPECT_THAT(turns[1].after, IsEmpty());
    EXPECT_EQ(turns[2].delay, milliseconds(61000));
    EXPECT_THAT(turns[2].after, IsEmpty());
    EXPECT_THAT(turns[3].after, ElementsAre(1U, 2U)) << "the row that it names, and the one before it";
    EXPECT_THAT(file.file.notes(), IsEmpty());
}

TEST(AgentFiles, RequestsWithoutASessionAreSessionsOfTheirOwn) {
    const Opened file(trace_row(R"("request_id": "1", "wait_for": [], "timestamp": 5000)") +
                      trace_row(R"("request_id": "2", "wait_for": ["1"], "delay": 40)") +
                      trace_row(R"("request_id": 18446744073709551615, "wait_for": [], "timestamp": 6000)"));
    ASSERT_EQ(file.file.jobs().size(), 2U);
    const auto& turns = file.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_EQ(turns[1].agent, 1U);
    EXPECT_EQ(turns[1].delay, milliseconds(40));
}

TEST(AgentFiles, SessionsWithDynamosNamesOrTextsAreRecognised) {
    for (const std::string_view row :
         {R"({"session_id": "a", "input_tokens": 9, "output_tokens": 4, "created_time": 5})",
          R"({"session_id": "a", "input_tokens": 9, "output_tokens": 4, "delay_ms": 5})",
          R"({"session_id": "a", "input_tokens": 9, "output_tokens": 4, "delay": 5})",
          R"({"session_id": "a", "text_input": "x", "output_length": 4})"})
        EXPECT_EQ(Opened(row).dataset.name, "mooncake_session") << row;
}

TEST(AgentFiles, ATextOfASessionIsTheNewMessageAfterItsHistory) {
    const Opened texts(R"({"session_id": "a", "text_input": "x"})"
                       "\n"
                       R"({"session_id": "a", "text_input": "y"})"
                       "\n"
                       R"({"session_id": "a", "text_input": "z", "message_mode": "history"})");
    const auto graph = texts.file.jobs().graph(0);
    EXPECT_EQ(graph->turns[1].history, 0U);
    EXPECT_EQ(graph->turns[2].history, std::nullopt) << "the row says that it has the history";
    const std::string message = R"("messages": [{"role": "user", "content": "x"}])";
    const Opened messages(
        fmt::format("{{\"session_id\": \"a\", \"timestamp\": 0, {0}}}\n"
                    "{{\"session_id\": \"a\", \"timestamp\": 0, {0}}}",
                    message));
    EXPECT_EQ(messages.file.jobs().graph(0)->turns[1].history, std::nullopt);
}

TEST(AgentFiles, MoreHashIdsThanAPromptHasBlocksAreRefused) {
    constexpr std::string_view kTurn =
        R"({{"conversation": 7, "id": 18446744073709551615, "input_tokens": 64, "output_tokens": 4, "block_tokens": 64, "hash_ids": [{}]}})";
    EXPECT_EQ(refusal(fmt::format(kTurn, "1, 2"), "turns"), "accepted");
    EXPECT_THAT(refusal(fmt::format(kTurn, "1, 2, 3"), "turns"),
                HasSubstr(":1: 3 hash ids of 64 tokens do not fit a prompt of 64 tokens"));
    std::string weka = weka_job(1.5);
    weka.replace(weka.find("[1, 2]"), 6, "[1, 2, 3, 4]");
    EXPECT_THAT(refusal(weka), HasSubstr("4 hash ids of 64 tokens do not fit a prompt of 128 tokens"));
}

TEST(AgentFiles, FieldsThatScheduleAndAreNotReadAreRefusedOrNamed) {
    const std::string header =
        R"({"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 64, "source": {}})";
    const std::string row =
        trace_row(R"("request_id": "1", "play_id": "p", "session_id": "a", "not_before_ms": 0)");
    EXPECT_THAT(refusal(header + "\n" + row), HasSubstr("agentic_mooncake, version 2, which is not read"));
    EXPECT_THAT(refusal(row), HasSubstr("agentic_mooncake, version 2, which is not read"));
    EXPECT_THAT(refusal(row, "agentic_mooncake"), HasSubstr(":1: \"not_before_ms\" is a field of"));
    EXPECT_THAT(refusal(header, "agentic_mooncake"), HasSubstr(":1: \"schema\" is a field of"));
    EXPECT_THAT(refusal(trace_row(R"("session_id": "a", "wait_for": [])"), "mooncake_session"),
                HasSubstr("--dataset agentic_mooncake"));
    const Opened noted(trace_row(R"("timestamp": 0, "delay": 5, "think_ms": 3)"));
    EXPECT_THAT(noted.file.notes(),
                ElementsAre(HasSubstr("no effect: \"delay\" (first in line 1), \"think_ms\"")));
}

TEST(AgentFiles, TurnsWithoutTokensAreLeftOutAndPassOnWhatTheyWaitFor) {
    const Opened mooncake(
        trace_row(R"("request_id": "1", "session_id": "a", "timestamp": 0)") +
        trace_row(R"("request_id": "2", "session_id": "a", "wait_for": ["1"], "delay": 300)", 0) +
        trace_row(R"("request_id": "3", "session_id": "a", "wait_for": ["2"], "tool_wait_ms": 50)"));
    const auto& turns = mooncake.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_THAT(turns[1].after, ElementsAre(0U));
    EXPECT_EQ(turns[1].delay, milliseconds(300));
    EXPECT_EQ(turns[1].tool, milliseconds(50));
    EXPECT_THAT(mooncake.file.notes(),
                ElementsAre(HasSubstr("1 of 3 rows (33.3 %) left out, for they have 0")));
    const Opened weka(R"({"id": "w", "block_size": 64, "requests": [
 {"t": 0, "in": 64, "out": 0, "hash_ids": [1], "api_time": 1},
 {"t": 2, "in": 64, "out": 4, "hash_ids": [1], "api_time": 1},
 {"t": 5, "in": 0, "out": 4, "hash_ids": [], "api_time": 0},
 {"t": 9, "in": 128, "out": 4, "hash_ids": [1, 2], "api_time": 1}]})");
    ASSERT_EQ(weka.file.jobs().graph(0)->turns.size(), 2U);
    EXPECT_EQ(weka.file.jobs().graph(0)->turns[1].delay, milliseconds(6000)) << "2 s and 4 s";
    EXPECT_EQ(weka.file.turn(0, 0).output_tokens, 4);
    EXPECT_THAT(weka.file.notes(), ElementsAre(HasSubstr("2 turns left out, for they have 0 tokens")));
    const Opened custom(R"({"conversation": "a", "prompt": "x", "output_tokens": 0})"
                        "\n"
                        R"({"conversation": "a", "prompt": "y", "output_tokens": 2})");
    EXPECT_EQ(custom.file.jobs().size(), 1U);
    EXPECT_EQ(custom.file.jobs().turns(0), 1U);
}

TEST(AgentFiles, WhatIsWrongInTheGraphOfAJobIsNamedByTheFieldsOfItsFormat) {
    const std::string weka = R"({"id": "w", "requests": [{"t": 0, "in": 64, "out": 4, "hash_ids": [1]}]})";
    EXPECT_THAT(refusal(weka + "\n" + weka, "weka"), HasSubstr(":2: \"id\" 'w' is that of line 1 too"));
    const std::string dag =
        R"({"session_id": "p", "turns": [{"messages": [{"role": "user", "content": "x"}]}]})";
    EXPECT_THAT(refusal(dag + "\n" + dag), HasSubstr(":2: \"session_id\" 'p' is that of line 1 too"));
    const std::string otel = session({span("x", "", 0, 2, chat({}, {}))});
    EXPECT_THAT(refusal(otel + "\n" + otel), HasSubstr("\"trace_id\" 't' is that of line 1 too"));
    const Opened unsorted(R"({"id": "w", "block_size": 64, "requests": [
 {"t": 5, "in": 128, "out": 4, "hash_ids": [1, 2], "api_time": 1},
 {"t": 0, "in": 64, "out": 4, "hash_ids": [1], "api_time": 1}]})");
    EXPECT_EQ(unsorted.file.turn(0, 0).input_tokens, 64);
    EXPECT_EQ(unsorted.file.jobs().graph(0)->turns[1].delay, milliseconds(4000));
    EXPECT_THAT(unsorted.file.notes(), IsEmpty())
        << "it has no sub-agents whose times could count from elsewhere";
}

TEST(AgentFiles, ChatsThatFailedOrWereExportedTwiceAreLeftOutAndCounted) {
    const std::string once = span("x", "", 0, 2, chat({}, {}, "", "one"));
    std::string failed = span("f", "", 2, 3, chat({}, {}));
    failed.insert(1, R"("status": {"code": 2}, )");
    const Opened otel(session(
        {once, once, failed, span("e", "", 9, 3, chat({}, {})), span("y", "", 4, 5, chat({}, {}, "one"))}));
    const auto& turns = otel.file.jobs().graph(0)->turns;
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_EQ(turns[1].agent, 0U);
    EXPECT_THAT(otel.file.notes(),
                ElementsAre(HasSubstr("1 turns left out, for their spans were exported twice"),
                            HasSubstr("1 turns left out, for they end before they start"),
                            HasSubstr("1 turns left out, for they failed")));
    EXPECT_THAT(refusal(session({span("x", "", 0, 2,
                                      R"("gen_ai.operation.name": "chat", )"
                                      R"("gen_ai.input.messages": "[{\"role\":")")})),
                HasSubstr("\"gen_ai.input.messages\" of a span is not JSON"));
}

TEST(AgentFiles, RowsThatBreakMlperfsRulesAreTold) {
    const auto row = [](int turn, const std::string& fields) {
        return fmt::format(R"({{"conversation_id": "c", "turn": {}, {}}})", turn, fields) + "\n";
    };
    const std::string user = R"("role": "user", "content": "q")";
    const std::string answer = R"("role": "assistant", "content": "a")";
    const std::string calls =
        R"("role": "assistant", "content": null, "tool_calls": [)"
        R"({"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}, )"
        R"({"id": "y", "type": "function", "function": {"name": "f", "arguments": "{}"}}])";
    const auto results = [](const std::vector<std::string>& ids) {
        std::string list;
        for (const std::string& id : ids)
            list +=
                fmt::format(R"({}{{"tool_call_id": "{}", "content": "r"}})", list.empty() ? "" : ", ", id);
        return R"("role": "tool", "tool_results": [)" + list + "]";
    };
    const auto notes_of = [](const std::string& text) { return Opened(text).file.notes(); };
    const std::string begin = row(1, user) + row(2, calls);
    EXPECT_THAT(notes_of(begin + row(3, results({"y", "x"})) + row(4, answer) + row(5, user)), IsEmpty());
    EXPECT_THAT(notes_of(row(1, user) + row(2, answer) + row(4, user)),
                ElementsAre(HasSubstr("\"turn\" that does")));
    EXPECT_THAT(notes_of(row(1, user) + row(1, answer) + row(2, user)),
                ElementsAre(HasSubstr("1 of 3 rows have a \"turn\" that does not follow")));
    EXPECT_THAT(notes_of(begin + row(3, user)), ElementsAre(HasSubstr("follow an answer that calls tools")));
    EXPECT_THAT(notes_of(row(1, user) + row(2, user)),
                ElementsAre(HasSubstr("1 of 2 rows follow a row without an answer of the assistant's")));
    EXPECT_THAT(notes_of(begin + row(3, results({"x"}))), ElementsAre(HasSubstr("lack results of calls")));
    EXPECT_THAT(notes_of(begin + row(3, results({"x", "y", "z"}))),
                ElementsAre(HasSubstr("results of tools that no call before them asked for")));
}

TEST(AgentFiles, FormatsThatAreNotReadAreRefusedByNameAndReason) {
    const std::map<std::string, std::string> names = {
        {"bailian.jsonl", "Bailian's traces"},
        {"baseten_rows.jsonl", "Baseten's rows"},
        {"dynamo_request_trace.jsonl", "Dynamo's request traces"},
        {"guidellm_graph.json", "GuideLLM's graphs"},
        {"sglang_agentic_trace.json", "SGLang's agentic traces"},
        {"tracelab.jsonl", "TraceLab's rounds"},
        {"tracelab_export.csv", "TraceLab's table of rounds"},
        {"trie.jsonl", "EvalScope's traces"},
        {"trtllm_trace.json", "TensorRT-LLM's traces"}};
    for (const auto& [file, name] : names)
        EXPECT_THAT(refusal(golden("agents/" + file)),
                    ::testing::AllOf(HasSubstr(name), HasSubstr("which is not read: ")))
            << file;
}

TEST(AgentFiles, ATextWithTheNamesOfFieldsDoesNotChangeTheFormatOfAFile) {
    const TemporaryFile file(
        R"({"prompt": "the \"conversations\" of \"spans\": {\"graph_id\": 1}", "meta": {"graph_id": 1, "turns": 2}})");
    EXPECT_EQ(recognised_format(file.path()), "custom");
    const TemporaryFile other("{\"a\": 1}");
    EXPECT_EQ(recognised_format(other.path()), std::nullopt);
}

TEST(AgentFiles, TurnsByLengthsMayShareBlocksWithinTheFileOrTheJob) {
    const std::string rows =
        R"({"job": "a", "input_tokens": 20, "output_tokens": 2, "hash_ids": [1], "block_tokens": 16, "hash_scope": "SCOPE"}
{"job": "b", "input_tokens": 20, "output_tokens": 2, "hash_ids": [1], "block_tokens": 16, "hash_scope": "SCOPE"})";
    for (const std::string scope : {"job", "file"}) {
        std::string text = rows;
        for (std::size_t at = 0; (at = text.find("SCOPE")) != std::string::npos;) text.replace(at, 5, scope);
        const TemporaryFile file(text);
        EXPECT_EQ(guessed_format(file.path()), "turns");
        const auto dataset = make_dataset({.spec = parse_spec("turns"), .path = file.path()});
        TokenIds a = std::get<TokenIds>(dataset->outline(0).prompt);
        TokenIds b = std::get<TokenIds>(dataset->outline(1).prompt);
        ASSERT_EQ(a.size(), 20U);
        EXPECT_NE(a, b);
        a.resize(16);
        b.resize(16);
        EXPECT_EQ(a == b, scope == "file");
    }
    EXPECT_THAT(refusal(R"({"input_tokens": 20, "hash_ids": [1]})"), HasSubstr("need \"block_tokens\""));
    EXPECT_THAT(refusal(R"({"input_tokens": 20, "hash_ids": [1], "block_tokens": 4, "hash_scope": "job"})"),
                HasSubstr("the row has no \"job\""));
}

TEST(AgentFiles, KeptTurnsAreThoseThatWereAdded) {
    KeptTurns kept;
    std::vector<std::vector<std::vector<std::uint64_t>>> added;
    for (std::uint64_t row = 0; row < 50; ++row) {
        Random random(row);
        Row first;
        std::vector<std::vector<std::uint64_t>> turns;
        std::map<std::string, std::vector<std::uint64_t>> contexts;
        for (std::uint64_t turn = 0; turn < 1 + random.below(12); ++turn) {
            Row next;
            next.conversation = fmt::format("{}", random.below(3));
            auto& context = contexts[next.conversation];
            if (random.below(4) == 0) context.resize(random.below(context.size() + 1));
            for (std::uint64_t i = 0; i < random.below(6); ++i) context.push_back(random.below(100));
            next.blocks = context;
            next.input_tokens = static_cast<std::int64_t>(turn);
            turns.push_back(context);
            if (turn == 0)
                first = next;
            else
                first.further.push_back(next);
        }
        kept.add(std::move(first));
        added.push_back(turns);
    }
    for (std::size_t row = 0; row < added.size(); ++row)
        for (std::size_t turn = 0; turn < added[row].size(); ++turn) {
            EXPECT_EQ(kept.turn(row, turn).blocks, added[row][turn]);
            EXPECT_EQ(kept.turn(row, turn).input_tokens, static_cast<std::int64_t>(turn));
        }
}

}  // namespace
}  // namespace paretoken::datasets
