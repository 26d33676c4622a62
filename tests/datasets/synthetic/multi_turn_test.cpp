#include "datasets/synthetic/multi_turn.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/error.h"
#include "datasets/synthetic/text.h"

namespace paretoken::datasets {
namespace {

std::unique_ptr<Dataset> dataset_of(std::string_view spec, bool live = true, std::string salt = {}) {
    return make_dataset({.spec = parse_spec(spec), .salt = std::move(salt), .live_replies = live});
}

double words_of(const Message& message) {
    return TextWriter(uncalibrated()).expected_tokens(message.content);
}

TEST(MultiTurn, MessagesHaveTheLengthsThatWereAskedFor) {
    const auto dataset = dataset_of("multi_turn:turns=3,first=50,next=20,osl=8");
    ASSERT_TRUE(dataset->has_conversations());
    EXPECT_EQ(dataset->turns(7), 3U);
    const Request opening = dataset->request(7);
    EXPECT_EQ(opening.wanted_input_tokens, 50);
    EXPECT_EQ(opening.wanted_output_tokens, 8);
    ASSERT_EQ(std::get<Messages>(opening.prompt).size(), 1U);
    EXPECT_EQ(words_of(std::get<Messages>(opening.prompt)[0]), 50);
    const Request next = dataset->follow_up(7, 1, {.prompt = opening.prompt, .reply = "a reply"});
    const Messages& messages = std::get<Messages>(next.prompt);
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[0], std::get<Messages>(opening.prompt)[0]);
    EXPECT_EQ(messages[1], (Message{"assistant", "a reply"}));
    EXPECT_EQ(messages[2].role, "user");
    EXPECT_EQ(words_of(messages[2]), 20);
    EXPECT_DOUBLE_EQ(*dataset->mean_input_tokens(), 50 + 28);
}

TEST(MultiTurn, FollowUpsAreAFunctionOfSeedSaltAndWhatWasSaid) {
    const std::string spec = "multi_turn:turns=uniform:min=1;max=5,next=20";
    const Prompt said = Messages{{"user", "x"}};
    const auto follow_up = [&](const Dataset& dataset, std::uint64_t i, std::uint32_t turn) {
        return std::get<Messages>(dataset.follow_up(i, turn, {.prompt = said, .reply = "y"}).prompt)
            .back()
            .content;
    };
    const auto dataset = dataset_of(spec);
    EXPECT_EQ(follow_up(*dataset, 3, 1), follow_up(*dataset_of(spec), 3, 1));
    EXPECT_NE(follow_up(*dataset, 3, 1), follow_up(*dataset, 3, 2));
    EXPECT_NE(follow_up(*dataset, 3, 1), follow_up(*dataset, 4, 1));
    EXPECT_NE(follow_up(*dataset, 3, 1), follow_up(*dataset_of(spec, true, "salt"), 3, 1));
    std::set<std::uint32_t> turns;
    for (std::uint64_t i = 0; i < 100; ++i) turns.insert(dataset->turns(i));
    EXPECT_EQ(turns, (std::set<std::uint32_t>{1, 2, 3, 4, 5}));
}

TEST(MultiTurn, MakesUpRepliesWhereTheServersAreNotWanted) {
    const auto dataset = dataset_of("multi_turn:turns=3,first=50,next=20,osl=8", false);
    EXPECT_FALSE(dataset->needs_replies());
    const Prompt unused;
    const Messages second =
        std::get<Messages>(dataset->follow_up(0, 1, {.prompt = unused, .reply = {}}).prompt);
    const Messages third =
        std::get<Messages>(dataset->follow_up(0, 2, {.prompt = unused, .reply = {}}).prompt);
    ASSERT_EQ(third.size(), 5U);
    EXPECT_TRUE(std::equal(second.begin(), second.end(), third.begin()));
    EXPECT_EQ(words_of(third[1]), 8);
    EXPECT_EQ(words_of(third[3]), 8);
    EXPECT_NE(third[1].content, third[3].content);
}

}  // namespace
}  // namespace paretoken::datasets
