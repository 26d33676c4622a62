#include "loadgen/protocol/body.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"

namespace paretoken::protocol {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Request request_of(Prompt prompt, std::optional<std::int64_t> tokens = 16) {
    Request request;
    request.prompt = std::move(prompt);
    request.wanted_output_tokens = tokens;
    return request;
}

json body_of(const BodyOptions& options, const Request& request) {
    return json::parse(BodyWriter(options).body(request));
}

TEST(Body, ATextIsOneUserMessageInChat) {
    EXPECT_EQ(body_of({.protocol = &kChat, .model = "tiny"}, request_of("hello")), json::parse(R"({
        "model": "tiny", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 16,
        "messages": [{"role": "user", "content": "hello"}]})"));
}

TEST(Body, ATextIsThePromptOfACompletion) {
    EXPECT_EQ(body_of({.protocol = &kCompletions, .model = "m", .include_usage = false}, request_of("hello")),
              json::parse(R"({"model": "m", "stream": true, "max_tokens": 16, "prompt": "hello"})"));
}

TEST(Body, ARequestMayNameItsModelAndBringFieldsThatGoBeforeTheRuns) {
    Request request = request_of("hello");
    request.model = "lora-b";
    request.body = R"({"tools": [{"type": "function"}], "max_tokens": 3, "temperature": null})";
    EXPECT_EQ(
        body_of({.protocol = &kChat, .model = "m", .include_usage = false, .temperature = 0.5}, request),
        json::parse(R"({"model": "lora-b", "stream": true, "max_tokens": 3,
                              "tools": [{"type": "function"}],
                              "messages": [{"role": "user", "content": "hello"}]})"));
}

TEST(Body, PartsOfAMessageAreSentInPlaceOfItsText) {
    const std::string parts =
        R"([{"type":"image_url","image_url":{"url":"data:,x"}},{"type":"text","text":"what?"}])";
    const Request request = request_of(Messages{{"user", "what?", parts}});
    EXPECT_EQ(body_of({.protocol = &kChat}, request)["messages"][0]["content"], json::parse(parts));
}

TEST(Body, TokenIdsAreAListInCompletionsAndNothingForChat) {
    const Request request = request_of(TokenIds{5, 70000, 8});
    EXPECT_EQ(body_of({.protocol = &kCompletions}, request)["prompt"], json::parse("[5, 70000, 8]"));
    EXPECT_THROW(BodyWriter({.protocol = &kChat}).body(request), std::invalid_argument);
}

TEST(Body, AConversationKeepsItsRoles) {
    const Request request = request_of(Messages{{"system", "be brief"}, {"user", "hi\n"}});
    EXPECT_EQ(
        body_of({.protocol = &kChat}, request)["messages"],
        json::parse(R"([{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi\n"}])"));
    EXPECT_EQ(body_of({.protocol = &kCompletions}, request)["prompt"], "be brief\nhi\n");
}

TEST(Body, OptionsAreSentOnlyWhenAskedFor) {
    const json body = body_of({.model = "m",
                               .continuous_usage = true,
                               .ignore_eos = true,
                               .return_token_ids = true,
                               .max_completion_tokens = true,
                               .temperature = 0.25},
                              request_of("x", 7));
    EXPECT_EQ(body["stream_options"],
              json::parse(R"({"include_usage": true, "continuous_usage_stats": true})"));
    EXPECT_EQ(body["ignore_eos"], true);
    EXPECT_EQ(body["return_token_ids"], true);
    EXPECT_EQ(body["max_completion_tokens"], 7);
    EXPECT_EQ(body["temperature"], 0.25);
    EXPECT_FALSE(body.contains("max_tokens"));
    EXPECT_EQ(
        body_of({.model = "m", .stream = false}, request_of("x", std::nullopt)),
        json::parse(R"({"model": "m", "stream": false, "messages": [{"role": "user", "content": "x"}]})"));
    EXPECT_TRUE(body_of({.protocol = &kCompletions, .max_completion_tokens = true}, request_of("x"))
                    .contains("max_tokens"));
}

