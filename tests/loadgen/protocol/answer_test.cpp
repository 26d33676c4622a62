#include "loadgen/protocol/answer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/random.h"
#include "core/result/metrics.h"
#include "tests/support/replayed.h"

namespace paretoken::protocol {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr TimePoint at(int milliseconds) {
    return TimePoint(std::chrono::milliseconds(milliseconds));
}

/// One answer, given read by read.
class Answer {
  public:
    explicit Answer(AnswerOptions options = {}, RequestRecord record = {}) : record_(std::move(record)) {
        reader_.begin(record_, options);
    }
    Answer& read(int milliseconds, std::string_view bytes, bool kernel_stamp = true) {
        return piece(milliseconds, bytes, kernel_stamp, true);
    }
    Answer& more_of_that_read(int milliseconds, std::string_view bytes) {
        return piece(milliseconds, bytes, true, false);
    }
    bool done() const { return reader_.done(); }
    bool non_streaming() const { return reader_.non_streaming(); }
    RequestRecord end(bool http_complete = true) {
        reader_.finish(http_complete);
        return record_;
    }
    RequestRecord& record() { return record_; }

  private:
    Answer& piece(int milliseconds, std::string_view bytes, bool kernel_stamp, bool new_read) {
        PaddedBuffer padded;
        padded.append(bytes);
        reader_.on_body({padded.view().data(), padded.size()}, at(milliseconds), kernel_stamp, new_read);
        return *this;
    }

    DeltaParser parser_;
    RequestRecord record_;
    AnswerReader reader_{parser_};
};

std::string chunk(std::string_view delta, std::string_view finish = "null", std::string_view rest = "",
                  int choice = 0) {
    return R"(data: {"choices":[{"index":)" + std::to_string(choice) + R"(,"delta":)" + std::string(delta) +
           R"(,"finish_reason":)" + std::string(finish) + "}]" + std::string(rest) + "}\n\n";
}
std::string text(std::string_view content, std::string_view rest = "") {
    return chunk(R"({"content":")" + std::string(content) + "\"}", "null", rest);
}
const std::string kRole = chunk(R"({"role":"assistant","content":""})");
const std::string kStop = chunk("{}", R"("stop")");
const std::string kDone = "data: [DONE]\n\n";
std::string usage(int prompt, int completion) {
    return R"(data: {"choices":[],"usage":{"prompt_tokens":)" + std::to_string(prompt) +
           R"(,"completion_tokens":)" + std::to_string(completion) + "}}\n\n";
}

std::vector<std::uint32_t> tokens_of(const RequestRecord& record) {
    std::vector<std::uint32_t> tokens;
    for (const StreamEvent& event : record.events) tokens.push_back(event.tokens);
    return tokens;
}

TEST(Answer, KeepsItsTextWhereThatIsWanted) {
    const std::string stream = kRole + chunk(R"({"reasoning_content":"hm"})") + text("one") +
                               text(" \\\"two\\\" \\\\ \\n\\tx") + text(" \\u00e9\\ud83d\\ude00") +
                               text(" three") + chunk(R"({"content":"other"})", "null", "", 1) +
                               text(" four") + kStop + usage(1, 9) + kDone;
    const RequestRecord kept = Answer({.keep_text = true}).read(10, stream).end();
    EXPECT_EQ(kept.answer, "one \"two\" \\ \n\tx \u00e9\U0001F600 three four");
    EXPECT_EQ(Answer().read(10, stream).end().answer, "");
    const std::string completion = R"(data: {"choices":[{"index":0,"text":"a\nb","finish_reason":"stop"}]})"
                                   "\n\n" +
                                   kDone;
    EXPECT_EQ(Answer({.keep_text = true}).read(10, completion).end().answer, "a\nb");
    const std::string whole =
        R"({"choices":[{"index":0,"message":{"content":"in one piece"},"finish_reason":"stop"}]})";
    EXPECT_EQ(Answer({.keep_text = true}).read(10, whole).end().answer, "in one piece");
}

TEST(Answer, TextThatComesInTwoPlacesOfAChoiceIsReadOnce) {
    const auto both = [](std::string_view word) {
        return R"(data: {"choices":[{"index":0,"text":")" + std::string(word) + R"(","delta":{"content":")" +
               std::string(word) + "\"}}]}\n\n";
    };
    const RequestRecord record =
        Answer({.keep_text = true}).read(1, both("one") + both(" two") + kStop + kDone).end();
    EXPECT_EQ(record.answer, "one two");
    const std::string whole =
        R"({"choices":[{"text":"one","message":{"content":"one"},"finish_reason":"stop"}]})";
    EXPECT_EQ(Answer({.keep_text = true}).read(1, whole).end().answer, "one");
}

TEST(Answer, TextIsTheSameHoweverTheEventsWereRecognised) {
    std::string stream = kRole;
    std::string expected;
    for (int i = 0; i < 200; ++i) {
        const std::string word = " w" + std::to_string(i);
        stream += text(word + (i % 7 == 0 ? "\\n" : ""));
        expected += word + (i % 7 == 0 ? "\n" : "");
    }
    stream += kStop + kDone;
    Answer answer({.keep_text = true});
    for (std::size_t at_byte = 0; at_byte < stream.size(); at_byte += 33)
        answer.read(static_cast<int>(at_byte), std::string_view(stream).substr(at_byte, 33));
    EXPECT_EQ(answer.end().answer, expected);
}

TEST(Answer, TimesItsEventsByTheReadThatBroughtThem) {
    const RequestRecord record = Answer()
                                     .read(10, kRole)
                                     .read(20, text("a"))
                                     .read(33, text("b"), false)
                                     .read(40, text("c") + kStop)
                                     .read(50, usage(7, 3) + kDone)
                                     .end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_THAT(record.events,
                ElementsAre(StreamEvent{at(20)}, StreamEvent{.time = at(33), .kernel_stamp = false},
                            StreamEvent{at(40)}));
    EXPECT_EQ(record.first_event, at(20));
    EXPECT_EQ(record.first_answer, at(20));
    EXPECT_EQ(record.last_event, at(40));
    EXPECT_EQ(record.finished, at(50));
    EXPECT_EQ(record.longest_gap, std::chrono::milliseconds(13));
    EXPECT_EQ(record.chunks, 3);
    EXPECT_EQ(record.grouped_chunks, 0);
    EXPECT_EQ(record.finish_reason, "stop");
    EXPECT_EQ(record.usage, (TokenUsage{7, std::nullopt, 3, std::nullopt}));
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
    EXPECT_EQ(record.streamed_tokens, 3);
    EXPECT_EQ(record.first_group_tokens, 1);
}

TEST(Answer, EventsOfOneReadAreOneGroupHoweverHttpCutThem) {
    const std::string two = text("a") + text("b");
    const RequestRecord record = Answer()
                                     .read(10, kRole + two)
                                     .more_of_that_read(10, text("c"))
                                     .read(30, text("d"))
                                     .more_of_that_read(30, kStop + kDone)
                                     .end();
    std::vector<bool> same_read;
    for (const StreamEvent& event : record.events) same_read.push_back(event.same_read);
    EXPECT_THAT(same_read, ElementsAre(false, true, true, false));
    EXPECT_EQ(record.grouped_chunks, 2);
    EXPECT_EQ(record.first_group_tokens, 3);
    EXPECT_EQ(record.longest_gap, std::chrono::milliseconds(20));
}

TEST(Answer, AnEventBelongsToTheReadThatCompletedIt) {
    const std::string event = text("abc");
    const RequestRecord record = Answer()
                                     .read(10, event.substr(0, 30))
                                     .read(20, event.substr(30) + text("x"))
                                     .read(21, kStop + kDone)
                                     .end();
    EXPECT_THAT(record.events,
                ElementsAre(StreamEvent{at(20)}, StreamEvent{.time = at(20), .same_read = true}));
}

TEST(Answer, DoesNotDependOnHowTheBytesOfAReadWereCut) {
    const std::string first = kRole + text("one") + text(" two"),
                      second = text(" thr\\u00e9e") + kStop + usage(5, 4) + kDone;
    const RequestRecord whole = Answer().read(10, first).read(20, second).end();
    for (std::uint64_t i = 0; i < 50; ++i) {
        Random random(derived_seed(1, "cuts", i));
        Answer answer;
        int time = 0;
        for (std::string_view bytes : {std::string_view(first), std::string_view(second)}) {
            time += 10;
            for (bool new_read = true; !bytes.empty(); new_read = false) {
                const std::size_t length = std::min<std::size_t>(1 + random.below(90), bytes.size());
                if (new_read) {
                    answer.read(time, bytes.substr(0, length));
                } else {
                    answer.more_of_that_read(time, bytes.substr(0, length));
                }
                bytes.remove_prefix(length);
            }
        }
        EXPECT_EQ(answer.end(), whole);
    }
}

TEST(Answer, ReasoningHasAFirstTokenButNoFirstAnswer) {
    const RequestRecord record = Answer()
                                     .read(10, chunk(R"({"reasoning_content":"hm"})"))
                                     .read(20, chunk(R"({"reasoning_content":"so"})"))
                                     .read(30, text("yes") + kStop + kDone)
                                     .end();
    EXPECT_EQ(record.first_event, at(10));
    EXPECT_EQ(record.first_answer, at(30));
    EXPECT_EQ(record.events[0].kind, EventKind::reasoning);
    EXPECT_EQ(record.events[2].kind, EventKind::content);
}

