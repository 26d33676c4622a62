#include "experiments/sweep/knee_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace paretoken::experiments {
namespace {

using Judge = std::function<SloVerdict(const SearchStep&)>;

/// Returns all steps of a search on a server whose rate grows with the level.
std::vector<SearchStep> steps_of(
    KneeSearch& search, const Judge& judge,
    const std::function<double(double)>& rate = [](double c) { return c; }, double times_enough = 2) {
    std::vector<SearchStep> steps;
    while (const auto step = search.next()) {
        steps.push_back(*step);
        search.tell({judge(*step), rate(step->level), times_enough});
    }
    return steps;
}

Judge passes_up_to(double knee) {
    return
        [knee](const SearchStep& step) { return step.level <= knee ? SloVerdict::met : SloVerdict::missed; };
}

TEST(KneeSearch, finds_every_knee_of_whole_levels_within_its_precision_and_runs) {
    for (double knee = 1; knee <= 300; ++knee) {
        KneeSearch search({});
        const auto steps = steps_of(search, passes_up_to(knee));
        ASSERT_TRUE(search.pass()) << knee;
        ASSERT_TRUE(search.fail()) << knee;
        EXPECT_LE(*search.pass(), knee);
        EXPECT_GT(*search.fail(), knee);
        EXPECT_TRUE(*search.fail() <= 1.1 * *search.pass() || *search.fail() - *search.pass() <= 1 ||
                    steps.size() == 12)
            << knee << ": " << *search.pass() << " to " << *search.fail();
        EXPECT_LE(steps.size(), 12U);
        EXPECT_TRUE(steps.back().confirms);
        EXPECT_EQ(steps.back().level, *search.pass());
    }
}

TEST(KneeSearch, finds_rates_below_one) {
    KneeSearch search({.from = 1, .whole = false, .max_runs = 20});
    steps_of(search, passes_up_to(0.3));
    ASSERT_TRUE(search.pass());
    EXPECT_LE(*search.pass(), 0.3);
    EXPECT_GT(*search.pass(), 0.3 / 1.1);
}

TEST(KneeSearch, certifies_only_what_passed_twice) {
    KneeSearch search({});
    const auto steps = steps_of(search, [](const SearchStep& step) {  // 8 passes once by luck
        if (step.level == 8 && step.confirms) return SloVerdict::missed;
        return step.level <= 8 ? SloVerdict::met : SloVerdict::missed;
    });
    ASSERT_TRUE(search.pass());
    EXPECT_LT(*search.pass(), 8);
    EXPECT_EQ(search.fail(), 8);
    EXPECT_TRUE(steps.back().confirms);
}

TEST(KneeSearch, tries_higher_levels_before_longer_runs_where_time_cut_the_lowest_ones_short) {
    const auto judged = [](double knee) {
        return [knee](const SearchStep& step) -> StepResult {
            if (step.level > knee) return {SloVerdict::missed, knee};
            if (step.level < 4 && step.longer < 2) return {SloVerdict::insufficient, step.level, 2, true};
            return {SloVerdict::met, step.level, 1};
        };
    };
    const auto steps_with = [](KneeSearch& search, const auto& judge) {
        std::vector<SearchStep> steps;
        while (const auto step = search.next()) {
            steps.push_back(*step);
            search.tell(judge(*step));
        }
        return steps;
    };
    KneeSearch high({});
    const auto up = steps_with(high, judged(9));
    EXPECT_EQ(high.pass(), 9);
    EXPECT_EQ(up[1], (SearchStep{2, 1, false}));
    EXPECT_EQ(up[2], (SearchStep{4, 1, false}));

    KneeSearch low({});  // the level above the one that was cut short misses the limit
    const auto down = steps_with(low, judged(1));
    EXPECT_EQ(down[1], (SearchStep{2, 1, false}));
    EXPECT_EQ(down[2], (SearchStep{1, 2, false}));
    EXPECT_EQ(low.pass(), 1);
}

TEST(KneeSearch, lengthens_a_level_that_is_insufficient_instead_of_judging_it) {
    KneeSearch search({});
    const auto steps = steps_of(search, [](const SearchStep& step) {
        if (step.level == 4 && step.longer < 4) return SloVerdict::insufficient;
        return step.level <= 4 ? SloVerdict::met : SloVerdict::missed;
    });
    EXPECT_EQ(search.pass(), 4);
    EXPECT_EQ(steps[2], (SearchStep{4, 1, false}));
    EXPECT_EQ(steps[3], (SearchStep{4, 2, false}));
    EXPECT_EQ(steps[4], (SearchStep{4, 4, false}));
    EXPECT_EQ(steps[5], (SearchStep{8, 4, false})) << "higher levels begin at that length";
    EXPECT_EQ(steps.back(), (SearchStep{4, 8, true})) << "twice as long as when it passed";
}

TEST(KneeSearch, lengthens_by_as_much_as_the_evidence_asks_for) {
    KneeSearch search({});
    const auto steps = steps_of(
        search,
        [](const SearchStep& step) {
            if (step.longer < 8) return SloVerdict::insufficient;
            return step.level <= 4 ? SloVerdict::met : SloVerdict::missed;
        },
        [](double c) { return c; }, 5.5);
    EXPECT_EQ(steps[0], (SearchStep{1, 1, false}));
    EXPECT_EQ(steps[1], (SearchStep{1, 8, false})) << "the next power of two";
    EXPECT_EQ(steps[2], (SearchStep{2, 8, false}));
    EXPECT_EQ(search.pass(), 4);
}

TEST(KneeSearch, certifies_a_lower_level_where_the_highest_cannot_be_decided_again) {
    KneeSearch search({.max_runs = 30});
    steps_of(search, [](const SearchStep& step) {
        if (step.level > 40) return SloVerdict::missed;
        return step.level > 32 && step.confirms ? SloVerdict::insufficient : SloVerdict::met;
    });
    EXPECT_EQ(search.pass(), 16) << "levels just below are as doubtful";
    ASSERT_TRUE(search.within());
    EXPECT_GT(*search.within(), 32);
    EXPECT_LE(*search.within(), 40);
}

TEST(KneeSearch, goes_on_from_a_level_that_is_within_and_shows_the_highest_one_at_the_end) {
    KneeSearch search({});
    const auto steps = steps_of(
        search,
        [](const SearchStep& step) {
            if (step.level > 64) return SloVerdict::missed;
            return step.longer < 8 ? SloVerdict::within : SloVerdict::met;
        },
        [](double c) { return c; }, 5);
    ASSERT_TRUE(search.pass()) << search.ended();
    EXPECT_EQ(search.pass(), search.within());
    EXPECT_GE(*search.pass(), 60);
    for (const SearchStep& step : steps) EXPECT_TRUE(step.confirms || step.longer == 1) << step.level;
    EXPECT_THAT(steps, ::testing::Contains(SearchStep{*search.pass(), 8, true}))
        << "as long as the evidence asks for";
}

TEST(KneeSearch, uses_the_runs_that_are_left_after_a_level_was_shown) {
    for (double knee = 65; knee < 128; ++knee) {
        KneeSearch search({});
        const auto steps = steps_of(search, [&](const SearchStep& step) {
            if (step.level > knee) return SloVerdict::missed;
            return step.confirms ? SloVerdict::met : SloVerdict::within;
        });
        ASSERT_TRUE(search.pass()) << knee;
        EXPECT_LE(*search.pass(), knee);
        EXPECT_LE(*search.fail(), 1.2 * *search.pass()) << knee << ": " << search.ended();
        EXPECT_GE(steps.size(), 11U) << knee;
        EXPECT_THAT(search.ended(), ::testing::HasSubstr("the passing level was measured twice")) << knee;
    }
}

TEST(KneeSearch, keeps_a_level_that_was_shown_if_a_higher_one_cannot_be) {
    KneeSearch search({});
    steps_of(search, [](const SearchStep& step) {
        if (step.level > 120) return SloVerdict::missed;
        return step.level <= 91 && step.confirms ? SloVerdict::met : SloVerdict::within;
    });
    EXPECT_EQ(search.pass(), 91) << search.ended();
    EXPECT_GT(*search.within(), 91);
}

TEST(KneeSearch, of_levels_that_are_never_shown_still_knows_the_highest_that_is_within) {
    KneeSearch search({});
    steps_of(search, [](const SearchStep& step) {
        return step.level > 64 ? SloVerdict::missed : SloVerdict::within;
    });
    EXPECT_FALSE(search.pass());
    ASSERT_TRUE(search.within());
    EXPECT_EQ(*search.within(), 64);
    EXPECT_LE(*search.fail(), 91);
}

TEST(KneeSearch, keeps_its_last_run_for_the_level_that_was_found) {
    KneeSearch search({.max_runs = 7});
    const auto steps = steps_of(search, [](const SearchStep& step) {
        return step.level <= 2 ? SloVerdict::met : SloVerdict::insufficient;
    });
    EXPECT_EQ(search.pass(), 2);
    EXPECT_EQ(steps.size(), 7U);
    EXPECT_EQ(steps.back(), (SearchStep{2, 2, true}));
}

TEST(KneeSearch, goes_beyond_a_level_without_evidence_to_one_that_fails_for_certain) {
    KneeSearch search({});
    steps_of(search, [](const SearchStep& step) {
        if (step.level <= 2) return SloVerdict::met;
        return step.level < 8 ? SloVerdict::insufficient : SloVerdict::missed;
    });
    EXPECT_EQ(search.pass(), 2);
    EXPECT_EQ(search.fail(), 8);
}

TEST(KneeSearch, looks_below_a_level_half_way_that_cannot_be_decided) {
    KneeSearch search({.max_runs = 30});
    steps_of(search, [](const SearchStep& step) {
        if (step.level == 32) return SloVerdict::insufficient;
        return step.level < 32 ? SloVerdict::met : SloVerdict::missed;
    });
    ASSERT_TRUE(search.pass());
    EXPECT_GT(*search.pass(), 28);
    EXPECT_LT(*search.pass(), 32);
}

TEST(Rates, are_those_of_a_saturated_server_where_throughput_hardly_grows_up_to_the_highest_load) {
    const Rates growing{{32, 23.5}, {64, 35.8}, {128, 45.9}, {256, 50.2}};
    EXPECT_EQ(saturated_from(growing), std::nullopt);
    EXPECT_NEAR(elasticity_of(growing).front(), .61, .01);
    EXPECT_EQ(elasticity_of(growing).size(), 3U);
    EXPECT_EQ(saturated_from({{4, 4}, {8, 8}, {16, 8.2}, {17, 8.1}}), 8);
    EXPECT_EQ(saturated_from({{15, 8}, {16, 8}}), std::nullopt) << "too near to each other";
    EXPECT_EQ(saturated_from({{1, 1}}), std::nullopt);
    EXPECT_TRUE(elasticity_of({{1, 1}}).empty());
}

TEST(KneeSearch, that_ends_without_a_failing_level_says_that_no_higher_one_was_allowed) {
    KneeSearch search({.max_runs = 5});
    steps_of(search, passes_up_to(1e9));
    EXPECT_THAT(search.ended(), testing::HasSubstr("--max-runs allowed no higher one"));
}

TEST(KneeSearch, says_when_there_is_no_evidence_at_all) {
    KneeSearch search({});
    const auto steps = steps_of(search, [](const SearchStep&) { return SloVerdict::insufficient; });
    EXPECT_FALSE(search.pass());
    EXPECT_FALSE(search.fail());
    EXPECT_EQ(steps.size(), 6U) << "four runs of the first level, and one of each of two higher ones";
    EXPECT_NE(search.ended().find("too little evidence"), std::string::npos);
}

TEST(KneeSearch, goes_on_to_levels_that_have_enough_requests_where_the_first_one_has_too_few) {
    KneeSearch search({});
    steps_of(search, [](const SearchStep& step) {
        if (step.level < 4) return SloVerdict::insufficient;
        return step.level <= 20 ? SloVerdict::met : SloVerdict::missed;
    });
    EXPECT_GE(search.pass().value_or(0), 16);
}

TEST(KneeSearch, ends_when_even_one_at_a_time_fails) {
    KneeSearch search({.from = 4});
    steps_of(search, passes_up_to(0));
    EXPECT_FALSE(search.pass());
    EXPECT_EQ(search.fail(), 1);
}

TEST(KneeSearch, stops_doubling_where_throughput_no_longer_grows) {
    KneeSearch search({});
    steps_of(search, passes_up_to(1e9), [](double c) { return std::min(c, 8.0); });
    EXPECT_EQ(search.pass(), 32);
    EXPECT_FALSE(search.fail());
}

TEST(KneeSearch, never_goes_beyond_its_last_level) {
    KneeSearch search({.from = 2, .most = 48});
    const auto steps = steps_of(search, passes_up_to(1e9));
    EXPECT_EQ(search.pass(), 48);
    for (const SearchStep& step : steps) EXPECT_LE(step.level, 48);
}

}  // namespace
}  // namespace paretoken::experiments
