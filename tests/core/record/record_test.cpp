#include "core/record/record.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(Record, every_outcome_is_found_by_its_name) {
    for (int i = 0; i <= static_cast<int>(Outcome::malformed); ++i) {
        const auto outcome = static_cast<Outcome>(i);
        EXPECT_EQ(outcome_named(name_of(outcome)), outcome);
    }
    EXPECT_EQ(name_of(Outcome::too_short), "too_short");
    EXPECT_EQ(name_of(Outcome::http_error), "http_error");
    EXPECT_FALSE(outcome_named("fine"));
}

TEST(Record, every_token_source_is_found_by_its_name) {
    for (int i = 0; i <= static_cast<int>(TokenSource::disputed); ++i) {
        const auto source = static_cast<TokenSource>(i);
        EXPECT_EQ(token_source_named(name_of(source)), source);
    }
    EXPECT_EQ(name_of(TokenSource::usage_by_text), "usage_by_text");
    EXPECT_FALSE(token_source_named(""));
}

TEST(Record, only_ok_and_cancelled_are_no_failures) {
    EXPECT_FALSE(is_failure(Outcome::ok));
    EXPECT_FALSE(is_failure(Outcome::cancelled));
    EXPECT_TRUE(is_failure(Outcome::empty));
    EXPECT_TRUE(is_failure(Outcome::malformed));
}

TEST(Record, output_tokens_are_what_usage_says_and_else_what_was_streamed) {
    RequestRecord record;
    record.streamed_tokens = 7;
    EXPECT_EQ(output_tokens_of(record), 7);
    record.usage.completion = 8;
    EXPECT_EQ(output_tokens_of(record), 8);
}

}  // namespace
}  // namespace paretoken