// ---------------------------------------------------------------- tokens of an event

TEST(Tokens, CountedAlongByTheServerWinOverEverything) {
    const auto so_far = [](int tokens) {
        return R"(,"usage":{"completion_tokens":)" + std::to_string(tokens) + "}";
    };
    const RequestRecord record =
        Answer()
            .read(1, chunk(R"({"role":"assistant","content":""})", "null", so_far(0)))
            .read(2, text("a", so_far(1)))
            .read(3, text("b", so_far(5)))
            .read(4, chunk(R"({"content":""})", "null", so_far(6)))  // text held back
            .read(5, text("c", so_far(7)))
            .read(6, kStop + usage(3, 8) + kDone)
            .end();
    EXPECT_EQ(record.token_source, TokenSource::chunk_usage);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 4, 2));
    EXPECT_EQ(record.streamed_tokens, 7);
    EXPECT_EQ(record.usage.completion, 8);
}

TEST(Tokens, CountedAlongIsPerChoice) {
    const auto of = [](int choice, int tokens) {
        return chunk(R"({"content":"x"})", "null",
                     R"(,"usage":{"completion_tokens":)" + std::to_string(tokens) + "}", choice);
    };
    const RequestRecord record =
        Answer().read(1, of(0, 1)).read(2, of(1, 1)).read(3, of(0, 3)).read(4, of(1, 2)).read(5, kDone).end();
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 2, 1));
}

TEST(Tokens, IdsInTheChunksComeSecond) {
    const auto ids = [](std::string_view list) {
        return R"(data: {"choices":[{"index":0,"text":"x","token_ids":[)" + std::string(list) + "]}]}\n\n";
    };
    const RequestRecord record = Answer()
                                     .read(1, ids("4"))
                                     .read(2, ids("5,6,7,8"))
                                     .read(3, ids("9,10,11"))
                                     .read(4, usage(1, 8) + kDone)
                                     .end();
    EXPECT_EQ(record.token_source, TokenSource::token_ids);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 4, 3));
}

TEST(Tokens, AreOnePerEventWhenTheirNumberIsNearTheUsage) {
    const auto answer_of = [](int events, int completion) {
        Answer answer;
        for (int i = 0; i < events; ++i) answer.read(i, text("word"));
        return answer.read(events, kStop + usage(1, completion) + kDone).end().token_source;
    };
    EXPECT_EQ(answer_of(3, 4), TokenSource::one_per_event);
    EXPECT_EQ(answer_of(3, 5), TokenSource::usage_by_text);
    EXPECT_EQ(answer_of(200, 203), TokenSource::one_per_event);
    EXPECT_EQ(answer_of(200, 206), TokenSource::usage_by_text);
    EXPECT_EQ(answer_of(3, 2), TokenSource::one_per_event);
    EXPECT_EQ(answer_of(5, 2), TokenSource::usage_by_text);
}

TEST(Tokens, AreElseSharedByTheRunningSumOfTheText) {
    // 8 tokens over 4, 16 and 12 bytes: 1, 4 and 3.
    RequestRecord record = Answer()
                               .read(100, text("abcd"))
                               .read(140, text("abcdefghijklmnop"))
                               .read(170, text("abcdefghijkl") + kStop + usage(1, 8) + kDone)
                               .end();
    EXPECT_EQ(record.token_source, TokenSource::usage_by_text);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 4, 3));
    // 10 tokens over 3, 3 and 3 bytes: the last event ends the sum.
    record =
        Answer().read(1, text("abc")).read(2, text("abc")).read(3, text("abc") + kStop + usage(1, 10)).end();
    EXPECT_THAT(tokens_of(record), ElementsAre(3, 3, 4));
    // Fewer tokens than events: the first has one, the last ends the sum, and some have none.
    record = Answer()
                 .read(1, text("aaaaaaaa"))
                 .read(2, text("b"))
                 .read(3, text("c"))
                 .read(4, text("d") + kStop + usage(1, 2))
                 .end();
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 0, 0, 1));
    EXPECT_EQ(record.streamed_tokens, 2);
}

TEST(Tokens, shared_by_text_leave_no_event_without_one_where_there_are_enough_for_all) {
    // 7 tokens over 1, 1, 40 and 1 bytes: by text alone the long event would get all.
    const RequestRecord record = Answer()
                                     .read(1, text("a"))
                                     .read(2, text("b"))
                                     .read(3, text(std::string(40, 'c')))
                                     .read(4, text("d") + kStop + usage(1, 7) + kDone)
                                     .end();
    EXPECT_EQ(record.token_source, TokenSource::usage_by_text);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 4, 1));
    EXPECT_EQ(record.first_group_tokens, 1);
}

TEST(Tokens, OfReasoningThatWasNotStreamedAreNotShared) {
    const std::string with_reasoning =
        R"(data: {"choices":[],"usage":{"completion_tokens":102,"completion_tokens_details":{"reasoning_tokens":100}}})"
        "\n\n";
    const RequestRecord hidden =
        Answer().read(1, text("a")).read(2, text("b")).read(3, kStop + with_reasoning).end();
    EXPECT_EQ(hidden.token_source, TokenSource::one_per_event);
    EXPECT_EQ(hidden.streamed_tokens, 2);
    const RequestRecord shown = Answer()
                                    .read(1, chunk(R"({"reasoning":"a thought of a hundred tokens )" +
                                                   std::string(400, 'x') + R"("})"))
                                    .read(2, text("b"))
                                    .read(3, kStop + with_reasoning)
                                    .end();
    EXPECT_EQ(shown.streamed_tokens, 102);
}

TEST(Tokens, AreOnePerChunkWhenNothingTells) {
    const RequestRecord record = Answer().read(1, text("a")).read(2, text("b") + kStop + kDone).end();
    EXPECT_EQ(record.token_source, TokenSource::one_per_chunk);
    EXPECT_EQ(record.streamed_tokens, 2);
    EXPECT_EQ(record.outcome, Outcome::ok);
}

/// Returns the end of an answer, with events before its end marker.
std::string the_end(const std::string& events) {
    return kStop + events + kDone;
}
const std::string kAnswer = text("a") + kStop + kDone;

std::string thought(const std::string& name) {
    return chunk("{\"" + name + "\":\"hm\"}");
}

std::string ended_by(const std::string& reason) {
    return chunk("{}", '"' + reason + '"') + kDone;
}

std::string usage_of(std::string_view counts) {
    return R"(,"usage":{)" + std::string(counts) + "}";
}

TEST(Tokens, OfAUsageWithZerosInEveryEventAreThoseOfTheLastOne) {
    const std::string zeros = usage_of(R"("prompt_tokens":0,"completion_tokens":0,"total_tokens":0)");
    const auto answer_of = [&](std::string_view last) {
        Answer answer;
        answer.read(0, chunk(R"({"role":"assistant","content":""})", "null", zeros));
        for (int i = 1; i <= 32; ++i) answer.read(i, text("word ", zeros));
        return answer.read(33, kStop + std::string(last) + kDone).end();
    };
    const RequestRecord counted = answer_of(usage(7, 32));
    EXPECT_EQ(counted.token_source, TokenSource::one_per_event);
    EXPECT_EQ(counted.usage.completion, 32);
    EXPECT_EQ(counted.usage.prompt, 7);
    const RequestRecord never = answer_of("");
    EXPECT_EQ(never.token_source, TokenSource::disputed);
    EXPECT_EQ(never.outcome, Outcome::ok);
    EXPECT_EQ(never.usage.completion, std::nullopt);
    EXPECT_EQ(never.usage.prompt, std::nullopt);
    EXPECT_EQ(output_tokens_of(never), 32);
}

TEST(Tokens, OfAUsageThatCountsEachEventByItselfAreTheirSum) {
    const std::string one = usage_of(R"("prompt_tokens":7,"completion_tokens":1)");
    for (const bool total : {true, false}) {
        Answer answer;
        for (int i = 1; i <= 32; ++i) answer.read(i, text("word ", one));
        const RequestRecord record = answer.read(33, the_end(total ? usage(7, 32) : "")).end();
        EXPECT_EQ(record.token_source, TokenSource::chunk_usage) << total;
        EXPECT_EQ(record.usage.completion, 32) << total;
        EXPECT_EQ(record.streamed_tokens, 32) << total;
        EXPECT_EQ(record.first_group_tokens, 1) << total;
    }
}

