#include "loadgen/protocol/delta.h"

#include <gmock/gmock.h>

#include "loadgen/protocol/sse.h"
#include "tests/support/golden.h"

namespace paretoken::protocol {
namespace {

using ::testing::HasSubstr;

Delta parse(std::string_view data) {
    static DeltaParser parser;
    PaddedBuffer padded;
    padded.append(data);
    return parser.parse(padded.view());
}

Delta chat(std::string_view delta) {
    return parse(R"({"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":)" +
                 std::string(delta) + R"(,"logprobs":null,"finish_reason":null}]})");
}

TEST(Delta, TextOfAChatChunkIsOutput) {
    const Delta delta = chat(R"({"content":" hello"})");
    EXPECT_TRUE(delta.has_output);
    EXPECT_EQ(delta.kind, EventKind::content);
    EXPECT_EQ(delta.text_bytes, 6u);
    EXPECT_EQ(delta.token_ids, 0u);
    EXPECT_EQ(delta.finish_reason, "");
    EXPECT_FALSE(delta.usage);
    EXPECT_FALSE(delta.malformed);
}

TEST(Delta, TextBytesAreCountedAfterUnescaping) {
    EXPECT_EQ(chat(R"({"content":"\"\n\u00e9\ud83d\ude00é"})").text_bytes, 1u + 1 + 2 + 4 + 2);
}

TEST(Delta, TheTextOfACompletionChunkIsOutput) {
    const Delta delta =
        parse(R"({"choices":[{"text":"abc","index":0,"logprobs":null,"finish_reason":"length"}]})");
    EXPECT_TRUE(delta.has_output);
    EXPECT_EQ(delta.text_bytes, 3u);
    EXPECT_EQ(delta.finish_reason, "length");
}

TEST(Delta, RoleOnlyEmptyAndNullDeltasAreNoOutput) {
    EXPECT_FALSE(chat(R"({"role":"assistant"})").has_output);
    EXPECT_FALSE(chat(R"({"role":"assistant","content":""})").has_output);
    EXPECT_FALSE(chat(R"({"role":"assistant","content":null})").has_output);
    EXPECT_FALSE(chat("{}").has_output);
    EXPECT_FALSE(chat("null").has_output);
    EXPECT_FALSE(chat(R"({"reasoning_content":null,"tool_calls":[],"content":""})").has_output);
}

TEST(Delta, NoChoicesAreTolerated) {
    EXPECT_EQ(parse(R"({"choices":[]})"), Delta{});
    EXPECT_EQ(parse(R"({"choices":null})"), Delta{});
    EXPECT_EQ(parse(R"({"choices":[],"prompt_filter_results":[{"prompt_index":0}]})"), Delta{});
    EXPECT_EQ(parse(R"({"choices":[null]})"), Delta{});
}

TEST(Delta, DoneIsNoJson) {
    EXPECT_TRUE(parse("[DONE]").done);
    EXPECT_TRUE(parse(" [DONE] ").done);
}

TEST(Delta, NothingAtAllMeansNothing) {
    EXPECT_EQ(parse(""), Delta{});
}

TEST(Delta, AnObjectWithSomethingBehindItIsMalformedWhateverStandsInMemory) {
    const std::string event = R"({"choices":[],"usage":{"prompt_tokens":2}}})";
    for (const char* after : {"1111", "}}}}", "\n\nda", "    "}) {
        std::string padded = event;
        while (padded.size() < event.size() + kReadablePadding) padded += after;
        DeltaParser parser;
        EXPECT_TRUE(parser.parse(std::string_view(padded).substr(0, event.size())).malformed) << after;
    }
}

TEST(Delta, WhatIsNoJsonObjectIsMalformed) {
    for (const auto* data :
         {"{", "hello", "[1]", "{\"choices\":[{\"delta\":{\"content\":\"half", "{\"choices\":[}", "\"text\"",
          "{\"a\" 1}", "{\"choices\":[{\"delta\":{\"content\":\"x\"}"}) {
        EXPECT_TRUE(parse(data).malformed) << data;
    }
}

TEST(Delta, ReasoningIsOutputOfItsOwnKindUnderEitherName) {
    for (const auto* name : {"reasoning_content", "reasoning"}) {
        const Delta delta = chat(R"({"content":null,")" + std::string(name) + R"(":"hm"})");
        EXPECT_TRUE(delta.has_output);
        EXPECT_EQ(delta.kind, EventKind::reasoning);
        EXPECT_EQ(delta.text_bytes, 2u);
    }
    EXPECT_EQ(chat(R"({"reasoning_content":"hm","reasoning":"hm"})").text_bytes, 2u);
}

TEST(Delta, ReasoningBesideAnAnswerCountsAsAnswer) {
    const Delta delta = chat(R"({"content":"x","reasoning":"hm"})");
    EXPECT_EQ(delta.kind, EventKind::content);
    EXPECT_EQ(delta.text_bytes, 3u);
}

TEST(Delta, FragmentsOfToolCallsAreOutputOfTheirOwnKind) {
    const Delta named = chat(
        R"({"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get","arguments":""}}]})");
    EXPECT_TRUE(named.has_output);
    EXPECT_EQ(named.kind, EventKind::tool_call);
    EXPECT_EQ(named.text_bytes, 3u);
    EXPECT_EQ(chat(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]})").text_bytes, 4u);
    EXPECT_EQ(chat(R"({"function_call":{"arguments":"abc"}})").kind, EventKind::tool_call);
}

TEST(Delta, ContentMayComeAsParts) {
    const Delta text = chat(R"({"content":[{"type":"text","text":"ab"},{"type":"text","text":"c"}]})");
    EXPECT_EQ(text.text_bytes, 3u);
    EXPECT_EQ(text.kind, EventKind::content);
    const Delta thinking =
        chat(R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]})");
    EXPECT_EQ(thinking.text_bytes, 2u);
    EXPECT_EQ(thinking.kind, EventKind::reasoning);
}

