#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/run/result_of.h"

namespace paretoken {
namespace {

/// Returns the share of repeated prompts of a run with this workload. Each letter is a request of the class
/// that it names; a digit is a further turn of the conversation before.
std::optional<double> repeated_share(const Workload& workload, const std::string& requests) {
    Recorded recorded;
    recorded.begun.workload = workload;
    for (const char letter : requests) {
        RequestRecord record;
        record.index = recorded.observed.records.size();
        const bool further = letter >= '0' && letter <= '9';
        if (further) record.turn = Turn{.number = static_cast<std::uint32_t>(letter - '0')};
        if (!further) record.request_class = letter;
        recorded.observed.records.add(record);
    }
    return result_of(recorded, Judging{}).workload.repeated_share;
}

TEST(RepeatedPrompts, are_the_requests_beyond_the_rows_of_the_file) {
    Workload workload;
    EXPECT_EQ(repeated_share(workload, "aaaa"), std::nullopt);
    workload.repeats_after = 2;
    EXPECT_EQ(repeated_share(workload, "aaaa"), 0.5);
    EXPECT_EQ(repeated_share(workload, "ab"), 0) << "classes that rows of the file name";
    EXPECT_EQ(repeated_share(workload, "abbb"), 0.5);
}

TEST(RepeatedPrompts, of_conversations_are_those_that_begin_again) {
    Workload workload;
    workload.repeats_after = 2;
    EXPECT_EQ(repeated_share(workload, "a12a12"), 0);
    EXPECT_EQ(repeated_share(workload, "a12a12a12a12"), 0.5);
}

TEST(RepeatedPrompts, of_a_mix_are_counted_for_each_class_with_the_rows_of_its_file) {
    Workload workload;
    workload.class_repeats_after = {{"a", 1}};
    EXPECT_EQ(repeated_share(workload, "abbb"), 0) << "the prompts of the other class are all new";
    EXPECT_EQ(repeated_share(workload, "aabb"), 0.25);
    workload.class_repeats_after["b"] = 2;
    EXPECT_EQ(repeated_share(workload, "aabbbb"), 0.5);
}

TEST(RepeatedPrompts, of_a_file_with_equal_rows_are_all_but_the_different_ones) {
    Workload workload;
    workload.repeats_after = 4;
    workload.different_prompts = 2;
    EXPECT_EQ(repeated_share(workload, "aaaa"), 0.5);
    EXPECT_EQ(repeated_share(workload, "aaaaaaaa"), 0.75);
    EXPECT_EQ(repeated_share(workload, "aa"), 0.25)
        << "an estimate, because the order of the rows is not known";
    workload.different_prompts = 1;
    EXPECT_NEAR(*repeated_share(workload, "aaa"), 2.0 / 3, 0.01);
}

TEST(RepeatedPrompts, of_classes_with_one_file_are_those_that_another_class_sent) {
    Workload workload;
    workload.class_repeats_after = {{"a", 4}, {"b", 4}, {"c", 4}};
    EXPECT_EQ(repeated_share(workload, "aabb"), 0) << "files of their own";
    workload.class_prompts_of = {{"b", "a"}};
    EXPECT_EQ(repeated_share(workload, "aabb"), 0.5);
    EXPECT_EQ(repeated_share(workload, "abbb"), 0.25);
    EXPECT_EQ(repeated_share(workload, "aabbcc"), 2.0 / 6);
}

}  // namespace
}  // namespace paretoken