TEST(Tokens, IncludeReasoningThatTheCountOfOutputLeavesOut) {
    const auto completion_of = [](std::string_view counts) {
        return Answer()
            .read(1, chunk(R"({"reasoning_content":"a thought of many words"})"))
            .read(2, text("word") + kStop + R"(data: {"choices":[])" + usage_of(counts) + "}\n\n" + kDone)
            .end()
            .usage.completion;
    };
    const std::string reasoning = R"(,"completion_tokens_details":{"reasoning_tokens":8})";
    EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":2,"total_tokens":15)" + reasoning), 10);
    EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":2,"total_tokens":15)"), 10);
    EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":2)" + reasoning), 10);
    EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":0,"total_tokens":13)" + reasoning), 8);
    EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":10,"total_tokens":15)" + reasoning), 10);
    EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":2,"total_tokens":10,"cached_tokens":3)"),
              2)
        << "a total that includes cached tokens which the prompt leaves out says nothing of reasoning";
    for (const std::string name : {"thinking_tokens", "thoughts_token_count", "reasoningTokens"})
        EXPECT_EQ(completion_of(R"("prompt_tokens":5,"completion_tokens":2,")" + name + R"(":8)"), 10)
            << name;
}

TEST(Tokens, of_the_prompt_include_cached_ones_that_only_the_total_has) {
    const auto usage_after = [](std::string_view counts) {
        return Answer()
            .read(1, text("word") + kStop + R"(data: {"choices":[])" + usage_of(counts) + "}\n\n" + kDone)
            .end()
            .usage;
    };
    const TokenUsage apart =
        usage_after(R"("prompt_tokens":5,"completion_tokens":1,"total_tokens":36,"cached_tokens":30)");
    EXPECT_EQ(apart.prompt, 35);
    EXPECT_EQ(apart.cached_prompt, 30);
    const TokenUsage included =
        usage_after(R"("prompt_tokens":35,"completion_tokens":1,"total_tokens":36,"cached_tokens":30)");
    EXPECT_EQ(included.prompt, 35);
    // Gateways that leave out of the prompt what is written to the cache, too.
    for (const std::string written : {R"("cache_creation_input_tokens":20)", R"("cacheWriteInputTokens":20)",
                                      R"("prompt_tokens_details":{"cache_write_tokens":20})"}) {
        const TokenUsage usage = usage_after(
            R"("prompt_tokens":5,"completion_tokens":1,"total_tokens":56,"cache_read_input_tokens":30,)" +
            written);
        EXPECT_EQ(usage.prompt, 55) << written;
        EXPECT_EQ(usage.completion, 1) << written;
        const TokenUsage cold =
            usage_after(R"("prompt_tokens":5,"completion_tokens":1,"total_tokens":26,)" + written);
        EXPECT_EQ(cold.prompt, 25) << written;
        EXPECT_EQ(cold.completion, 1) << written;
    }
    EXPECT_EQ(usage_after(R"("input_tokens":2006,"output_tokens":1,"total_tokens":2007,)"
                          R"("input_tokens_details":{"cached_tokens":1920,"cache_write_tokens":40})")
                  .prompt,
              2006);
    const TokenUsage camel =
        usage_after(R"("inputTokens":5,"outputTokens":1,"totalTokens":36,"cacheReadInputTokens":30)");
    EXPECT_EQ(camel.prompt, 35);
    EXPECT_EQ(camel.cached_prompt, 30);
}

TEST(Tokens, ThatTheTextCannotHoldAreDisputed) {
    const RequestRecord record =
        Answer().read(1, text("a")).read(2, text("b") + kStop + usage(1, 64) + kDone).end();
    EXPECT_EQ(record.token_source, TokenSource::disputed);
    EXPECT_EQ(output_tokens_of(record), 2);
    // A server that hides special tokens sends an event without text for each.
    Answer empty;
    empty.read(1, text("a"));
    for (int i = 0; i < 63; ++i) empty.read(2 + i, text(""));
    EXPECT_EQ(empty.read(70, kStop + usage(1, 64) + kDone).end().usage.completion, 64);
}

/// Expects that the pooled gaps between tokens have the time per output token as their mean.
void expect_one_mean(const RequestRecord& record, std::string_view what) {
    const auto tpot = metric_named("tpot")->of_request(record);
    if (!tpot) return;
    std::vector<PooledValue> gaps;
    metric_named("itl")->pool(record, gaps);
    double sum = 0;
    double weight = 0;
    for (const PooledValue& gap : gaps) {
        sum += gap.value * static_cast<double>(gap.weight);
        weight += static_cast<double>(gap.weight);
    }
    EXPECT_NEAR(sum / weight, *tpot, 1e-12) << what;
}

TEST(Tokens, GiveGapsWhoseMeanIsTheTimePerOutputToken) {
    Random random(5);
    for (int round = 0; round < 300; ++round) {
        const auto whole = [&](int most) { return static_cast<int>(random.uniform() * most); };
        Answer answer;
        const int events = 2 + whole(40);
        int now = 100;
        for (int i = 0; i < events; ++i) {
            now += 1 + whole(20);
            answer.read(now, text(std::string(1 + whole(9), 'x')));
        }
        expect_one_mean(answer.read(now + 1, the_end(usage(9, 2 + whole(80)))).end(),
                        "round " + std::to_string(round));
    }
}

TEST(Answer, FindsReasoningUnderEveryKnownName) {
    for (const std::string name : {"reasoning_content", "reasoning", "thinking", "thoughts"}) {
        const RequestRecord record = Answer().read(1, thought(name)).read(2, kAnswer).end();
        EXPECT_EQ(record.first_event, at(1)) << name;
        EXPECT_EQ(record.first_answer, at(2)) << name;
        EXPECT_FALSE(record.unseen_output) << name;
    }
    for (const std::string part : {"text", "summary"}) {
        const RequestRecord record =
            Answer()
                .read(1, chunk(R"({"content":"","reasoning_details":[{"type":"reasoning.text",")" + part +
                               R"(":"hm"}]})"))
                .read(2, kAnswer)
                .end();
        EXPECT_EQ(record.first_event, at(1)) << part;
        EXPECT_EQ(record.first_answer, at(2)) << part;
    }
}

TEST(Answer, ReadsArgumentsOfToolsThatAreObjects) {
    const RequestRecord record =
        Answer()
            .read(1, chunk(R"({"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"a":[1]}}}]})"))
            .read(2, chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":{"b":2}}}]})",
                           R"("tool_calls")"))
            .read(3, kDone)
            .end();
    EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
    EXPECT_EQ(record.streamed_tokens, 2);
    EXPECT_EQ(record.first_event, at(1));
}

TEST(Answer, ReadsTextInTheValueOfAPart) {
    const RequestRecord record =
        Answer()
            .read(1, chunk(R"({"content":[{"type":"text","text":{"value":"hm","annotations":[]}}]})"))
            .read(2, kAnswer)
            .end();
    EXPECT_EQ(record.first_answer, at(1));
    EXPECT_EQ(record.chunks, 2);
}

TEST(Tokens, OfPredictionsThatWereRejectedAreNoOutput) {
    Answer answer;
    for (int i = 0; i < 32; ++i) answer.read(i, text("word "));
    const std::string counted =
        R"(data: {"choices":[],"usage":{"prompt_tokens":16,"completion_tokens":64,"total_tokens":80,)"
        R"("completion_tokens_details":{"rejected_prediction_tokens":32}}})"
        "\n\n";
    const RequestRecord record = answer.read(33, kStop + counted + kDone).end();
    EXPECT_EQ(record.usage.completion, 32);
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
}

TEST(Answer, ReadsReasoningInAnObject) {
    const RequestRecord record =
        Answer().read(1, chunk(R"({"reasoning":{"content":"hm"}})")).read(2, kAnswer).end();
    EXPECT_EQ(record.first_event, at(1));
    EXPECT_EQ(record.first_answer, at(2));
}

TEST(Answer, QuotesAnAnswerWhoseTextIsUnderAnUnknownName) {
    for (const std::string choice : {R"({"index":0,"message":{"content":"word"},"finish_reason":"stop"})",
                                     R"({"index":0,"delta":{"words":"word"},"finish_reason":"stop"})"}) {
        const RequestRecord record =
            Answer().read(1, R"(data: {"choices":[)" + choice + "]}\n\n" + kDone).end();
        EXPECT_EQ(record.outcome, Outcome::empty);
        EXPECT_THAT(record.error, AllOf(HasSubstr("names that are not known"), HasSubstr("word")));
    }
    const RequestRecord speech = Answer()
                                     .read(1, chunk(R"({"audio":{"id":"a","transcript":"one","data":"AA"}})"))
                                     .read(2, kStop + kDone)
                                     .end();
    EXPECT_THAT(speech.error, HasSubstr("not known (delta.audio.transcript)"));
}

TEST(Answer, SaysThatAnUnannouncedAnswerIsPacked) {
    EXPECT_THAT(Answer().read(1, "\x1f\x8b\x08 xyz").end().error, HasSubstr("packed with gzip"));
    EXPECT_THAT(Answer().read(1, "\x28\xb5\x2f\xfd\x04 xyz").end().error, HasSubstr("packed with zstd"));
    for (const std::string end : {"", "\n", "\n\n"}) {
        const RequestRecord brotli = Answer().read(1, "\x1b\x2a\x01\xf8\x25\x01\x22\x98" + end).end();
        EXPECT_THAT(brotli.error, AllOf(HasSubstr("probably compressed"), ::testing::Not(HasSubstr("\x98"))));
    }
    EXPECT_THAT(Answer().read(1, "caf\xe9 is closed").end().error, HasSubstr("is closed"));
}

