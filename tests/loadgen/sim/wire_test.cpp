#include "loadgen/sim/wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "loadgen/sim/tokenizer.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const ServedModel kModel{.name = "tiny", .context_limit = 4096, .vocabulary = 5000};

GenerationRequest accepted(Endpoint endpoint, std::string_view body) {
    const auto parsed = parse_generation(endpoint, body, kModel);
    if (const auto* error = std::get_if<ApiError>(&parsed)) ADD_FAILURE() << error->body;
    return std::holds_alternative<GenerationRequest>(parsed) ? std::get<GenerationRequest>(parsed)
                                                             : GenerationRequest{};
}

json refused(Endpoint endpoint, std::string_view body, int status = 400) {
    const auto parsed = parse_generation(endpoint, body, kModel);
    const auto* error = std::get_if<ApiError>(&parsed);
    if (error == nullptr) return "accepted";
    EXPECT_EQ(error->status, status) << error->body;
    return json::parse(error->body).at("error");
}

/// The payloads of the HTTP chunks in `bytes`; checks the framing.
std::vector<std::string> chunks_of(std::string_view bytes) {
    std::vector<std::string> chunks;
    while (!bytes.empty()) {
        const auto line = bytes.find("\r\n");
        const std::size_t size = std::stoul(std::string(bytes.substr(0, line)), nullptr, 16);
        chunks.emplace_back(bytes.substr(line + 2, size));
        EXPECT_EQ(bytes.substr(line + 2 + size, 2), "\r\n");
        bytes.remove_prefix(line + 2 + size + 2);
    }
    return chunks;
}

json event_in(const std::string& chunk) {
    EXPECT_THAT(chunk, StartsWith("data: "));
    EXPECT_THAT(chunk, testing::EndsWith("\n\n"));
    return json::parse(chunk.substr(6));
}

AnswerWriter writer_for(const GenerationRequest& request, Framing framing = Framing::chunked) {
    return {request, "r-1", 1795248095, "tiny", 5000, 9, framing};
}

std::vector<std::string> stream_of(const GenerationRequest& request, std::int64_t tokens) {
    const AnswerWriter writer = writer_for(request);
    std::string out;
    writer.append_opening(out);
    for (std::int64_t k = 0; k < tokens; ++k) writer.append_token(out, k, k + 1 == tokens ? "length" : "");
    writer.append_closing(out, tokens);
    return chunks_of(out);
}

// Requests.

TEST(Wire, AChatIsReadWithItsOptions) {
    const auto request =
        accepted(Endpoint::chat, R"({"model":"tiny","messages":[{"role":"user","content":"Hello there"}],
        "max_completion_tokens":7,"max_tokens":9,"stream":true,"ignore_eos":true,"temperature":0.5,
        "stream_options":{"include_usage":true,"continuous_usage_stats":true}})");
    EXPECT_EQ(request, (GenerationRequest{
                           .endpoint = Endpoint::chat,
                           .prompt_tokens = 2 + kTokensPerText + kTokensPerMessage + kTokensOfAnswerHeader,
                           .prompt_token_ids = {},
                           .max_tokens = 7,
                           .ignore_eos = true,
                           .stream = true,
                           .include_usage = true,
                           .continuous_usage = true}));
}

TEST(Wire, ContentMayComeInParts) {
    const auto whole = accepted(Endpoint::chat, R"({"messages":[{"role":"user","content":"one two"}]})");
    const auto parts = accepted(Endpoint::chat, R"({"messages":[{"role":"user","content":[
        {"type":"text","text":"one"},{"type":"text","text":" two"}]}]})");
    EXPECT_EQ(parts.prompt_tokens, whole.prompt_tokens);
    EXPECT_EQ(
        refused(Endpoint::chat,
                R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})")["type"],
        "BadRequestError");
}

