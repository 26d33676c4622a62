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

TEST(CommandToShow, hides_the_values_of_secret_headers) {
    EXPECT_EQ(command_to_show("curl -H 'Authorization: Basic dXNlcjpwYXNz' -H 'X-Api-Key: sk-12345' h"),
              "curl -H 'Authorization: Basic ***' -H 'X-Api-Key: ***' h");
    EXPECT_EQ(command_to_show("serve --authorization 'Bearer sk-12345'"),
              "serve --authorization 'Bearer ***'");
}

TEST(CommandToShow, hides_secrets_behind_the_name_of_an_option) {
    EXPECT_EQ(command_to_show("docker run --env=HF_TOKEN=hf_abcd -p 80:80 x"),
              "docker run --env=HF_TOKEN=*** -p 80:80 x");
    EXPECT_EQ(command_to_show("serve --header=X-Api-Key:sk-12345"), "serve --header=X-Api-Key:***");
}

TEST(VariableToShow, hides_secret_values_and_the_secrets_of_urls) {
    EXPECT_EQ(variable_to_show("HF_TOKEN=hf_abcd"), "HF_TOKEN=***");
    EXPECT_EQ(variable_to_show("DB_PASSPHRASE=1"), "DB_PASSPHRASE=***");
    EXPECT_EQ(variable_to_show("DATABASE_URL=postgres://user:pass@db:5432/x"),
              "DATABASE_URL=postgres://***@db:5432/x");
    EXPECT_EQ(variable_to_show("EXTRA=Bearer abcdef"), "EXTRA=Bearer ***");
    for (const char* const entry : {"CUDA_VISIBLE_DEVICES=0,1", "PATH=/bin:/usr/bin", "NAME", ""})
        EXPECT_EQ(variable_to_show(entry), entry);
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

TEST(JsonToShow, hides_everything_below_a_secret_key) {
    EXPECT_EQ(json_to_show(R"({"auth": {"user": "alice", "list": ["one1", {"x": "two2"}]}, "a": "plain"})"),
              R"({"auth": {"user": "***", "list": ["***", {"x": "***"}]}, "a": "plain"})");
    EXPECT_EQ(json_to_show(R"({"keys": ["first", "second"], "b": ["third"]})"),
              R"({"keys": ["***", "***"], "b": ["third"]})");
    EXPECT_EQ(json_to_show(R"({"secret": 1234567890123456, "n": 8192})"), R"({"secret": ***, "n": 8192})");
}

TEST(JsonToShow, knows_the_words_of_keys_by_their_capital_letters) {
    EXPECT_EQ(json_to_show(R"({"accessToken": "abcd", "myApiKey": "efgh", "APIKey": "ijkl"})"),
              R"({"accessToken": "***", "myApiKey": "***", "APIKey": "***"})");
    EXPECT_EQ(json_to_show(R"({"maxTokens": "abcd", "monkey": "efgh", "keyName": "ijkl"})"),
              R"({"maxTokens": "abcd", "monkey": "efgh", "keyName": "ijkl"})");
}

TEST(JsonToShow, hides_what_authorises) {
    EXPECT_EQ(json_to_show(R"({"Authorization": "Basic dXNlcjpwYXNz", "auth": "abcd"})"),
              R"({"Authorization": "***", "auth": "***"})");
    EXPECT_EQ(json_to_show(R"({"headers": ["X-Any: Bearer sk-12345"], "x": "bearer sk-67890"})"),
              R"({"headers": ["X-Any: Bearer ***"], "x": "bearer ***"})");
    Secrets secrets;
    add_json(secrets, R"({"Authorization": "Basic dXNlcjpwYXNz"})");
    EXPECT_EQ(secrets.redacted("got dXNlcjpwYXNz"), "got ***");
}

}  // namespace
}  // namespace paretoken