TEST(Answer, SpacesWithoutAWidthBeforeTheTextAreNoOutput) {
    for (const std::string space : {"\\u200b", "\u200b", "\ufeff"}) {
        const RequestRecord record = Answer()
                                         .read(1, kRole + text(space))
                                         .read(2, text(space))
                                         .read(9, text("a"))
                                         .read(10, text(space))
                                         .read(10, text("b"))
                                         .read(10, kStop)
                                         .read(10, usage(1, 3))
                                         .read(10, kDone)
                                         .end();
        EXPECT_EQ(record.first_event, at(9));
        EXPECT_EQ(record.chunks, 3) << "behind the first text it may be meant";
    }
}

TEST(Answer, TextThatComesAgainWithEachEventOrAtTheEndCountsOnce) {
    Answer growing({.keep_text = true});
    Answer repeated({.keep_text = true});
    std::string whole;
    for (int i = 1; i <= 8; ++i) {
        whole += "four tokens a time ";
        growing.read(10 * i, text(whole));
        repeated.read(10 * i, text("four tokens a time "));
    }
    const std::string end = kStop + usage(1, 32) + kDone;
    const RequestRecord so_far = growing.read(81, end).end();
    EXPECT_EQ(so_far.answer, whole);
    EXPECT_THAT(tokens_of(so_far), ::testing::Each(4U));
    const RequestRecord again = repeated.read(81, text(whole) + end).end();
    EXPECT_EQ(again.answer, whole);
    EXPECT_LE(tokens_of(again).back(), 1U);
    EXPECT_EQ(again.streamed_tokens, 32);
    Answer other({.keep_text = true});
    for (const char* word : {"a", "bb", "c", "dd", "e", "ff"}) other.read(1, text(word));
    EXPECT_EQ(other.read(2, kStop + kDone).end().answer, "abbcddeff");
}

TEST(Answer, TextSoFarOfReasoningAndThenOfTheAnswerCountsOnce) {
    for (const bool keeps_reasoning : {true, false}) {
        Answer answer({.keep_text = true});
        std::string thoughts, said;
        for (int i = 1; i <= 8; ++i) {
            (i <= 4 ? thoughts : said) += "four tokens a time ";
            const std::string content = i <= 4 ? "" : fmt::format(R"("content":"{}")", said);
            const std::string reasoning =
                i <= 4 || keeps_reasoning ? fmt::format(R"("reasoning_content":"{}")", thoughts) : "";
            const bool both = !content.empty() && !reasoning.empty();
            answer.read(10 * i, chunk(fmt::format("{{{}{}{}}}", reasoning, both ? "," : "", content)));
        }
        const RequestRecord record = answer.read(81, kStop + usage(1, 32) + kDone).end();
        EXPECT_THAT(tokens_of(record), ::testing::Each(4U));
        EXPECT_EQ(record.answer, said);
    }
}

TEST(Answer, SaysThatOutputCameUnderUnknownNames) {
    const std::string unknown = chunk(R"({"content":"","inner_voice":"hm"})");
    EXPECT_TRUE(Answer().read(1, unknown + unknown).read(2, text("a") + kStop).end().unseen_output);
    EXPECT_FALSE(Answer().read(1, unknown).read(2, text("a") + kStop).end().unseen_output)
        << "one event may be a note of a gateway";
    const std::string note = chunk(R"({"content":"a","provider":"x","note":"y"})");
    EXPECT_FALSE(Answer().read(1, note + note).read(2, kStop).end().unseen_output)
        << "beside known output it is none";
}

TEST(Answer, NamesTheModelThatAnsweredIfItIsAnother) {
    const auto answered = [](std::string_view asked, std::string_view model) {
        const std::string named = R"(,"model":")" + std::string(model) + '"';
        return Answer({.asked_model = asked})
            .read(1, chunk(R"({"role":"assistant"})", "null", named))
            .read(2, text("a", named) + text("b", named) + kStop + kDone)
            .end()
            .answered_model;
    };
    EXPECT_EQ(answered("large", "tiny-fallback"), "tiny-fallback");
    for (const std::string same : {"org/Llama-3-8B", "llama-3-8b", "/models/Llama-3-8B-2024-08-06"})
        EXPECT_EQ(answered("org/Llama-3-8B", same), "");
    EXPECT_EQ(answered("", "anything"), "");
    EXPECT_EQ(Answer({.asked_model = "large"}).read(1, text("a") + kStop).end().answered_model, "");
    const std::string whole =
        R"({"model":"tiny","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]})";
    EXPECT_EQ(Answer({.asked_model = "large"}).read(1, whole).end().answered_model, "tiny");
}

TEST(Outcome, AnAnswerThatTheServerGaveUpIsAFailure) {
    for (const std::string reason : {"abort", "aborted", "cancelled", "timeout", "error"}) {
        const RequestRecord record = Answer().read(1, text("a")).read(2, ended_by(reason)).end();
        EXPECT_EQ(record.outcome, Outcome::stream_error) << reason;
        EXPECT_THAT(record.error, HasSubstr(reason));
    }
    const auto error_of = [](std::string_view stream) { return Answer().read(1, stream).end().error; };
    EXPECT_EQ(error_of(R"(data: {"base_resp":{"status_code":1002,"status_msg":"rate limit"},"choices":null})"
                       "\n\n"),
              "rate limit (1002)");
    EXPECT_EQ(error_of("event: error\ndata: {\"code\":500,\"msg\":\"too busy\"}\n\n"), "too busy (500)");
    EXPECT_EQ(error_of("event: error\ndata: out of memory\n\n"), "out of memory");
    const RequestRecord fine =
        Answer().read(1, text("a", R"(,"base_resp":{"status_code":0,"status_msg":""})")).read(2, kStop).end();
    EXPECT_EQ(fine.outcome, Outcome::ok);
}

TEST(Outcome, AReasonOfTheEndThatNamesAFailureIsOne) {
    for (const std::string reason : {"insufficient_system_resource", "network_error", "FAILED", "timed_out"})
        EXPECT_EQ(Answer().read(1, text("a") + ended_by(reason)).end().outcome, Outcome::stream_error)
            << reason;
    for (const std::string reason : {"content_filter", "SAFETY", "sensitive", "guardrail_intervened"})
        EXPECT_EQ(Answer().read(1, text("a") + ended_by(reason)).end().outcome, Outcome::stream_error)
            << "a filter cut the answer off: " << reason;
    for (const std::string reason : {"stop", "length", "tool_calls", "MAX_TOKENS", "eos_token"})
        EXPECT_EQ(Answer().read(1, text("a") + ended_by(reason)).end().outcome, Outcome::ok) << reason;
    const RequestRecord aborted =
        Answer().read(1, text("a") + chunk("{}", R"({"type":"abort","message":"Input too long"})")).end();
    EXPECT_EQ(aborted.outcome, Outcome::stream_error);
    EXPECT_EQ(aborted.error, "finish_reason is \"abort\": Input too long");
    const RequestRecord ended =
        Answer().read(1, text("a") + chunk("{}", R"({"type":"length","length":1})")).end();
    EXPECT_EQ(ended.outcome, Outcome::ok);
    EXPECT_EQ(ended.finish_reason, "length");
}

TEST(Outcome, WhatAnotherApiSendsIsQuoted) {
    const auto error_of = [](std::string_view answer) { return Answer().read(1, answer).end().error; };
    EXPECT_THAT(error_of("data: {\"text\":\"hello\",\"meta_info\":{\"completion_tokens\":1}}\n\n" + kDone),
                AllOf(HasSubstr("of another kind"), HasSubstr("meta_info")));
    EXPECT_THAT(error_of("data:{\"token\":{\"id\":5,\"text\":\"w\"},\"generated_text\":null}\n\n"),
                HasSubstr("generated_text"));
    EXPECT_THAT(
        error_of("data: {\"response\":\"w\"}\n\ndata: {\"response\":\"\",\"usage\":{\"completion_tokens\":1}}"
                 "\n\n" +
                 kDone),
        AllOf(HasSubstr("of another kind"), HasSubstr("response")));
    EXPECT_THAT(error_of("<!DOCTYPE html><title>Please log in</title>"), HasSubstr("Please log in"));
    EXPECT_THAT(error_of("{\"message\":{\"content\":\"w\"},\"done\":false}\n{\"done\":true}\n"),
                HasSubstr("JSON objects in lines"));
    std::string lines = text("a") + text("b") + kStop;
    while (lines.find("\n\n") != std::string::npos) lines.erase(lines.find("\n\n"), 1);
    EXPECT_THAT(error_of(lines), HasSubstr("no blank line"));
    std::string pairs = text("a") + text("b");
    pairs.erase(pairs.find("\n\n"), 1);
    EXPECT_THAT(error_of(pairs + kStop + kDone), HasSubstr("no blank line"));
    EXPECT_EQ(error_of(R"({"error_code":336003,"error_msg":"too many words","id":"x"})"),
              "too many words (336003)");
    EXPECT_EQ(error_of("data: {\"error_code\":18,\"error_msg\":\"too fast\"}\n\n"), "too fast (18)");
    EXPECT_THAT(error_of(R"({"choices":[],"note":"nothing"})"), HasSubstr("nothing"));
}