TEST(Delta, ARefusalIsAnAnswer) {
    EXPECT_EQ(chat(R"({"refusal":"no"})").kind, EventKind::content);
}

TEST(Delta, TokenIdsAndLogprobsCountTokens) {
    EXPECT_EQ(parse(R"({"choices":[{"index":0,"text":"ab","token_ids":[1,2,3],"prompt_token_ids":[7,8]}]})")
                  .token_ids,
              3u);
    EXPECT_EQ(parse(R"({"choices":[{"text":"ab","logprobs":{"tokens":["a","b"],"token_logprobs":[0,0]}}]})")
                  .token_ids,
              2u);
    EXPECT_EQ(
        parse(R"({"choices":[{"delta":{"content":"ab"},"logprobs":{"content":[{"token":"ab","bytes":[97,98],)"
              R"("top_logprobs":[{"token":"x"},{"token":"y"}]}]}}]})")
            .token_ids,
        1u);
    EXPECT_EQ(parse(R"({"choices":[{"delta":{"content":"ab"},"token_ids":null}]})").token_ids, 0u);
}

TEST(Delta, ATokenWhoseTextIsHeldBackIsOutput) {
    const Delta delta = parse(R"({"choices":[{"index":0,"delta":{"content":""},"token_ids":[5]}]})");
    EXPECT_TRUE(delta.has_output);
    EXPECT_EQ(delta.text_bytes, 0u);
}

TEST(Delta, TheChoiceIsNamed) {
    EXPECT_EQ(parse(R"({"choices":[{"index":3,"delta":{"content":"x"}}]})").choice, 3);
    EXPECT_EQ(parse(R"({"choices":[{"delta":{"content":"x"},"index":"2"}]})").choice, 2);
}

TEST(Delta, AnEmptyFinishReasonIsNone) {
    EXPECT_EQ(parse(R"({"choices":[{"delta":{},"finish_reason":""}]})").finish_reason, "");
    EXPECT_EQ(parse(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})").finish_reason,
              "tool_calls");
}

