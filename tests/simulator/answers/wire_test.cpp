#include "simulator/answers/wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/engine/tokenizer.h"

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

// Requests.

TEST(Wire, UsageComesOnlyToThoseWhoAsk) {
    const auto with = [](const std::string& options) {
        return accepted(Endpoint::completions,
                        R"({"prompt":"x","stream":true,"stream_options":)" + options + "}");
    };
    EXPECT_FALSE(with("{}").include_usage);
    EXPECT_FALSE(with("null").include_usage);
    EXPECT_TRUE(with(R"({"include_usage":true})").include_usage);
    EXPECT_FALSE(with(R"({"include_usage":true})").continuous_usage);
    EXPECT_TRUE(with(R"({"include_usage":true,"continuous_usage_stats":true})").continuous_usage);
    EXPECT_FALSE(with(R"({"continuous_usage_stats":true})").continuous_usage);
    EXPECT_EQ(refused(Endpoint::completions, R"({"prompt":"x","stream":true,"stream_options":[]})")["param"],
              "body.stream_options");
}

TEST(Wire, PromptTokenIdsAreGivenBackHoweverThePromptCame) {
    const auto ids = accepted(Endpoint::completions, R"({"prompt":[5,6],"return_token_ids":true})");
    EXPECT_EQ(ids.prompt_token_ids, (TokenIds{5, 6}));
    const std::string_view chat =
        R"({"messages":[{"role":"user","content":"one two"}],"return_token_ids":true})";
    const auto text = accepted(Endpoint::chat, chat);
    PieceMemory memory(kModel.vocabulary);
    const json tokens = json::parse(std::get<std::string>(tokenize_answer(chat, kModel, memory)))["tokens"];
    EXPECT_EQ(json(text.prompt_token_ids), tokens);
    EXPECT_TRUE(accepted(Endpoint::completions, R"({"prompt":"x"})").prompt_token_ids.empty());
}

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}},)"
    R"({"type":"function","function":{"name":"find"}}])";

GenerationRequest with_tools(const std::string& more) {
    return accepted(Endpoint::chat,
                    fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}],{}{}}})", kTools, more));
}

TEST(Wire, OfferedToolsAreCalledAndAreInThePrompt) {
    EXPECT_EQ(with_tools("").tool, "look");
    EXPECT_EQ(with_tools(R"(,"tool_choice":"required")").tool, "look");
    EXPECT_EQ(with_tools(R"(,"tool_choice":"none")").tool, "");
    const auto named = with_tools(R"(,"tool_choice":{"type":"function","function":{"name":"find"}})");
    EXPECT_EQ(named.tool, "find");
    EXPECT_TRUE(named.tool_was_named);
    const auto without = accepted(Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}]})");
    EXPECT_EQ(without.tool, "");
    EXPECT_GT(named.prompt_tokens, without.prompt_tokens + 20);
    EXPECT_EQ(refused(Endpoint::chat,
                      fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}],{},"tool_choice":)"
                                  R"({{"function":{{"name":"fly"}}}}}})",
                                  kTools))["param"],
              "tool_choice");
    EXPECT_EQ(refused(Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"tools":[3]})")["param"],
              "body.tools");
}

TEST(Wire, APlanSplitsTheAnswerAndKnowsWhyItEnds) {
    Profile profile = profile_named("ideal?reasoning=64tok");
    GenerationRequest request = with_tools("");
    request.max_tokens = 100;
    request.ignore_eos = true;
    AnswerPlan plan = answer_plan(request, profile, 1);
    EXPECT_EQ(plan.tokens, 100);
    EXPECT_EQ(plan.reasoning_tokens, 64);
    EXPECT_EQ(plan.tool, "look");
    EXPECT_EQ(plan.finish_reason, "length");
    request.max_tokens = 40;
    EXPECT_EQ(answer_plan(request, profile, 1).reasoning_tokens, 40) << "cut off while it thinks";
    profile.reasoning = {.share = .25};
    EXPECT_EQ(answer_plan(request, profile, 1).reasoning_tokens, 10);
    request.ignore_eos = false;
    request.max_tokens = 4000;
    EXPECT_EQ(answer_plan(request, profile, 1).finish_reason, "tool_calls");
    profile.reasoning = {.tokens = 1000};
    EXPECT_EQ(answer_plan(request, profile, 1).tokens,
              answer_length(request, profile.answer_tokens, 1) + 1000)
        << "an answer that may end by itself comes after its reasoning";
    request.tool_was_named = true;
    EXPECT_EQ(answer_plan(request, profile, 1).finish_reason, "stop");
    request.endpoint = Endpoint::completions;
    EXPECT_EQ(answer_plan(request, profile, 1).reasoning_tokens, 0)
        << "completions have no reasoning of its own";
}

// Requests in the dialect of llama.cpp.

ServedModel llamacpp_model() {
    ServedModel model = kModel;
    model.dialect = Dialect::llamacpp;
    return model;
}

TEST(Wire, LlamacppTakesAnyModelAndStopsAtTheContextsEnd) {
    const auto request = [](std::string_view body) {
        return std::get<GenerationRequest>(parse_generation(Endpoint::completions, body, llamacpp_model()));
    };
    EXPECT_EQ(request(R"({"model":"any","prompt":[1,2]})").max_tokens, 4094);
    EXPECT_EQ(request(R"({"prompt":[1,2],"max_tokens":9000})").max_tokens, 4094);
    EXPECT_EQ(request(R"({"prompt":[1,2],"max_tokens":-1})").max_tokens, 4094);
    EXPECT_EQ(request(R"({"prompt":[1,2],"n_predict":7,"timings_per_token":true})").max_tokens, 7);
    EXPECT_TRUE(request(R"({"prompt":[1,2],"timings_per_token":true})").timings_per_token);
}