TEST(Outcome, LinesOfObjectsAreNamedWhateverEndsALine) {
    for (const std::string end : {"\n", "\r\n", "\n\n"}) {
        const std::string line = R"({"choices":[{"delta":{"content":"a"}}]})" + end;
        EXPECT_THAT(Answer().read(1, line + line).end().error, HasSubstr("JSON objects in lines")) << end;
    }
}

TEST(Outcome, AnAnswerWithoutOutputIsQuoted) {
    EXPECT_THAT(Answer().read(1, "data: {\"choices\":null,\"status_text\":\"too many\"}\n\n").end().error,
                AllOf(HasSubstr("before a finish_reason"), HasSubstr("too many")));
    EXPECT_THAT(Answer().read(1, chunk(R"({"audio":{"transcript":"hi"}})") + kStop + kDone).end().error,
                AllOf(HasSubstr("names that are not known"), HasSubstr("transcript")));
}

TEST(Outcome, AKeyThatAServerEchoesIsNotQuoted) {
    Secrets secrets;
    secrets.add_header("Authorization", "Bearer sk-very-secret-key");
    for (const std::size_t before : {0, 60, 4090}) {
        DeltaParser parser(secrets);
        RequestRecord record;
        AnswerReader reader(parser);
        reader.begin(record);
        PaddedBuffer padded;
        padded.append(std::string(before, 'x') + " sk-very-secret-key and more");
        reader.on_body({padded.view().data(), padded.size()}, at(1), true, true);
        reader.finish(true);
        EXPECT_EQ(record.outcome, Outcome::malformed);
        EXPECT_EQ(record.error.find("sk-very"), std::string::npos) << record.error;
    }
}

TEST(Outcome, AnEndMarkerMayBeQuotedOrSmall) {
    for (const char* marker : {"data: \"[DONE]\"\n\n", "data: [done]\n\n"})
        EXPECT_EQ(Answer().read(1, text("a") + marker).end().outcome, Outcome::ok) << marker;
}

/// An event with an entry of "choices" for each text.
std::string side_by_side(const std::vector<std::string>& texts, std::string_view finish = "null") {
    std::string entries;
    for (std::size_t i = 0; i < texts.size(); ++i)
        entries += (i == 0 ? "" : ",") + (R"({"index":)" + std::to_string(i)) + R"(,"delta":{"content":")" +
                   texts[i] + R"("},"finish_reason":)" + std::string(finish) + "}";
    return R"(data: {"choices":[)" + entries + "]}\n\n";
}

TEST(Tokens, OfChoicesInOneEventAreThoseOfEachChoice) {
    Answer answer({.keep_text = true});
    for (int i = 0; i < 16; ++i) answer.read(100 + 10 * i, side_by_side({"one ", "two ", "three "}));
    const RequestRecord record =
        answer.read(260, side_by_side({"", "", ""}, R"("length")") + usage(1, 48) + kDone).end();
    EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
    EXPECT_EQ(record.chunks, 48);
    EXPECT_EQ(record.grouped_chunks, 0);
    EXPECT_EQ(record.first_group_tokens, 3);
    EXPECT_EQ(record.decoding, std::chrono::milliseconds(3 * 150));
    EXPECT_NEAR(*metric_named("tpot")->of_request(record), 0.010, 1e-9);
    EXPECT_EQ(record.answer.substr(0, 12), "one one one ");
    EXPECT_EQ(record.finish_reason, "length");
}

TEST(Tokens, OfChoicesInOneEventMayEndAtDifferentTimes) {
    const std::string one_ends =
        R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{"content":"b"}}]})"
        "\n\n";
    const std::string end = chunk("{}", R"("stop")", "", 1);
    const RequestRecord record =
        Answer().read(1, side_by_side({"a", "b"})).read(2, one_ends).read(3, end + usage(1, 3) + kDone).end();
    EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
    EXPECT_EQ(record.chunks, 3);
    EXPECT_EQ(Answer().read(1, side_by_side({"a", "b"}) + one_ends).end().outcome, Outcome::truncated);
    const std::string twice_the_same =
        R"(data: {"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"},)"
        R"("finish_reason":"stop"}]})"
        "\n\n";
    EXPECT_EQ(Answer().read(1, twice_the_same + kDone).end().chunks, 1);
}

TEST(Tokens, WithoutThePromptThatTheCountIncludesAreAnEstimate) {
    RequestRecord wanted;
    wanted.wanted_output_tokens = 32;
    const std::string counted =
        R"(data: {"choices":[],"usage":{"prompt_tokens":16,"completion_tokens":48,"total_tokens":48}})"
        "\n\n";
    Answer answer({}, wanted);
    for (int i = 0; i < 32; ++i) answer.read(10 * i, text("word "));
    const RequestRecord record = answer.read(321, kStop + counted + kDone).end();
    EXPECT_EQ(record.token_source, TokenSource::disputed);
    EXPECT_EQ(record.usage.completion, 32);
    EXPECT_EQ(record.usage.prompt, 16);
    EXPECT_EQ(record.streamed_tokens, 32);
    const std::string whole =
        R"({"choices":[{"message":{"content":"word"},"finish_reason":"length"}],)"
        R"("usage":{"prompt_tokens":9000,"completion_tokens":9032,"total_tokens":9032}})";
    const RequestRecord at_once =
        Answer({.stream = false, .limits = limits_for(32, 40000)}, wanted).read(1, whole).end();
    EXPECT_EQ(at_once.outcome, Outcome::ok) << at_once.error;
    EXPECT_EQ(at_once.usage.completion, 32);
    EXPECT_EQ(at_once.token_source, TokenSource::disputed);
}

TEST(Answer, TextAfterItsEndThatIsNotCountedIsLeftOut) {
    const auto answer_of = [](int tokens) {
        Answer answer({.keep_text = true});
        for (const int begin : {100, 500}) {
            for (int i = 0; i < 32; ++i) answer.read(begin + 10 * i, text("word "));
            answer.read(begin + 311, kStop);
        }
        return answer.read(900, usage(1, tokens) + kDone).end();
    };
    const RequestRecord once = answer_of(32);
    EXPECT_EQ(once.outcome, Outcome::ok);
    EXPECT_EQ(once.chunks, 32);
    EXPECT_EQ(once.last_event, at(410));
    EXPECT_EQ(once.finished, at(900));
    EXPECT_EQ(once.answer.size(), 32 * 5U);
    EXPECT_TRUE(once.uncounted_output);
    const RequestRecord counted = answer_of(64);
    EXPECT_EQ(counted.chunks, 64);
    EXPECT_FALSE(counted.uncounted_output);
}

TEST(Answer, BlanksThatKeepTheConnectionOpenAreNoTokens) {
    const auto answer_of = [](int blanks, int tokens, std::string_view blank = "\\n") {
        Answer answer;
        for (int i = 0; i < blanks; ++i) answer.read(10 * i, text(blank));
        for (int i = 0; i < 32; ++i) answer.read(500 + 10 * i, text("word "));
        return answer.read(900, kStop + usage(1, tokens) + kDone).end();
    };
    const RequestRecord heart = answer_of(5, 32);
    EXPECT_EQ(heart.first_event, at(500));
    EXPECT_EQ(heart.chunks, 32);
    EXPECT_FALSE(heart.uncounted_output);
    EXPECT_EQ(answer_of(5, 37).first_event, at(0)) << "the usage counts them";
    EXPECT_EQ(answer_of(1, 32).first_event, at(0)) << "the usage may leave out one token";
    EXPECT_EQ(answer_of(5, 32, "a").first_event, at(0)) << "no blanks";
}

TEST(Tokens, OfOtherChoicesAreWantedToo) {
    RequestRecord wanted;
    wanted.wanted_output_tokens = 4;  // two for each of two choices
    const std::string both = text("a") + text("b") + chunk(R"({"content":"c"})", "null", "", 1) + kStop +
                             chunk("{}", R"("stop")", "", 1);
    EXPECT_EQ(Answer({.ignore_eos_accepted = true}, wanted).read(1, both + usage(1, 4) + kDone).end().outcome,
              Outcome::ok);
    EXPECT_EQ(Answer({.ignore_eos_accepted = true}, wanted).read(1, both + usage(1, 3) + kDone).end().outcome,
              Outcome::too_short);
}

TEST(Outcome, TextThatIsNoJsonIsQuoted) {
    EXPECT_THAT(Answer().read(1, "data: it begins\n\n").end().error, HasSubstr("\"it begins\""));
    EXPECT_EQ(Answer().read(1, "data: null\n\n" + text("a") + kStop).end().outcome, Outcome::ok);
}

// ---------------------------------------------------------------- outcomes

TEST(Outcome, DoneIsTheEndAndWhatFollowsIsIgnored) {
    Answer answer;
    answer.read(1, text("a") + kStop + kDone + kDone + "garbage\n\n");
    EXPECT_TRUE(answer.done());
    answer.read(2, "data: {broken\n\n" + text("late"));
    const RequestRecord record = answer.end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.chunks, 1);
    EXPECT_EQ(record.finished, at(1));
}

