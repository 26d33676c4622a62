#include "core/run/prompt_growth.h"

#include <gtest/gtest.h>

#include <vector>

namespace paretoken {
namespace {

/// Conversations of `turns` turns, whose prompts grow by 100 tokens of the dataset. The server counts 7 more
/// tokens in every prompt, and `per_turn` more for each further turn.
std::vector<RequestRecord> conversations(std::uint64_t count, std::uint32_t turns, std::int64_t per_turn) {
    std::vector<RequestRecord> records;
    for (std::uint64_t conversation = 0; conversation < count; ++conversation)
        for (std::uint32_t number = 0; number < turns; ++number) {
            RequestRecord record;
            record.index = conversation * turns + number;
            record.turn = Turn{.conversation = conversation * turns, .number = number};
            record.wanted_input_tokens = 500 + 100 * number;
            record.usage.prompt = *record.wanted_input_tokens + 7 + per_turn * number;
            records.push_back(record);
        }
    return records;
}

TEST(PromptGrowth, IsWhatATemplateAddsWithEachTurnAndNotWhatItAddsOnce) {
    EXPECT_EQ(prompt_growth_of(conversations(4, 5, 0)), (Asked{100, 100}));
    EXPECT_EQ(prompt_growth_of(conversations(4, 5, 12)), (Asked{100, 112}));
    EXPECT_EQ(prompt_growth_of(conversations(4, 5, -100)), (Asked{100, 0})) << "earlier turns are dropped";
}

TEST(PromptGrowth, CountsNeighbouringTurnsWithBothCountsWhosePromptsGrow) {
    auto records = conversations(4, 5, 12);
    records[7].usage.prompt.reset();       // turn 2 of the second conversation
    records[14].wanted_input_tokens = 50;  // the last context of the third was shortened
    records[14].usage.prompt = 1;
    records[16].outcome = Outcome::http_error;  // turn 1 of the fourth
    EXPECT_EQ(prompt_growth_of(records), (Asked{100, 112}));
    records[0].warmup = records[5].warmup = true;
    EXPECT_EQ(prompt_growth_of(records), std::nullopt) << "fewer than 10 are left";
}

TEST(PromptGrowth, IsUnknownForSingleRequests) {
    auto records = conversations(40, 1, 0);
    EXPECT_EQ(prompt_growth_of(records), std::nullopt);
    for (RequestRecord& record : records) record.turn.reset();
    EXPECT_EQ(prompt_growth_of(records), std::nullopt);
}

}  // namespace
}  // namespace paretoken
