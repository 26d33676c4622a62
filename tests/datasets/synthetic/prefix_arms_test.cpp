#include "datasets/synthetic/prefix_arms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

namespace paretoken::datasets {
namespace {

using ::testing::HasSubstr;

Spec spec(const std::string& fields) {
    return parse_spec("prefix_arms:" + fields);
}

const Spec kSmall = spec("prefixes=64;128,suffix=16,osl=4,hits=0;0.5;1");

std::unique_ptr<Dataset> dataset(PromptForm form = PromptForm::token_ids, const std::string& salt = "s") {
    return make_prefix_arms(
        {.spec = kSmall, .seed = 3, .salt = salt, .form = form, .calibration = {}, .vocabulary = 1000});
}

TokenIds token_ids_of(const Request& request) {
    return std::get<TokenIds>(request.prompt);
}

std::size_t common(const TokenIds& a, const TokenIds& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

TEST(PrefixArms, make_every_arm_of_every_prefix_once_a_round) {
    const PrefixArms arms(kSmall, 3);
    // Each prefix has cold, primer, primed, warm, dynamic-first and one share; then come varied and repeat.
    EXPECT_EQ(arms.round_size(), 2U * 6 + 2);
    std::set<std::vector<std::string>> orders;
    for (std::uint64_t round = 0; round < 4; ++round) {
        std::map<std::pair<Arm, std::int64_t>, int> seen;
        std::vector<std::string> order;
        for (std::uint64_t i = 0; i < arms.round_size(); ++i) {
            const auto request = arms.at(round * arms.round_size() + i);
            EXPECT_EQ(request.round, round);
            ++seen[{request.arm, request.prefix}];
            order.emplace_back(name_of(request.arm));
        }
        EXPECT_EQ(seen.size(), 14U);
        for (const auto& [cell, times] : seen) EXPECT_EQ(times, 1);
        orders.insert(order);
    }
    EXPECT_GT(orders.size(), 1U) << "the order is drawn anew";
    EXPECT_EQ(PrefixArms(kSmall, 3).at(17), arms.at(17));
}

TEST(PrefixArms, prime_right_before_the_request_that_repeats_it) {
    const PrefixArms arms(kSmall, 3);
    const auto prompts = dataset();
    for (std::uint64_t i = 0; i < 3 * arms.round_size(); ++i) {
        if (arms.at(i).arm != Arm::primer) continue;
        ASSERT_EQ(arms.at(i + 1).arm, Arm::primed);
        EXPECT_EQ(common(token_ids_of(prompts->request(i)), token_ids_of(prompts->request(i + 1))),
                  static_cast<std::size_t>(arms.at(i).prefix));
    }
}

TEST(PrefixArms, repeat_as_much_of_the_beginning_as_they_say) {
    const PrefixArms arms(kSmall, 3);
    const auto prompts = dataset();
    std::map<std::int64_t, TokenIds> warm;
    TokenIds repeated;
    for (std::uint64_t i = 0; i < arms.round_size(); ++i) {
        if (arms.at(i).arm == Arm::warm) warm[arms.at(i).prefix] = token_ids_of(prompts->request(i));
        if (arms.at(i).arm == Arm::repeat) repeated = token_ids_of(prompts->request(i));
    }
    for (std::uint64_t i = arms.round_size(); i < 5 * arms.round_size(); ++i) {
        const auto arm = arms.at(i);
        const Request request = prompts->request(i);
        const TokenIds ids = token_ids_of(request);
        EXPECT_EQ(ids.size(), static_cast<std::size_t>(arm.prefix) + 16) << "all are equally long";
        EXPECT_EQ(request.wanted_input_tokens, arm.prefix + 16);
        EXPECT_EQ(request.wanted_output_tokens, 4);
        EXPECT_EQ(request.request_class, arm.class_name());
        const TokenIds& same = warm[arm.prefix];
        switch (arm.arm) {
            case Arm::warm:
                EXPECT_EQ(common(ids, same), static_cast<std::size_t>(arm.prefix));
                break;
            case Arm::shared:
                EXPECT_EQ(common(ids, same), static_cast<std::size_t>(arm.prefix) / 2);
                break;
            case Arm::varied:
                EXPECT_EQ(common(ids, same), static_cast<std::size_t>(arm.reused));
                break;
            case Arm::repeat:
                EXPECT_EQ(ids, repeated);
                break;
            case Arm::dynamic_first:
                EXPECT_EQ(common(ids, same), 0U);
                EXPECT_TRUE(std::equal(ids.begin() + 16, ids.end(), same.begin()));
                break;
            case Arm::cold:
            case Arm::pinned:
            case Arm::primer:
            case Arm::primed:
                EXPECT_EQ(common(ids, same), 0U);
                break;
        }
    }
}

TEST(PrefixArms, send_prefixes_of_their_own_to_the_same_slot_where_there_are_slots) {
    const Spec with_slots = spec("prefixes=64;96;128,suffix=16,osl=4,hits=0.5,slots=2");
    const PrefixArms arms(with_slots, 3);
    const PrefixArms without(spec("prefixes=64;96;128,suffix=16,osl=4,hits=0.5"), 3);
    EXPECT_EQ(arms.round_size(), without.round_size() + 3);
    EXPECT_THAT(arms.text(), HasSubstr(",slots=2"));
    const auto prompts = make_prefix_arms({.spec = with_slots,
                                           .seed = 3,
                                           .salt = "s",
                                           .form = PromptForm::token_ids,
                                           .calibration = {},
                                           .vocabulary = 1000});
    std::map<std::int64_t, TokenIds> first;
    std::map<std::int64_t, TokenIds> warm;
    std::map<std::int64_t, std::set<std::string>> bodies;
    for (std::uint64_t i = 0; i < 4 * arms.round_size(); ++i) {
        const ArmRequest arm = arms.at(i);
        const Request request = prompts->request(i);
        if (arm.arm == Arm::warm) warm[arm.prefix] = token_ids_of(request);
        EXPECT_EQ(request.body.empty(), arm.arm != Arm::pinned) << name_of(arm.arm);
        if (arm.arm != Arm::pinned) continue;
        bodies[arm.prefix].insert(request.body);
        const TokenIds& same = first.emplace(arm.prefix, token_ids_of(request)).first->second;
        EXPECT_GE(common(token_ids_of(request), same), static_cast<std::size_t>(arm.prefix));
    }
    EXPECT_EQ(bodies,
              (std::map<std::int64_t, std::set<std::string>>{
                  {64, {R"({"id_slot":0})"}}, {96, {R"({"id_slot":1})"}}, {128, {R"({"id_slot":0})"}}}));
    for (const auto& [prefix, ids] : first) EXPECT_EQ(common(ids, warm[prefix]), 0U);
}

TEST(PrefixArms, make_no_prompt_twice_but_the_repeated_one_and_none_with_another_salt) {
    const PrefixArms arms(kSmall, 3);
    const auto prompts = dataset(PromptForm::text);
    const auto others = dataset(PromptForm::text, "t");
    std::set<std::string> texts;
    std::size_t repeats = 0;
    const std::uint64_t count = 4 * arms.round_size();
    for (std::uint64_t i = 0; i < count; ++i) {
        repeats += arms.at(i).arm == Arm::repeat ? 1 : 0;
        texts.insert(std::get<std::string>(prompts->request(i).prompt));
        EXPECT_NE(std::get<std::string>(prompts->request(i).prompt),
                  std::get<std::string>(others->request(i).prompt));
    }
    EXPECT_EQ(texts.size(), count - repeats + 1);
}

TEST(PrefixArms, name_their_classes_and_set_the_first_round_apart) {
    const PrefixArms arms(kSmall, 3);
    EXPECT_EQ(arms.at(0).class_name(), "setup");
    EXPECT_EQ((ArmRequest{.arm = Arm::dynamic_first, .round = 1, .prefix = 64}).class_name(),
              "dynamic-first/64");
    EXPECT_EQ((ArmRequest{.arm = Arm::shared, .round = 1, .prefix = 64, .hit = 0.5}).class_name(),
              "shared-0.5/64");
}

TEST(PrefixArms, refuse_what_makes_no_experiment) {
    const auto refusal = [](const std::string& fields) -> std::string {
        try {
            const PrefixArms arms(spec(fields), 0);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(refusal("prefixes=0"), HasSubstr("a prefix is a whole number of 1 to 10M tokens, not 0"));
    EXPECT_THAT(refusal("prefixes=2.5"), HasSubstr("tokens, not 2.5"));
    EXPECT_THAT(refusal("prefixes="), HasSubstr("at least one prefix"));
    EXPECT_THAT(refusal("hits=1.5"), HasSubstr("a hit ratio lies between 0 and 1, not 1.5"));
    EXPECT_THAT(refusal("suffix=0"), HasSubstr("suffix lies between 1 and 10M tokens"));
    EXPECT_THROW(make_prefix_arms({.spec = spec("prefix=64")}), UsageError);
}

}  // namespace
}  // namespace paretoken::datasets