TEST(Outcome, AMissingDoneIsNoFailureAfterAFinishReason) {
    const RequestRecord record = Answer().read(1, text("a") + kStop).end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.finished, at(1));
}

TEST(Outcome, ADoneWithoutItsBlankLineCounts) {
    EXPECT_EQ(Answer().read(1, text("a") + "data: [DONE]").end().outcome, Outcome::ok);
}

TEST(Outcome, AnEndBeforeAFinishReasonIsTruncated) {
    const RequestRecord record = Answer().read(1, text("a")).read(2, text("b")).end();
    EXPECT_EQ(record.outcome, Outcome::truncated);
    EXPECT_THAT(record.error, HasSubstr("finish_reason"));
    EXPECT_EQ(record.streamed_tokens, 2);
    const std::string half = text("half");
    EXPECT_EQ(Answer().read(1, text("a") + half.substr(0, half.size() - 20)).end().outcome,
              Outcome::truncated);
}

TEST(Outcome, OneChoiceWithoutItsFinishReasonIsTruncated) {
    const std::string first = chunk(R"({"content":"x"})", "null", "", 0),
                      second = chunk(R"({"content":"y"})", "null", "", 1);
    const std::string stop_first = chunk("{}", R"("stop")", "", 0),
                      stop_second = chunk("{}", R"("stop")", "", 1);
    EXPECT_EQ(Answer().read(1, first + second + stop_first).end().outcome, Outcome::truncated);
    EXPECT_EQ(Answer().read(1, first + second + stop_first + stop_second).end().outcome, Outcome::ok);
}

TEST(Outcome, ABrokenConnectionIsDisconnectedUnlessTheAnswerWasDone) {
    EXPECT_EQ(Answer().read(1, text("a")).end(false).outcome, Outcome::disconnected);
    EXPECT_EQ(Answer().read(1, text("a") + kStop + kDone).end(false).outcome, Outcome::ok);
}

TEST(Outcome, AnErrorInsideTheStreamFailsAndKeepsTheTimes) {
    Answer answer;
    answer.read(1, text("a"))
        .read(2, "data: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\n" + kDone);
    EXPECT_TRUE(answer.done());
    const RequestRecord record = answer.end();
    EXPECT_EQ(record.outcome, Outcome::stream_error);
    EXPECT_EQ(record.error, "boom (server_error)");
    EXPECT_EQ(record.first_event, at(1));
    EXPECT_EQ(Answer().read(1, text("a") + chunk("{}", R"("error")") + kDone).end().outcome,
              Outcome::stream_error);
}

TEST(Outcome, of_a_stream_whose_last_lines_are_an_error_and_no_event_has_the_words_of_the_server) {
    const std::string object =
        "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n"
        "    \"status\": \"UNAVAILABLE\"\n  }\n}";
    const std::string field =
        "error: {\"code\":500,\"message\":\"out of context\",\"type\":\"server_error\"}\n\n";
    const std::string words = "upstream connect error or disconnect/reset before headers";
    struct Case {
        std::string stream;
        std::string error;
    };
    const Case cases[] = {
        {text("a") + object, "The model is overloaded. (503)"},
        {"[" + object + "]", "The model is overloaded. (503)"},
        {text("a") + field, "out of context (server_error)"},
        {field, "out of context (server_error)"},
        {text("a") + "error: it has crashed\n\n", "it has crashed"},
        {text("a") + words, words},
        {text("a") + "x-note: 1\n" + text("b") + words + "\n", words},
        {text("a") + "<html><head><title>502</title></head><body>Bad Gateway</body></html>\n", "Bad Gateway"},
    };
    for (const auto& [stream, error] : cases) {
        for (const std::size_t size : {std::size_t{3}, stream.size()}) {
            Answer answer;
            for (std::size_t from = 0; from < stream.size(); from += size)
                answer.read(1, std::string_view(stream).substr(from, size));
            const RequestRecord record = answer.end();
            EXPECT_EQ(record.outcome, Outcome::stream_error) << stream;
            EXPECT_EQ(record.error, error);
        }
    }
    Answer broken;
    broken.read(1, text("a") + field);
    broken.record().outcome = Outcome::disconnected;
    EXPECT_EQ(broken.end(false).error, "out of context (server_error)");
}

TEST(Outcome, of_a_stream_that_ends_within_a_field_or_behind_an_unknown_one_is_truncated) {
    for (const char* const end : {"d", "dat", "eve", "err", " \n\n", "x-note: 1\n: ping\n\n"})
        EXPECT_EQ(Answer().read(1, text("a") + end).end().outcome, Outcome::truncated) << end;
    EXPECT_EQ(Answer().read(1, text("a") + kStop + "x-note: 1\n\n").end().outcome, Outcome::ok);
    EXPECT_EQ(Answer().read(1, text("a") + std::string(20000, 'x') + "\n").end().outcome, Outcome::truncated);
}

TEST(Outcome, SignsOfLifeAndNotesOfGatewaysAreNoErrors) {
    for (const std::string_view event :
         {"event: ping\ndata: ping\n\n", "event: ping\ndata: 1712345678\n\n", "event: ping\ndata: []\n\n",
          "data: ping\n\n", "data: keep-alive\n\n", "data: : keepalive\n\n", "data: [PING]\n\n",
          "event: ping\ndata: {\"type\":\"ping\",\"message\":\"still working\"}\n\n",
          "data: {\"message\":\"processing\",\"progress\":0.4}\n\n",
          "event: ping\ndata: {\"detail\":\"queued\"}\n\n", "data: {\"code\":0,\"message\":\"Success\"}\n\n",
          "data: {\"status\":\"running\",\"message\":\"x\"}\n\n", "data: {\"choices\":[],\"error\":{}}\n\n",
          "data: {\"choices\":[],\"error\":{\"code\":0,\"message\":\"\"}}\n\n",
          "data: {\"choices\":[],\"error\":{\"message\":null,\"type\":null}}\n\n"}) {
        const RequestRecord record =
            Answer().read(1, text("a") + std::string(event) + text("b") + kStop + kDone).end();
        EXPECT_EQ(record.outcome, Outcome::ok) << event << record.error;
        EXPECT_EQ(record.chunks, 2) << event;
    }
}

TEST(Outcome, AMessageWithACodeOrATypeOfFailuresIsAnError) {
    for (const std::string_view event : {"data: {\"code\":10019,\"message\":\"breach\",\"choices\":[]}\n\n",
                                         "data: {\"code\":\"InvalidParameter\",\"message\":\"breach\"}\n\n",
                                         "data: {\"object\":\"error\",\"message\":\"breach\"}\n\n",
                                         "data: {\"status\":503,\"detail\":\"breach\"}\n\n"}) {
        const RequestRecord record = Answer().read(1, text("a") + std::string(event) + kStop + kDone).end();
        EXPECT_EQ(record.outcome, Outcome::stream_error) << event;
        EXPECT_THAT(record.error, HasSubstr("breach"));
    }
    EXPECT_EQ(Answer().read(1, text("a", R"(,"code":200,"message":"ok")") + kStop + kDone).end().outcome,
              Outcome::ok);
}

TEST(Outcome, HalvesOfASurrogatePairAreOutput) {
    const RequestRecord record =
        Answer().read(1, kRole + text(R"(a\ud83d)")).read(5, text(R"(\ude00b)") + kStop + kDone).end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.first_event, at(1));
    EXPECT_EQ(record.chunks, 2);
}

TEST(Outcome, AProperEndWithoutOneTokenIsEmpty) {
    EXPECT_EQ(Answer().read(1, kRole + kStop + kDone).end().outcome, Outcome::empty);
    EXPECT_EQ(Answer().read(1, kDone).end().outcome, Outcome::empty);
    EXPECT_EQ(Answer().end().outcome, Outcome::empty);
}

TEST(Outcome, an_answer_without_a_body_names_another_status_than_200) {
    const auto error_at = [](int status) {
        RequestRecord record;
        record.http_status = status;
        return Answer({}, record).end().error;
    };
    EXPECT_EQ(error_at(200), "the answer has no body");
    EXPECT_EQ(error_at(204), "the answer has no body; the status is HTTP 204");
    EXPECT_THAT(error_at(202), AllOf(HasSubstr("HTTP 202"), HasSubstr("must be asked for")));
}

TEST(Outcome, FewerTokensThanAskedForFailOnlyWhenIgnoreEosWasAccepted) {
    RequestRecord wanted;
    wanted.wanted_output_tokens = 3;
    const std::string answer = text("a") + text("b") + kStop + usage(1, 2) + kDone;
    EXPECT_EQ(Answer({}, wanted).read(1, answer).end().outcome, Outcome::ok);
    const RequestRecord record = Answer({.ignore_eos_accepted = true}, wanted).read(1, answer).end();
    EXPECT_EQ(record.outcome, Outcome::too_short);
    EXPECT_THAT(record.error, AllOf(HasSubstr("2 of 3 tokens"), Not(HasSubstr("choices"))));
    const AnswerOptions of_two{.ignore_eos_accepted = true, .limits = {.choices = 2}};
    EXPECT_THAT(Answer(of_two, wanted).read(1, answer).end().error, HasSubstr("1 of the 2 choices that"));
    const std::string full = text("a") + text("b") + text("c") + kStop + usage(1, 3) + kDone;
    EXPECT_EQ(Answer({.ignore_eos_accepted = true}, wanted).read(1, full).end().outcome, Outcome::ok);
    // An estimate proves nothing.
    const std::string uncounted = text("a b c") + kStop + kDone;
    EXPECT_EQ(Answer({.ignore_eos_accepted = true}, wanted).read(1, uncounted).end().outcome, Outcome::ok);
}