TEST(Wire, PromptsComeAsTextTokenIdsOrAListOfOne) {
    EXPECT_EQ(accepted(Endpoint::completions, R"({"prompt":"one two three"})").prompt_tokens,
              3 + kTokensPerText);
    EXPECT_EQ(accepted(Endpoint::completions, R"({"prompt":["one two three"]})").prompt_tokens,
              3 + kTokensPerText);
    EXPECT_EQ(accepted(Endpoint::completions, R"({"prompt":[5,6,7,8]})").prompt_tokens, 4);
    EXPECT_EQ(accepted(Endpoint::completions, R"({"prompt":[[5,6,7,8]]})").prompt_tokens, 4);
    EXPECT_THAT(refused(Endpoint::completions, R"({"prompt":["a","b"]})")["message"],
                HasSubstr("one prompt"));
    EXPECT_THAT(refused(Endpoint::completions, R"({"prompt":[5000]})")["message"],
                HasSubstr("out of vocabulary"));
    EXPECT_EQ(refused(Endpoint::completions, R"({"prompt":[]})")["param"], "prompt");
}

TEST(Wire, WithoutALimitAChatMayFillTheContextAndACompletionSixteenTokens) {
    const auto chat = accepted(Endpoint::chat, R"({"messages":[{"role":"user","content":"hi"}]})");
    EXPECT_EQ(chat.max_tokens, 4096 - chat.prompt_tokens);
    EXPECT_EQ(accepted(Endpoint::completions, R"({"prompt":"hi"})").max_tokens, 16);
}

TEST(Wire, RefusalsReadLikeVllms) {
    const json model =
        refused(Endpoint::chat, R"({"model":"nope","messages":[{"role":"user","content":"x"}]})", 404);
    EXPECT_EQ(model, json::parse(R"({"message":"The model `nope` does not exist. Valid aliases: tiny.",
                                     "type":"NotFoundError","param":"model","code":404})"));
    const json messages = refused(Endpoint::chat, R"({"messages":"x"})");
    EXPECT_EQ(messages["param"], "body.messages");
    EXPECT_EQ(messages["type"], "Bad Request");
    EXPECT_EQ(refused(Endpoint::chat, R"({})")["param"], "body.messages");
    EXPECT_EQ(refused(Endpoint::chat, R"({"messages":[]})")["param"], "messages");
    EXPECT_EQ(refused(Endpoint::completions, R"({"prompt":"x","n":2})")["param"], "n");
    EXPECT_EQ(refused(Endpoint::completions, R"({"prompt":"x","max_tokens":0})")["param"], "max_tokens");
    EXPECT_EQ(refused(Endpoint::completions, R"({"prompt":"x","stream":"yes"})")["param"], "body.stream");
    EXPECT_EQ(refused(Endpoint::completions, R"({"prompt":"x","stream_options":{}})")["param"],
              "stream_options");
    EXPECT_THAT(refused(Endpoint::completions, "{nonsense")["message"], HasSubstr("json_invalid"));
    EXPECT_THAT(refused(Endpoint::completions, "[1]")["message"], HasSubstr("dictionary"));
    EXPECT_THAT(refused(Endpoint::completions, "")["message"], HasSubstr("json_invalid"));
}

TEST(Wire, APromptBeyondTheContextIsRefusedInVllmsWords) {
    std::string ids = "1";
    for (int i = 0; i < 4096; ++i) ids += ",1";
    const json error = refused(Endpoint::completions, fmt::format(R"({{"prompt":[{}]}})", ids));
    EXPECT_EQ(error["message"],
              "This model's maximum context length is 4096 tokens. However, your prompt contains at least "
              "4097 input "
              "tokens, which exceeds this limit even without any output tokens. Please reduce the length of "
              "the input "
              "prompt. (parameter=input_tokens, value=4097)");
    EXPECT_EQ(error["param"], "input_tokens");
    EXPECT_THAT(refused(Endpoint::completions, R"({"prompt":[1,2],"max_tokens":4095})")["message"],
                HasSubstr("you requested 4095 output tokens"));
    EXPECT_EQ(accepted(Endpoint::completions, R"({"prompt":[1,2],"max_tokens":4094})").max_tokens, 4094);
}

TEST(Wire, WithIgnoreEosAnAnswerIsExactlyAsLongAsAsked) {
    GenerationRequest request;
    request.max_tokens = 1000;
    request.ignore_eos = true;
    EXPECT_EQ(answer_length(request, 200, 1), 1000);
    request.ignore_eos = false;
    request.max_tokens = 100'000;
    request.min_tokens = 150;
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        const std::int64_t length = answer_length(request, 200, seed);
        EXPECT_GE(length, 150);
        EXPECT_EQ(length, answer_length(request, 200, seed));
        sum += static_cast<double>(length);
    }
    EXPECT_NEAR(sum / 500, 240, 40);
}

