#include "core/text/secrets.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

Secrets of(std::string_view secret) {
    Secrets secrets;
    secrets.add(secret);
    return secrets;
}

TEST(Secrets, a_text_without_a_secret_is_unchanged) {
    EXPECT_EQ(of("SECRETKEY123").redacted("model 'm' not found"), "model 'm' not found");
    EXPECT_EQ(Secrets{}.redacted("anything"), "anything");
    EXPECT_TRUE(Secrets{}.empty());
}

TEST(Secrets, every_occurrence_of_a_secret_is_hidden) {
    EXPECT_EQ(of("SECRETKEY123").redacted("SECRETKEY123, again: SECRETKEY123."), "***, again: ***.");
}

TEST(Secrets, an_authorization_header_hides_the_key_with_and_without_its_scheme) {
    Secrets secrets;
    secrets.add_header("Authorization", "Bearer SECRETKEY123");
    EXPECT_EQ(secrets.redacted("headers were: Authorization: Bearer SECRETKEY123"),
              "headers were: Authorization: ***");
    EXPECT_EQ(secrets.redacted("Incorrect API key: SECRETKEY123"), "Incorrect API key: ***");
}

TEST(Secrets, a_line_end_around_a_key_does_not_keep_it_from_being_found) {
    EXPECT_EQ(of("SECRETKEY123\n").redacted("key SECRETKEY123 is wrong"), "key *** is wrong");
}

TEST(Secrets, headers_that_describe_the_request_hold_no_secret) {
    Secrets secrets;
    secrets.add_header("Content-Type", "application/json");
    secrets.add_header("X-Feature", "on");
    EXPECT_TRUE(secrets.empty());
    secrets.add_header("X-Api-Key", "application/json");
    EXPECT_FALSE(secrets.empty());
}

TEST(Secrets, the_forms_of_a_secret_in_json_and_in_a_url_are_hidden) {
    const Secrets secrets = of("ab+c/d\"e=");
    EXPECT_EQ(secrets.redacted(R"({"key":"ab+c/d\"e="})"), R"({"key":"***"})");
    EXPECT_EQ(secrets.redacted(R"({"key":"ab+c\/d\"e="})"), R"({"key":"***"})");
    EXPECT_EQ(secrets.redacted("?key=ab%2Bc%2Fd%22e%3D"), "?key=***");
    EXPECT_EQ(secrets.redacted("?key=ab%2bc%2fd%22e%3d"), "?key=***");
    EXPECT_EQ(of("ab%2Bcdef").redacted("the key ab+cdef"), "the key ***");
}

TEST(Secrets, of_secrets_that_overlap_in_a_text_no_byte_is_left) {
    Secrets secrets;
    secrets.add("abcdef");
    secrets.add("defghi");
    EXPECT_EQ(secrets.redacted("<abcdefghi>"), "<***>");
    EXPECT_EQ(of("ababab").redacted("<abababab>"), "<***>");
}

TEST(Secrets, a_secret_that_the_end_of_the_text_cuts_is_hidden) {
    EXPECT_EQ(of("SECRETKEY123").redacted("key: SECRETKEY1"), "key: ***");
    EXPECT_EQ(of("SECRETKEY123").redacted("SECRETKEY"), "***");
    EXPECT_EQ(of("SECRETKEY123").redacted("the word SEC"), "the word SEC") << "too little to tell";
}

TEST(Secrets, credentials_and_keys_of_a_url_are_secret_and_its_version_is_not) {
    Secrets secrets;
    secrets.add_url("https://user:pass%21word@host:8000/base?api-version=2024-02-01&api-key=SECRETKEY123#x");
    EXPECT_EQ(secrets.redacted("login user:pass%21word"), "login ***");
    EXPECT_EQ(secrets.redacted("wrong password pass!word"), "wrong password ***");
    EXPECT_EQ(secrets.redacted("/v1/models?api-version=2024-02-01&api-key=SECRETKEY123"),
              "/v1/models?api-version=2024-02-01&api-key=***");
}

TEST(Secrets, a_url_is_shown_without_its_credentials_and_keys) {
    EXPECT_EQ(redacted_url("https://user:pw@host/base?api-version=1&key=K&sig=x%2F"),
              "https://***@host/base?api-version=1&key=***&sig=***");
    EXPECT_EQ(redacted_url("http://host?SECRETKEY123"), "http://host?***");
    EXPECT_EQ(redacted_url("user:pw@host"), "***@host");
    for (const char* url : {"http://u:SECRET/x@host/a", "http://u:SECRET#x@host/a", "http:/u:SECRET@host/a",
                            "//u:SECRET@host/a", "http:u:SECRET@host/a"})
        EXPECT_EQ(redacted_url(url).find("SECRET"), std::string::npos) << url;
    EXPECT_EQ(redacted_url("http://[::1]:8000/a@b"), "http://[::1]:8000/a@b");
    EXPECT_EQ(redacted_url("http://host:8000/a@b"), "http://host:8000/a@b");
}

TEST(Secrets, a_url_without_secrets_is_shown_as_it_is) {
    for (const std::string_view url :
         {"http://127.0.0.1:8000", "https://host/openai?api-version=1", "sim:ideal?ttft=20ms&itl=10ms", "",
          "http://host/a@b", "?", "http://host?=&&a="}) {
        EXPECT_EQ(redacted_url(url), url);
    }
}

TEST(NamesASecret, is_a_guess_by_the_variable) {
    for (const char* name : {"HF_TOKEN", "openai_api_key", "DB_PASSWORD", "CLIENT_SECRET"})
        EXPECT_TRUE(names_a_secret(name)) << name;
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PATH"})
        EXPECT_FALSE(names_a_secret(name)) << name;
}

}  // namespace
}  // namespace paretoken