TEST(Outcome, TheLimitThatEndedAnAnswerIsTheEstimateOfTokensThatNobodyCounted) {
    RequestRecord wanted;
    wanted.wanted_output_tokens = 9;
    const std::string words = text("one two three") + text(" four five six") + text(" seven eight nine");
    const std::string by_limit = R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})"
                                 "\n\n";
    const RequestRecord full = Answer({}, wanted).read(1, words + by_limit + kDone).end();
    EXPECT_EQ(output_tokens_of(full), 9);
    EXPECT_EQ(full.token_source, TokenSource::disputed);
    EXPECT_FALSE(full.usage.completion);
    EXPECT_EQ(output_tokens_of(Answer({}, wanted).read(1, words + kStop + kDone).end()), 3);
    wanted.wanted_output_tokens = 90;  // the text cannot have so many
    EXPECT_EQ(output_tokens_of(Answer({}, wanted).read(1, words + by_limit + kDone).end()), 3);
}

TEST(Outcome, WhatIsNoEventStreamIsMalformed) {
    EXPECT_EQ(Answer().read(1, "<html>\n<h1>502</h1>\n</html>\n").end().outcome, Outcome::malformed);
    EXPECT_EQ(Answer().read(1, text("a") + "data: not json\n\n").end().outcome, Outcome::malformed);
    Answer endless;
    for (int i = 0; i < 1100; ++i) endless.read(i, std::string(1000, 'x'));
    EXPECT_TRUE(endless.done());
    EXPECT_EQ(endless.end().outcome, Outcome::malformed);
}

TEST(Outcome, AFailureThatTheCallerSawFirstStays) {
    Answer answer;
    answer.read(1, text("a"));
    answer.record().outcome = Outcome::timed_out;
    answer.record().error = "no byte for 10 s";
    const RequestRecord record = answer.end(false);
    EXPECT_EQ(record.outcome, Outcome::timed_out);
    EXPECT_EQ(record.error, "no byte for 10 s");
    EXPECT_EQ(record.streamed_tokens, 1);
}

TEST(Outcome, JsonInsteadOfAStreamHasUsageButNoFirstToken) {
    Answer answer;
    answer.read(1, " \r\n").read(2, R"({"choices":[{"message":{"content":"hello"},)");
    answer.read(9, R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})");
    EXPECT_TRUE(answer.non_streaming());
    const RequestRecord record = answer.end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.first_event, std::nullopt);
    EXPECT_EQ(record.last_event, at(9));
    EXPECT_EQ(record.usage.completion, 2);
    EXPECT_EQ(record.finish_reason, "stop");
    EXPECT_EQ(record.chunks, 0);
    EXPECT_EQ(Answer().read(1, R"({"error":{"message":"no"}})").end().outcome, Outcome::stream_error);
    EXPECT_EQ(Answer().read(1, R"({"choices":[)").end().outcome, Outcome::malformed);
    EXPECT_EQ(Answer({.stream = false}).read(1, "[]").end().outcome, Outcome::malformed);
    EXPECT_EQ(Answer().read(1, R"({"choices":[]})").end().outcome, Outcome::empty);
}

TEST(Answer, PingsAndRoleChunksNeitherStartNorStretchIt) {
    const RequestRecord record = Answer()
                                     .read(1, ": ping\n\n")
                                     .read(2, kRole)
                                     .read(10, text("a"))
                                     .read(50, ": ping\n\nevent: ping\n\n")
                                     .read(60, text("b") + kStop + kDone)
                                     .end();
    EXPECT_EQ(record.first_event, at(10));
    EXPECT_EQ(record.longest_gap, std::chrono::milliseconds(50));
    EXPECT_EQ(record.chunks, 2);
}

TEST(Answer, AReaderIsReadyForTheNextAnswer) {
    DeltaParser parser;
    AnswerReader reader(parser);
    const auto feed = [&](std::string_view bytes) {
        PaddedBuffer padded;
        padded.append(bytes);
        reader.on_body({padded.view().data(), padded.size()}, at(5), true, true);
    };
    RequestRecord first, second;
    reader.begin(first);
    feed(text("a") + "data: {\"half");
    reader.finish(false);
    reader.begin(second);
    feed(text("b") + kStop + usage(1, 1) + kDone);
    reader.finish(true);
    EXPECT_EQ(first.outcome, Outcome::disconnected);
    EXPECT_EQ(second.outcome, Outcome::ok);
    EXPECT_EQ(second.chunks, 1);
}

// ---------------------------------------------------------------- answers of real servers

RequestRecord replay(std::string_view name) {
    return paretoken::testing::replayed(name, default_protocol());
}

TEST(RealStreams, all_have_gaps_whose_mean_is_the_time_per_output_token) {
    std::size_t streams = 0;
    for (const char* const folder : {"streams", "vllm"}) {
        for (const std::string& name : paretoken::testing::golden_files(folder)) {
            if (!name.ends_with(".http") || name.find("error") != std::string::npos) continue;
            const char* const protocol = name.find("messages") != std::string::npos    ? "messages"
                                         : name.find("responses") != std::string::npos ? "responses"
                                                                                       : "chat";
            const RequestRecord record = paretoken::testing::replayed(name, *protocol_named(protocol));
            EXPECT_EQ(record.outcome, Outcome::ok) << name;
            expect_one_mean(record, name);
            ++streams;
        }
    }
    EXPECT_GE(streams, 14U);
}

TEST(RealStreams, VllmChat) {
    const RequestRecord record = replay("streams/vllm-0.32-chat.http");
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 1, 1));
    EXPECT_EQ(record.first_event, at(2));  // the role chunk came first
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
    EXPECT_EQ(record.usage, (TokenUsage{12, std::nullopt, 4, std::nullopt}));
    EXPECT_EQ(record.finish_reason, "length");
}

TEST(RealStreams, VllmChatWithUsageOnEveryChunk) {
    const RequestRecord record = replay("streams/vllm-0.32-chat-continuous-usage.http");
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.token_source, TokenSource::chunk_usage);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 1, 1));
    EXPECT_EQ(record.first_event, at(2));
}

TEST(RealStreams, VllmChatWithTwoChoicesAndLogprobs) {
    const RequestRecord record = replay("streams/vllm-0.32-chat-n2-logprobs.http");
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.token_source, TokenSource::token_ids);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 1, 1, 1, 1));
    EXPECT_EQ(record.first_event, at(3));
    EXPECT_EQ(record.usage.completion, 6);
}

TEST(RealStreams, VllmCompletionsWithTokenIds) {
    const RequestRecord record = replay("streams/vllm-0.32-completions-token-ids.http");
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.token_source, TokenSource::token_ids);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 1, 1));
}

TEST(RealStreams, LlamaCppChatWithTheRoleGluedToTheFirstToken) {
    const RequestRecord record = replay("streams/llamacpp-chat.http");
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 1, 1));
    EXPECT_EQ(record.first_event, at(1));
    EXPECT_EQ(record.grouped_chunks, 0);
    EXPECT_EQ(record.usage, (TokenUsage{32, 0, 4, std::nullopt}));
}

TEST(RealStreams, LlamaCppChatWithTimings) {
    const RequestRecord record = replay("streams/llamacpp-chat-timings.http");
    EXPECT_EQ(record.token_source, TokenSource::chunk_usage);
    EXPECT_THAT(tokens_of(record), ElementsAre(1, 1, 1, 1));
    EXPECT_EQ(record.usage, (TokenUsage{32, 31, 4, std::nullopt}));
}

TEST(RealStreams, LlamaCppCompletionsWithATokenThatHasNoText) {
    const RequestRecord record = replay("streams/llamacpp-completions.http");
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.chunks, 3);
    EXPECT_EQ(record.usage.completion, 4);
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
    EXPECT_EQ(record.finish_reason, "length");
}

// Impossible figures and lengths.

std::string said(const std::string& usage) {
    return R"(data: {"choices":[],"usage":)" + usage + "}\n\n";
}

TEST(Answer, a_usage_of_ten_billion_tokens_is_malformed) {
    for (const char* usage :
         {R"({"completion_tokens":10000000000})", R"({"completion_tokens":1e300})", R"({"prompt_tokens":-1})",
          R"({"completion_tokens":"99999999999999999999999"})",
          R"({"completion_tokens":18446744073709551615})",
          R"({"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":-5}})",
          R"({"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":9223372036854775807}})",
          R"({"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807})"}) {
        const RequestRecord record =
            Answer().read(10, text("a")).read(20, text("b") + kStop).read(30, said(usage) + kDone).end();
        EXPECT_EQ(record.outcome, Outcome::malformed) << usage;
        EXPECT_EQ(record.usage, TokenUsage{}) << usage;
        EXPECT_EQ(record.streamed_tokens, 2) << usage;
        EXPECT_THAT(record.error, HasSubstr("impossible count")) << usage;
    }
}

