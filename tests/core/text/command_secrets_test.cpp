#include "core/text/command_secrets.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(CommandToShow, hides_the_values_of_secret_options_and_variables) {
    EXPECT_EQ(command_to_show("vllm serve m --api-key sk-12345 --port {port}"),
              "vllm serve m --api-key *** --port {port}");
    EXPECT_EQ(command_to_show("vllm serve m --api-key=sk-12345"), "vllm serve m --api-key=***");
    EXPECT_EQ(command_to_show("sh -c 'HF_TOKEN=hf_abcd exec vllm serve m'"),
              "sh -c 'HF_TOKEN=*** exec vllm serve m'");
    EXPECT_EQ(command_to_show("curl -H 'Authorization: Bearer abcdef' http://u:pass@h/"),
              "curl -H 'Authorization: Bearer ***' http://***@h/");
}

TEST(CommandToShow, leaves_what_is_no_secret) {
    for (const char* const command :
         {"vllm serve m --max-num-batched-tokens 8192 --tokenizer meta/llama --seed-key 1234", "",
          "serve --api-key $KEY", "serve --api-key --port 80", "serve --ssl-keyfile key.pem --api-key"})
        EXPECT_EQ(command_to_show(command), command);
}

TEST(JsonToShow, hides_the_texts_of_secret_keys_at_any_depth) {
    EXPECT_EQ(json_to_show(R"({"max_tokens": 8192, "a": {"api_key" : "sk-12345"}, "b": "sk-other"})"),
              R"({"max_tokens": 8192, "a": {"api_key" : "***"}, "b": "sk-other"})");
    for (const char* const text : {"{\"api_key\": \"", "{\"api_key", "\"", "{}", R"({"key": 12345678})"})
        EXPECT_EQ(json_to_show(text), text);
}

}  // namespace
}  // namespace paretoken