TEST(Delta, UsageIsReadInEverySpelling) {
    const auto usage = [](std::string_view text) {
        return parse(R"({"choices":[],"usage":)" + std::string(text) + "}").usage;
    };
    using Usage = std::optional<TokenUsage>;
    EXPECT_EQ(usage(R"({"prompt_tokens":32,"completion_tokens":4,"total_tokens":36,"prompt_tokens_details":)"
                    R"({"cached_tokens":31},"completion_tokens_details":{"reasoning_tokens":2}})"),
              Usage({32, 31, 4, 2}));
    EXPECT_EQ(usage(R"({"input_tokens":32,"output_tokens":4,"input_tokens_details":{"cached_tokens":31},)"
                    R"("output_tokens_details":{"reasoning_tokens":0}})"),
              Usage({32, 31, 4, 0}));
    EXPECT_EQ(usage(R"({"prompt_tokens":32,"completion_tokens":4,"prompt_cache_hit_tokens":30,)"
                    R"("prompt_cache_miss_tokens":2})"),
              Usage({32, 30, 4, std::nullopt}));
    EXPECT_EQ(usage(R"({"cache_read_input_tokens":31,"input_tokens":1,"output_tokens":0})"),
              Usage({32, 31, 0, std::nullopt}));
    EXPECT_EQ(usage(R"({"prompt_tokens":9,"completion_tokens":1,"cached_tokens":8})"),
              Usage({9, 8, 1, std::nullopt}));
    EXPECT_EQ(usage(R"({"prompt_tokens":9,"prompt_tokens_details":null,"completion_tokens_details":null})"),
              Usage({9, std::nullopt, std::nullopt, std::nullopt}));
}

TEST(Delta, UsageMayHaveItsNamesInCamelCase) {
    EXPECT_EQ(parse(R"({"usage":{"promptTokens":32,"completionTokens":4,"totalTokens":36}})").usage,
              (TokenUsage{32, std::nullopt, 4, std::nullopt}));
    EXPECT_EQ(parse(R"({"usage":{"inputTokens":32,"outputTokens":4}})").usage,
              (TokenUsage{32, std::nullopt, 4, std::nullopt}));
}

TEST(Delta, UsageMayHaveGeminisNames) {
    EXPECT_EQ(parse(R"({"choices":[],"usageMetadata":{"promptTokenCount":32,"candidatesTokenCount":4,
                        "thoughtsTokenCount":6,"cachedContentTokenCount":16,"totalTokenCount":42}})")
                  .usage,
              (TokenUsage{32, 16, 10, 6}));
}

TEST(Delta, UsageMayStateTheOutputByItsTotalAlone) {
    EXPECT_EQ(parse(R"({"usage":{"prompt_tokens":32,"total_tokens":36}})").usage,
              (TokenUsage{32, std::nullopt, 4, std::nullopt}));
    EXPECT_EQ(parse(R"({"usage":{"prompt_tokens":32,"total_tokens":32}})").usage->completion, std::nullopt);
}

TEST(Delta, NumbersInUsageMayBeStringsOrFractions) {
    const auto usage = parse(R"({"usage":{"prompt_tokens":"32","completion_tokens":4.0}})").usage;
    EXPECT_EQ(usage, (TokenUsage{32, std::nullopt, 4, std::nullopt}));
}

TEST(Delta, UsageThatIsNullOrSaysNothingIsNone) {
    EXPECT_FALSE(parse(R"({"choices":[],"usage":null})").usage);
    EXPECT_FALSE(parse(R"({"choices":[],"usage":{}})").usage);
    EXPECT_FALSE(parse(R"({"choices":[],"usage":{"prompt_tokens":"many"}})").usage);
}

TEST(Delta, UsageIsFoundInChoicesAndInGroqsField) {
    EXPECT_EQ(parse(R"({"choices":[{"delta":{},"usage":{"prompt_tokens":1}}]})").usage->prompt, 1);
    EXPECT_EQ(
        parse(R"({"choices":[],"x_groq":{"id":"r","usage":{"completion_tokens":2}}})").usage->completion, 2);
}

TEST(Delta, CountsThatGoAlongComeFromUsageOrTimings) {
    EXPECT_EQ(parse(R"({"choices":[{"delta":{"content":"x"}}],"usage":{"completion_tokens":7}})")
                  .completion_tokens_so_far,
              7);
    const Delta timed =
        parse(R"({"choices":[{"delta":{"content":"x"}}],"timings":{"cache_n":31,"predicted_n":3}})");
    EXPECT_EQ(timed.completion_tokens_so_far, 3);
    EXPECT_EQ(timed.usage->cached_prompt, 31);
    EXPECT_FALSE(timed.usage->completion);
}

