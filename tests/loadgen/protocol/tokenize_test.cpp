#include "loadgen/protocol/tokenize.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace paretoken::protocol {
namespace {

using nlohmann::json;

TEST(Tokenize, EachServerIsAskedInItsOwnWords) {
    EXPECT_EQ(json::parse(tokenize_body(TokenizeDialect::vllm, "tiny", "a \"b\"\n")),
              json::parse(R"({"model": "tiny", "prompt": "a \"b\"\n", "add_special_tokens": false,
                              "return_token_strs": true})"));
    EXPECT_EQ(json::parse(tokenize_body(TokenizeDialect::llama_cpp, "any", "é")),
              json::parse(R"({"content": "é", "add_special": false, "with_pieces": true})"));
}

TEST(Tokenize, LlamaCppsPiecesAreTextOrBytes) {
    const auto answer = parse_tokenization(
        R"({"tokens":[{"id":1195,"piece":"the"},{"id":198,"piece":"\n"},{"id":17097,"piece":[32,230]},{"id":5,"piece":"é"}]})");
    EXPECT_EQ(answer, (Tokenization{4, {"the", "\n", " \xE6", "é"}}));
    EXPECT_EQ(parse_tokenization(R"({"tokens":[1,2,3]})"), (Tokenization{3, {}}));
}

TEST(Tokenize, VllmsPiecesLoseTheirMarkers) {
    EXPECT_EQ(
        parse_tokenization(
            R"({"count":4,"max_model_len":4096,"tokens":[1,2,3,4],"token_strs":["the","Ġof","Ċ","Ġand"]})"),
        (Tokenization{4, {"the", " of", "\n", " and"}}));
    EXPECT_EQ(parse_tokenization(R"({"count":3,"tokens":[1,2,3],"token_strs":["▁the","<0x0A>","▁a▁b"]})"),
              (Tokenization{3, {" the", "\n", " a b"}}));
    EXPECT_EQ(parse_tokenization(R"({"count":2,"tokens":[1,2],"token_strs":null})"), (Tokenization{2, {}}));
}

TEST(Tokenize, WhatIsNoTokenizationIsNothing) {
    for (const auto* body : {"", "<html>", "{}", "[]", R"({"error":{"message":"no"}})", R"({"tokens":5})",
                             R"({"tokens":[1,2],"token_strs":["a"]})", R"({"tokens":[1],"token_strs":[7]})",
                             R"({"tokens":[{"id":1,"piece":5}]})"}) {
        EXPECT_EQ(parse_tokenization(body), std::nullopt) << body;
    }
}

}  // namespace
}  // namespace paretoken::protocol