TEST(Wire, LlamacppRefusesInItsOwnWords) {
    const auto error = [](std::string_view body) {
        return std::get<ApiError>(parse_generation(Endpoint::chat, body, llamacpp_model())).body;
    };
    EXPECT_EQ(
        error(R"({"messages":"x"})"),
        R"({"error":{"code":400,"message":"Expected 'messages' to be an array","type":"invalid_request_error"}})");
    EXPECT_EQ(error("{}"),
              R"({"error":{"code":400,"message":"'messages' is required","type":"invalid_request_error"}})");
    std::string words;
    for (int i = 0; i < 5000; ++i) words += " a";
    EXPECT_EQ(
        error(fmt::format(R"({{"messages":[{{"role":"user","content":"{}"}}]}})", words)),
        R"({"error":{"code":400,"message":"request (5010 tokens) exceeds the available context size (4096 )"
        R"(tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5010,"n_ctx":4096}})");
}

TEST(Wire, LlamacppTokenizesUnderItsOwnNames) {
    PieceMemory memory(kModel.vocabulary);
    const auto parsed = [](const auto& answer) { return json::parse(std::get<std::string>(answer)); };
    const json pieces = parsed(
        tokenize_answer(R"({"content":"one two","with_pieces":true})", llamacpp_model(), memory))["tokens"];
    ASSERT_EQ(pieces.size(), 2U) << "nothing is added unless asked for";
    EXPECT_EQ(pieces[1]["piece"], " two");
    const json ids = parsed(tokenize_answer(R"({"content":"one two"})", llamacpp_model(), memory))["tokens"];
    EXPECT_EQ(ids[1], pieces[1]["id"]);
    EXPECT_EQ(parsed(detokenize_answer(json{{"tokens", ids}}.dump(), llamacpp_model(), memory)),
              (json{{"content", "one two"}}));
}

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

TEST(Wire, TokenizeAgreesWithUsage) {
    PieceMemory memory(kModel.vocabulary);
    const auto count = [&](std::string_view body) {
        return json::parse(std::get<std::string>(tokenize_answer(body, kModel, memory)));
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
    EXPECT_EQ(std::get<ApiError>(tokenize_answer("{}", kModel, memory)).status, 400);
    EXPECT_EQ(std::get<ApiError>(tokenize_answer(R"({"prompt":"x","model":"nope"})", kModel, memory)).status,
              404);
}

TEST(Wire, DetokenizeUndoesTokenize) {
    PieceMemory memory(kModel.vocabulary);
    const auto text_of = [&](const json& ids) {
        const std::string body = json{{"tokens", ids}, {"model", "tiny"}}.dump();
        return json::parse(std::get<std::string>(detokenize_answer(body, kModel, memory)))["prompt"];
    };
    const auto ids_of = [&](const std::string& text) {
        const std::string body = json{{"prompt", text}, {"add_special_tokens", false}}.dump();
        return json::parse(std::get<std::string>(tokenize_answer(body, kModel, memory)))["tokens"];
    };
    const std::string text = "Why  so,\n then \"internationalization\"? \u00e4\u00f6\u00fc";
    json ids = ids_of(text);
    EXPECT_EQ(text_of(ids), text);
    ids.erase(ids.begin() + 3, ids.end());
    EXPECT_EQ(ids_of(text_of(ids)), ids) << "a prefix stays a prefix";
}

TEST(Wire, IdsThatNoTextHadReadAsWordsOfTheirOwn) {
    PieceMemory memory(kModel.vocabulary);
    const auto parsed = [](const auto& answer) { return json::parse(std::get<std::string>(answer)); };
    const json ids{0, 17, 255, 4999, 256};
    const json text = parsed(detokenize_answer(json{{"tokens", ids}}.dump(), kModel, memory))["prompt"];
    EXPECT_EQ(parsed(tokenize_answer(json{{"prompt", text}, {"add_special_tokens", false}}.dump(), kModel,
                                     memory))["tokens"],
              ids);
    EXPECT_EQ(std::get<ApiError>(detokenize_answer(R"({"tokens":[5000]})", kModel, memory)).status, 400);
    EXPECT_EQ(std::get<ApiError>(detokenize_answer(R"({"tokens":"x"})", kModel, memory)).status, 400);
    EXPECT_EQ(std::get<ApiError>(detokenize_answer(R"({})", kModel, memory)).status, 400);
}

TEST(Wire, ProfileAndModelsAnswersAreJson) {
    const json profile =
        json::parse(profile_answer("a\"b", {{"weight_bytes", 15e9}, {"kv_bytes_per_s", 2.9e12}}));
    EXPECT_EQ(profile["profile"], "a\"b");
    EXPECT_EQ(profile["limit_terms"]["weight_bytes"], 15e9);
    const json llamacpp = json::parse(kLlamacpp.models(llamacpp_model(), 5));
    EXPECT_EQ(llamacpp["data"][0]["owned_by"], "llamacpp");
    EXPECT_EQ(json::parse(kLlamacpp.props(llamacpp_model()))["default_generation_settings"]["n_ctx"], 4096);
    const json models = json::parse(kVllm.models(kModel, 5));
    EXPECT_EQ(models["data"][0]["id"], "tiny");
    EXPECT_EQ(models["data"][0]["max_model_len"], 4096);
}

}  // namespace
}  // namespace paretoken::sim