TEST(Delta, AnErrorInsideTheStreamIsOneLine) {
    EXPECT_EQ(parse(R"({"error":{"message":"out of\nmemory","type":"server_error","code":500}})").error,
              "out of memory (server_error)");
    EXPECT_EQ(parse(R"({"error":"overloaded"})").error, "overloaded");
    EXPECT_EQ(parse(R"({"error":{"error":{"message":"deep"}}})").error, "deep");
    EXPECT_EQ(parse(R"({"object":"error","message":"bad","type":"BadRequestError","code":400})").error,
              "bad (BadRequestError)");
    EXPECT_EQ(parse(R"({"detail":"Not Found"})").error, "Not Found");
    EXPECT_EQ(parse(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})").error,
              "Overloaded (overloaded_error)");
    EXPECT_EQ(parse(R"({"choices":[{"delta":{"content":""},"error":{"code":502,"message":"gone"}}]})").error,
              "gone (502)");
    EXPECT_THAT(parse(R"({"error":{}})").error, HasSubstr("error"));
}

TEST(Delta, AFinishReasonOfErrorIsAnError) {
    EXPECT_THAT(parse(R"({"choices":[{"delta":{},"finish_reason":"error"}]})").error, HasSubstr("error"));
}

TEST(Delta, AnErrorThatIsNullIsNone) {
    EXPECT_EQ(parse(R"({"choices":[{"delta":{"content":"x"},"error":null}],"error":null})").error, "");
    EXPECT_EQ(parse(R"({"choices":[],"error":""})").error, "");
}

TEST(Delta, UnknownKeysObfuscationAndOddTypesAreIgnored) {
    const Delta delta = parse(
        R"({"obfuscation":"aXk","created":"now","service_tier":null,"x":{"choices":[{"text":"no"}]},)"
        R"("choices":[{"delta":{"content":"x","annotations":[1,{"a":"b"}],"role":7},"content_filter_results":{}}]})");
    EXPECT_TRUE(delta.has_output);
    EXPECT_EQ(delta.text_bytes, 1u);
    EXPECT_FALSE(chat(R"({"content":5})").has_output);
    EXPECT_FALSE(chat(R"({"content":{}})").malformed);
}

TEST(Delta, LargeChunksPass) {
    EXPECT_EQ(chat(R"({"content":")" + std::string(50'000, 'x') + R"("})").text_bytes, 50'000u);
}

TEST(Delta, OtherProtocolsEventsMeanNothing) {
    for (const auto* name :
         {"streams/vllm-0.32-responses.http", "streams/llamacpp-anthropic-messages.http"}) {
        const std::string body = paretoken::testing::body_of(paretoken::testing::golden(name));
        SseParser sse;
        PaddedBuffer padded;
        padded.append(body);
        sse.feed(std::span(padded.view().data(), padded.size()), [&](const SseEvent& event) {
            const Delta delta = parse(event.data);
            EXPECT_FALSE(delta.malformed || delta.has_output || !delta.error.empty()) << event.data;
        });
    }
}

TEST(ErrorText, RealServersErrorsAreReadable) {
    const auto said = [](std::string_view name) {
        return error_text_of(paretoken::testing::body_of(paretoken::testing::golden(name)));
    };
    EXPECT_EQ(said("streams/llamacpp-error-bad-request.http"),
              "Expected 'messages' to be an array (invalid_request_error)");
    EXPECT_EQ(said("streams/llamacpp-error-too-long.http"),
              "request (9031 tokens) exceeds the available context size (1024 tokens), try increasing it "
              "(exceed_context_size_error)");
    EXPECT_EQ(said("streams/vllm-0.32-error-wrong-model.http"),
              "The model `nope` does not exist. Valid aliases: tiny. (NotFoundError)");
    EXPECT_THAT(said("streams/vllm-0.32-error-bad-request.http"), HasSubstr("1 validation error: {'type'"));
    EXPECT_THAT(said("streams/vllm-0.32-error-too-long.http"),
                HasSubstr("maximum context length is 4096 tokens"));
}

TEST(ErrorText, ListsAndOtherNamesAreReadableToo) {
    EXPECT_EQ(error_text_of(R"([{"error":{"code":400,"message":"API key not valid","status":"INVALID"}}])"),
              "API key not valid (400)");
    EXPECT_EQ(error_text_of(R"({"errors":[{"code":7000,"message":"No route"}],"success":false})"),
              "No route (7000)");
    EXPECT_EQ(error_text_of(R"({"error_code":18,"error_msg":"too fast"})"), "too fast (18)");
    const std::string routed =
        R"({"error":{"message":"Provider returned error","code":429,"metadata":{"raw":)";
    EXPECT_EQ(error_text_of(routed + R"("m is rate-limited upstream.","provider_name":"Chutes"}}})"),
              "Provider returned error (429): Chutes: m is rate-limited upstream.");
    EXPECT_EQ(error_text_of(routed + R"("{\n\"error\": {\"message\": \"too few\", \"type\": \"bad\"}}"}}})"),
              "Provider returned error (429): too few (bad)");
    EXPECT_EQ(error_text_of(routed + R"(""}}})"), "Provider returned error (429)");
    EXPECT_EQ(parse(routed + R"("gone","provider_name":"X"}}})").error,
              "Provider returned error (429): X: gone");
}