TEST(Body, TheUsersExtraBodyWins) {
    const json body =
        body_of({.model = "m", .ignore_eos = true, .extra_body = R"({"model": "other", "top_p": 0.9,
                               "ignore_eos": null, "max_tokens": 3, "stream_options": {"include_usage": false}})"},
                request_of("x"));
    EXPECT_EQ(body,
              json::parse(R"({"model": "other", "stream": true, "stream_options": {"include_usage": false},
        "top_p": 0.9, "max_tokens": 3, "messages": [{"role": "user", "content": "x"}]})"));
    EXPECT_EQ(body_of({.extra_body = R"({"messages": []})"}, request_of("x"))["messages"], json::array());
    const json without = body_of({.extra_body = R"({"model": null, "stream": null, "stream_options": null})"},
                                 request_of("x"));
    EXPECT_EQ(without, json::parse(R"({"max_tokens": 16, "messages": [{"role": "user", "content": "x"}]})"));
}

TEST(Body, TheLimitOnOutputTokensIsThatOfTheBodyThatIsSent) {
    const auto asked = [](const BodyOptions& options, const std::string& own) {
        Request request = request_of("x");  // wants 16 tokens
        request.body = own;
        return BodyWriter(options).asked_output_tokens(request);
    };
    EXPECT_EQ(asked({}, ""), 16);
    EXPECT_EQ(asked({.extra_body = R"({"n": 4})"}, ""), 64);
    EXPECT_EQ(asked({.extra_body = R"({"max_tokens": 5, "best_of": 2})"}, ""), 10);
    EXPECT_EQ(asked({}, R"({"n": 64})"), 1024);
    EXPECT_EQ(asked({.extra_body = R"({"max_tokens": 5})"}, R"({"max_tokens": 500, "n": 3})"), 1500);
    EXPECT_EQ(asked({}, R"({"max_tokens": null})"), std::nullopt);
}

TEST(Body, TheTokensWantedAreThoseOfAllChoices) {
    const auto wanted = [](const BodyOptions& options, const std::string& own) {
        Request request = request_of("x");  // wants 16 tokens
        request.body = own;
        return BodyWriter(options).wanted_output_tokens(request);
    };
    EXPECT_EQ(wanted({}, ""), 16);
    EXPECT_EQ(wanted({.extra_body = R"({"n": 4})"}, ""), 64);
    EXPECT_EQ(wanted({.extra_body = R"({"n": 4})"}, R"({"n": 2})"), 32);
    EXPECT_EQ(wanted({.extra_body = R"({"best_of": 4})"}, ""), 16) << "one answer is sent";
    EXPECT_EQ(wanted({.extra_body = R"({"max_tokens": 5})"}, ""), 5) << "the body asks for fewer";
    EXPECT_EQ(wanted({.extra_body = R"({"max_tokens": 5})"}, R"({"n": 2})"), 10);
    EXPECT_EQ(wanted({.extra_body = R"({"max_tokens": 500})"}, ""), 16);
    EXPECT_EQ(wanted({}, R"({"max_tokens": null})"), 16);
    EXPECT_EQ(BodyWriter({}).wanted_output_tokens(request_of("x", std::nullopt)), std::nullopt);
}

TEST(Body, AnExtraBodyThatIsNoObjectIsRefusedWithThePlace) {
    const auto message = [](std::string text) -> std::string {
        try {
            BodyWriter({.extra_body = std::move(text)});
        } catch (const UsageError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_THAT(message(R"({"top_p": 0.9,})"), HasSubstr("character 15"));
    EXPECT_THAT(message(R"({"top_p" 0.9})"), HasSubstr("--extra-body is not JSON"));
    EXPECT_THAT(message("[1]"), HasSubstr("array"));
    EXPECT_THAT(message("{"), HasSubstr("--extra-body"));
}

TEST(Body, EveryTextSurvivesItsEscaping) {
    std::string text = "quote \" slash \\ / tab \t line \n return \r é 日本 😀 \x7f";
    for (char byte = 1; byte < 0x20; ++byte) text += byte;
    text += '\0';
    EXPECT_EQ(body_of({.model = text}, request_of(text))["messages"][0]["content"], text);
    EXPECT_EQ(body_of({.model = text}, request_of(text))["model"], text);
}

}  // namespace
}  // namespace paretoken::protocol