TEST(Answer, letters_of_several_tokens_are_no_output_that_was_not_shown) {
    // A vocabulary without these letters has a token for each of their bytes.
    for (const std::string& letter : {std::string("\xF0\x9F\x98\x80"), std::string("\\ud83d\\ude00")}) {
        const RequestRecord record = Answer()
                                         .read(10, text(letter))
                                         .read(20, text(letter) + kStop)
                                         .read(30, usage(7, 8) + kDone)
                                         .end();
        EXPECT_FALSE(record.unseen_output) << letter;
        EXPECT_EQ(record.streamed_tokens, 8);
    }
    const RequestRecord hidden =
        Answer().read(10, text("abcd")).read(20, text("efgh") + kStop).read(30, usage(7, 8) + kDone).end();
    EXPECT_TRUE(hidden.unseen_output);
}

TEST(Answer, a_count_that_llamacpp_does_not_know_yet_is_no_fault) {
    const RequestRecord record = Answer()
                                     .read(10, chunk(R"({"content":"a"})", R"("stop")",
                                                     R"(,"timings":{"cache_n":-1,"predicted_n":-1})") +
                                                   kDone)
                                     .end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.usage.cached_prompt, std::nullopt);
}

TEST(Answer, far_more_tokens_than_were_asked_for_are_malformed) {
    const AnswerOptions options{.limits = limits_for(128, 2000)};
    const auto with = [&](const std::string& usage) {
        return Answer(options)
            .read(10, text("a"))
            .read(20, text("b") + kStop)
            .read(30, said(usage) + kDone)
            .end();
    };
    const RequestRecord lie = with(R"({"prompt_tokens":10,"completion_tokens":1000000})");
    EXPECT_EQ(lie.outcome, Outcome::malformed);
    EXPECT_THAT(lie.error,
                AllOf(HasSubstr("1000000 output tokens"), HasSubstr("at most 128 were asked for")));
    EXPECT_EQ(lie.streamed_tokens, 2);
    EXPECT_EQ(with(R"({"prompt_tokens":1000000,"completion_tokens":2})").outcome, Outcome::malformed);
    EXPECT_EQ(with(R"({"prompt_tokens":900,"completion_tokens":300})").outcome, Outcome::ok)
        << "wrong, perhaps, and not absurd";
}

TEST(Answer, running_totals_far_above_the_limit_are_an_estimate) {
    Answer answer({.limits = limits_for(32, 2000)});
    for (int i = 1; i <= 32; ++i)
        answer.read(10 * i, text("word ", R"(,"usage":{"prompt_tokens":)" + std::to_string(32 * i) +
                                              R"(,"completion_tokens":)" + std::to_string(400 * i) + "}"));
    const RequestRecord record = answer.read(330, kStop + usage(32 * 32, 12800) + kDone).end();
    EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
    EXPECT_EQ(record.token_source, TokenSource::one_per_chunk);
    EXPECT_EQ(record.streamed_tokens, 32);
    EXPECT_EQ(record.usage.completion, std::nullopt);
    EXPECT_EQ(record.usage.prompt, 32) << "the prompt of each event is added to those before";
}

TEST(Answer, a_count_along_the_stream_is_held_to_the_same_limit) {
    const RequestRecord record =
        Answer({.limits = limits_for(2, 2000)})
            .read(10, text("a", R"(,"timings":{"predicted_n":1})"))
            .read(20, text("b", R"(,"timings":{"predicted_n":900000000})") + kStop + kDone)
            .end();
    EXPECT_EQ(record.outcome, Outcome::malformed);
    EXPECT_EQ(record.streamed_tokens, 2);
}

TEST(Answer, more_cached_than_prompt_tokens_are_not_known) {
    const RequestRecord record =
        Answer()
            .read(10, text("a") + kStop)
            .read(
                30,
                said(
                    R"({"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":6}})") +
                    kDone)
            .end();
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.usage.prompt, 5);
    EXPECT_EQ(record.usage.cached_prompt, std::nullopt);
    EXPECT_TRUE(record.disputed_cache);
}

TEST(Answer, a_stream_without_end_is_given_up) {
    Answer answer({.limits = limits_for(4, 2000)});
    for (int i = 0; i < 3000 && !answer.done(); ++i) answer.read(i, text("w"));
    EXPECT_TRUE(answer.done());
    const RequestRecord record = answer.end(false);
    EXPECT_EQ(record.outcome, Outcome::malformed);
    EXPECT_THAT(record.error, AllOf(HasSubstr("does not end"), HasSubstr("at most 4")));
    EXPECT_LE(record.chunks, 8 * 4 + 1024);
}

TEST(Answer, a_stream_is_kept_up_to_its_limit_wherever_it_was_cut) {
    const std::string stream = text("abcd") + text("efgh") + text("ijkl");
    AnswerOptions options;
    options.limits.stream_bytes = (text("abcd") + text("efgh")).size() + 3;
    const RequestRecord whole = Answer(options).read(1, stream).end();
    EXPECT_EQ(whole.outcome, Outcome::malformed);
    EXPECT_EQ(whole.chunks, 2) << "what came within the limit is known";
    Answer cut(options);
    cut.read(1, stream.substr(0, 1));
    for (std::size_t i = 1; i < stream.size(); ++i) cut.more_of_that_read(1, stream.substr(i, 1));
    EXPECT_EQ(cut.end(), whole);
}

TEST(Answer, blanks_before_an_answer_are_the_same_wherever_they_were_cut) {
    const std::string blanks(40, ' ');
    const std::string stream_end = text("abcd") + kDone;
    for (const std::string& body : {blanks + stream_end, blanks + R"({"choices":[]})"}) {
        for (const std::size_t limit :
             {std::size_t{0}, std::size_t{30}, std::size_t{45}, std::size_t{4096}}) {
            for (const bool stream : {true, false}) {
                AnswerOptions options;
                options.stream = stream;
                options.limits.stream_bytes = limit;
                options.limits.whole_bytes = stream ? 20 : limit;
                const RequestRecord whole = Answer(options).read(1, body).end();
                Answer cut(options);
                cut.read(1, body.substr(0, 1));
                for (std::size_t i = 1; i < body.size(); ++i) cut.more_of_that_read(1, body.substr(i, 1));
                EXPECT_EQ(cut.end(), whole) << body << " with at most " << limit << " bytes";
            }
        }
    }
}

TEST(Answer, blanks_longer_than_a_line_may_be_are_the_same_wherever_they_were_cut) {
    const std::string blanks(SseParser::kLongest + 100, ' ');
    std::string newline_after = blanks;
    newline_after += '\n';
    newline_after += text("abcd") += kDone;
    std::string indented_event = blanks;
    indented_event += text("ab");
    indented_event += text("cd") += kDone;
    for (const std::string& body : {blanks + R"({"choices":[{"text":"four","finish_reason":"stop"}]})",
                                    newline_after, indented_event}) {
        const RequestRecord whole = Answer().read(1, body).end();
        EXPECT_EQ(whole.outcome, Outcome::ok);
        Answer cut;
        cut.read(1, body.substr(0, blanks.size() / 2));
        cut.more_of_that_read(1, body.substr(blanks.size() / 2, blanks.size() / 2 - 1));
        cut.more_of_that_read(1, body.substr(2 * (blanks.size() / 2) - 1));
        EXPECT_EQ(cut.end(), whole);
    }
    const RequestRecord indented = Answer().read(1, indented_event).end();
    EXPECT_EQ(indented.chunks, 1) << "an indented line is no field";
}

TEST(Answer, a_stream_of_empty_events_without_end_is_given_up) {
    Answer answer({.limits = {.stream_bytes = 10'000}});
    for (int i = 0; i < 1000 && !answer.done(); ++i) answer.read(i, kRole);
    EXPECT_EQ(answer.end(false).outcome, Outcome::malformed);
}

TEST(Answer, an_object_without_end_is_given_up) {
    Answer answer({.limits = limits_for(4, 2000)});
    for (int i = 0; i < 100 && !answer.done(); ++i) answer.read(i, "{" + std::string(100'000, ' '));
    EXPECT_TRUE(answer.done());
    EXPECT_EQ(answer.end(false).outcome, Outcome::malformed);
}

TEST(AnswerLimits, grow_with_what_was_asked_for_and_stay_within_what_can_be_counted) {
    const AnswerLimits few = limits_for(16, 1000);
    const AnswerLimits many = limits_for(100'000, 1000);
    EXPECT_GT(few.output_tokens, 16);
    EXPECT_GT(many.events, few.events);
    EXPECT_GT(many.stream_bytes, few.stream_bytes);
    EXPECT_LE(limits_for(INT64_MAX, SIZE_MAX).output_tokens, kMostTokens);
    EXPECT_EQ(limits_for(-5, 0).asked_output_tokens, 0);
    EXPECT_EQ(limits_for(std::nullopt, 10).output_tokens, kMostTokens);
}

}  // namespace
}  // namespace paretoken::protocol
