#include "loadgen/advice.h"

#include <gmock/gmock.h>

namespace paretoken::loadgen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Advice, on_a_redirect_of_the_list_of_models_is_no_path_of_requests) {
    const http::Url url = http::parse_url("http://host:8000");
    EXPECT_THAT(redirect_advice(url, "/v1/models", "/v1/models/"), Not(HasSubstr("--endpoint")));
    EXPECT_THAT(redirect_advice(url, "/v1/models", "/v1/models/"), HasSubstr("--model"));
    EXPECT_THAT(redirect_advice(url, "/v1/chat/completions", "/v1/chat/completions/"),
                HasSubstr("--endpoint /v1/chat/completions/"));
    EXPECT_THAT(redirect_advice(url, "/v1/models", "https://host:8443/v1/models"),
                HasSubstr("give https://host:8443 as the URL"));
}

TEST(Advice, knows_a_refusal_that_wants_more_tokens) {
    EXPECT_TRUE(
        wants_more_tokens("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= "
                          "16, but got 2 instead.",
                          "max_output_tokens"));
    EXPECT_FALSE(wants_more_tokens("max_tokens is not supported", "max_tokens"));
    EXPECT_FALSE(wants_more_tokens("temperature must be at least 0", "max_tokens"));
}

}  // namespace
}  // namespace paretoken::loadgen
