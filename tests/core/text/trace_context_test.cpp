#include "core/text/trace_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace paretoken {
namespace {

TEST(TraceContext, has_the_form_of_the_recommendation_and_is_the_same_for_the_same_request) {
    std::set<std::string> traces;
    for (int i = 0; i < 1000; ++i) {
        const std::string id = "pt-ab12-" + std::to_string(i);
        const std::string text = traceparent_of(id);
        EXPECT_THAT(text, testing::MatchesRegex("00-[0-9a-f]+-[0-9a-f]+-01"));
        ASSERT_EQ(text.size(), 55U);
        EXPECT_EQ(text[2], '-');
        EXPECT_EQ(text[35], '-');
        EXPECT_EQ(text[52], '-');
        EXPECT_EQ(text, traceparent_of(id));
        EXPECT_NE(text.substr(3, 16), text.substr(19, 16));
        EXPECT_EQ(text.substr(3, 32), trace_id_of(id));
        traces.insert(trace_id_of(id));
    }
    EXPECT_EQ(traces.size(), 1000U);
}

}  // namespace
}  // namespace paretoken