TEST(ErrorText, OtherShapesAreReadableToo) {
    EXPECT_EQ(error_text_of(R"({"detail":[{"loc":["body","x"],"msg":"field required","type":"missing"}]})"),
              "field required (missing)");
    EXPECT_EQ(error_text_of(R"("just a string")"), "just a string");
    EXPECT_EQ(error_text_of(R"({"message":"no Route matched"})"), "no Route matched");
    EXPECT_EQ(
        error_text_of("<html><head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad Gateway</h1>\r\n"
                      "<hr>nginx</body></html>"),
        "502 Bad Gateway nginx");
    EXPECT_EQ(error_text_of("<html><body>No server is available"), "No server is available");
    EXPECT_EQ(error_text_of("<html></html>"), "<html></html>");
    EXPECT_EQ(error_text_of(""), "");
    EXPECT_LE(error_text_of(std::string(5000, 'x')).size(), 200u);
    EXPECT_LE(error_text_of(R"({"error":")" + std::string(5000, 'x') + "\"}").size(), 410u);
}

TEST(WholeAnswer, HoldsUsageAndTextOfAnAnswerThatDidNotStream) {
    const auto answer = parse_whole_answer(
        R"({"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},)"
        R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":"2"}})");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->text_bytes, 5u);
    EXPECT_EQ(answer->finish_reason, "stop");
    EXPECT_EQ(answer->usage, (TokenUsage{3, std::nullopt, 2, std::nullopt}));
    EXPECT_EQ(answer->error, "");
    EXPECT_EQ(parse_whole_answer(R"({"choices":[{"text":"abc"}]})")->text_bytes, 3u);
    EXPECT_EQ(parse_whole_answer(R"({"error":"no"})")->error, "no");
    EXPECT_FALSE(parse_whole_answer("<html>"));
    EXPECT_FALSE(parse_whole_answer("[]"));
}

TEST(Usage, LaterNewsKeepWhatTheyDoNotMention) {
    TokenUsage usage{.prompt = 5, .cached_prompt = 4, .completion = 1, .reasoning = {}};
    update(usage, {.prompt = {}, .cached_prompt = {}, .completion = 9, .reasoning = 2});
    EXPECT_EQ(usage, (TokenUsage{5, 4, 9, 2}));
}

TEST(Usage, TheTokensBesideTheCacheDoNotReplaceTheWholePrompt) {
    TokenUsage usage{.prompt = 110, .cached_prompt = 100, .completion = {}, .reasoning = {}};
    update(usage, {.prompt = 10, .cached_prompt = {}, .completion = 9, .reasoning = {}});
    EXPECT_EQ(usage, (TokenUsage{110, 100, 9, std::nullopt}));
    update(usage, {.prompt = 120, .cached_prompt = {}, .completion = {}, .reasoning = {}});
    EXPECT_EQ(usage.prompt, 120);
    TokenUsage guessed{.prompt = 50, .cached_prompt = 0, .completion = {}, .reasoning = {}};
    update(guessed, {.prompt = 40, .cached_prompt = {}, .completion = {}, .reasoning = {}});
    EXPECT_EQ(guessed.prompt, 40) << "a server may guess at the beginning";
}

}  // namespace
}  // namespace paretoken::protocol