// Answers.

TEST(Wire, AChatStreamHasVllmsFrames) {
    const auto chunks = stream_of({.endpoint = Endpoint::chat,
                                   .prompt_tokens = 12,
                                   .prompt_token_ids = {},
                                   .stream = true,
                                   .include_usage = true},
                                  3);
    ASSERT_EQ(chunks.size(), 1 + 3 + 1 + 1 + 1U);
    const json role = event_in(chunks[0]);
    EXPECT_EQ(role["id"], "chatcmpl-r-1");
    EXPECT_EQ(role["object"], "chat.completion.chunk");
    EXPECT_EQ(role["model"], "tiny");
    EXPECT_EQ(role["choices"][0]["delta"], json::parse(R"({"role":"assistant","content":""})"));
    std::string text;
    for (std::size_t k = 1; k <= 3; ++k) {
        const json event = event_in(chunks[k]);
        text += event["choices"][0]["delta"]["content"].get<std::string>();
        EXPECT_EQ(event["choices"][0]["finish_reason"], k == 3 ? json("length") : json());
        EXPECT_FALSE(event.contains("usage"));
    }
    EXPECT_EQ(count_tokens(text), 3);
    const json usage = event_in(chunks[4]);
    EXPECT_EQ(usage["choices"], json::array());
    EXPECT_EQ(usage["usage"], json::parse(R"({"prompt_tokens":12,"total_tokens":15,"completion_tokens":3})"));
    EXPECT_EQ(chunks[5], "data: [DONE]\n\n");
    EXPECT_EQ(chunks[6], "");
}

TEST(Wire, AFrameHasVllmsBytesAroundItsText) {
    const AnswerWriter writer =
        writer_for({.endpoint = Endpoint::chat, .prompt_tokens = 12, .prompt_token_ids = {}, .stream = true});
    std::string frame;
    writer.append_token(frame, 3, "length");
    const std::string payload = fmt::format(
        "data: "
        "{{\"id\":\"chatcmpl-r-1\",\"object\":\"chat.completion.chunk\",\"created\":1795248095,\"model\":"
        "\"tiny\","
        "\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"logprobs\":null,\"finish_reason\":"
        "\"length\","
        "\"stop_reason\":null,\"token_ids\":null}}]}}\n\n",
        answer_word(9, 3));
    EXPECT_EQ(frame, fmt::format("{:x}\r\n{}\r\n", payload.size(), payload));
}

TEST(Wire, ContinuousUsageCountsUpFromTheRoleFrame) {
    const auto chunks = stream_of({.endpoint = Endpoint::chat,
                                   .prompt_tokens = 12,
                                   .prompt_token_ids = {},
                                   .stream = true,
                                   .include_usage = true,
                                   .continuous_usage = true},
                                  2);
    for (std::size_t k = 0; k <= 2; ++k) {
        const json usage = event_in(chunks[k])["usage"];
        EXPECT_EQ(usage["completion_tokens"], k);
        EXPECT_EQ(usage["total_tokens"], 12 + k);
    }
}

TEST(Wire, ACompletionStreamHasNoRoleFrameAndCarriesTokenIdsOnRequest) {
    const auto chunks = stream_of({.endpoint = Endpoint::completions,
                                   .prompt_tokens = 4,
                                   .prompt_token_ids = {5, 6, 7, 8},
                                   .stream = true,
                                   .return_token_ids = true},
                                  2);
    ASSERT_EQ(chunks.size(), 2 + 1 + 1U);
    const json first = event_in(chunks[0]);
    EXPECT_EQ(first["id"], "cmpl-r-1");
    EXPECT_EQ(first["object"], "text_completion");
    EXPECT_EQ(first["choices"][0]["text"], answer_word(9, 0));
    EXPECT_EQ(first["choices"][0]["prompt_token_ids"], json({5, 6, 7, 8}));
    EXPECT_EQ(first["choices"][0]["token_ids"], json::array({token_id_of(answer_word(9, 0), 5000)}));
    EXPECT_EQ(event_in(chunks[1])["choices"][0]["prompt_token_ids"], json());
}

TEST(Wire, AnAnswerInOnePieceSaysTheSameAsTheStream) {
    for (const Endpoint endpoint : {Endpoint::chat, Endpoint::completions}) {
        const AnswerWriter writer =
            writer_for({.endpoint = endpoint, .prompt_tokens = 4, .prompt_token_ids = {}}, Framing::length);
        const json answer = json::parse(writer.whole(5, "stop"));
        std::string words;
        for (std::int64_t k = 0; k < 5; ++k) words += answer_word(9, k);
        const json& choice = answer["choices"][0];
        EXPECT_EQ(endpoint == Endpoint::chat ? choice["message"]["content"] : choice["text"], words);
        EXPECT_EQ(choice["finish_reason"], "stop");
        EXPECT_EQ(answer["usage"]["completion_tokens"], 5);
        EXPECT_EQ(answer["usage"]["total_tokens"], 9);
    }
}

TEST(Wire, WithoutChunkedFramingEventsStandAlone) {
    const AnswerWriter writer =
        writer_for({.endpoint = Endpoint::completions, .prompt_tokens = 4, .prompt_token_ids = {}},
                   Framing::until_close);
    std::string out;
    writer.append_closing(out, 1);
    EXPECT_EQ(out, "data: [DONE]\n\n");
}

TEST(Wire, TokenizeAgreesWithUsage) {
    const auto count = [](std::string_view body) {
        return json::parse(std::get<std::string>(tokenize_answer(body, kModel)));
    };
    const std::string_view messages =
        R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Why  so,\n then?"}]})";
    EXPECT_EQ(count(messages)["count"], accepted(Endpoint::chat, messages).prompt_tokens);
    const json prompt = count(R"({"model":"tiny","prompt":"one two","return_token_strs":true})");
    EXPECT_EQ(prompt["count"], accepted(Endpoint::completions, R"({"prompt":"one two"})").prompt_tokens);
    EXPECT_EQ(prompt["max_model_len"], 4096);
    EXPECT_EQ(prompt["tokens"].size(), 3U);
    EXPECT_EQ(prompt["token_strs"], json({"<|begin_0|>", "one", " two"}));
    EXPECT_EQ(count(R"({"prompt":"one two","add_special_tokens":false})")["count"], 2);
    EXPECT_EQ(std::get<ApiError>(tokenize_answer("{}", kModel)).status, 400);
    EXPECT_EQ(std::get<ApiError>(tokenize_answer(R"({"prompt":"x","model":"nope"})", kModel)).status, 404);
}

TEST(Wire, HeadsSayHowTheBodyIsFramed) {
    EXPECT_EQ(http_answer(404, "application/json", "{}", false),
              "HTTP/1.1 404 Not Found\r\nserver: paretoken\r\ncontent-type: application/json\r\n"
              "content-length: 2\r\nconnection: close\r\n\r\n{}");
    EXPECT_THAT(http_head(200, "text/event-stream", Framing::chunked, 0, true),
                HasSubstr("transfer-encoding: chunked\r\n\r\n"));
}

TEST(Wire, AnythingCanBeAJsonString) {
    std::string text;
    for (int c = 0; c < 128; ++c) text += static_cast<char>(c);
    EXPECT_EQ(json::parse(json_string(text)).get<std::string>(), text);
}

TEST(Wire, ProfileAndModelsAnswersAreJson) {
    const json profile =
        json::parse(profile_answer("a\"b", {{"weight_bytes", 15e9}, {"kv_bytes_per_s", 2.9e12}}));
    EXPECT_EQ(profile["profile"], "a\"b");
    EXPECT_EQ(profile["limit_terms"]["weight_bytes"], 15e9);
    const json models = json::parse(models_answer(kModel, 5));
    EXPECT_EQ(models["data"][0]["id"], "tiny");
    EXPECT_EQ(models["data"][0]["max_model_len"], 4096);
}

}  // namespace
}  // namespace paretoken::sim
