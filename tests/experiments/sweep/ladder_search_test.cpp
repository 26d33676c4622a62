#include "experiments/sweep/ladder_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace paretoken::experiments {
namespace {

using ::testing::ElementsAre;

/// Returns all steps of a search.
std::vector<SearchStep> steps_of(LadderSearch& search,
                                 const std::function<StepResult(const SearchStep&)>& result) {
    std::vector<SearchStep> steps;
    while (const auto step = search.next()) {
        steps.push_back(*step);
        search.tell(result(*step));
    }
    return steps;
}

/// Returns the result of a server whose limits are missed above 4, which 8 times the requests show.
StepResult shown_after_eight_times(const SearchStep& step) {
    if (step.longer < 8)
        return {step.level > 4 ? SloVerdict::missed : SloVerdict::within, 1, 8.0 / double(step.longer)};
    return {step.level > 4 ? SloVerdict::missed : SloVerdict::met, 1, 1};
}

TEST(LadderSearch, lengthens_only_the_levels_next_to_the_answer) {
    LadderSearch search({1, 2, 4, 8, 16}, 1024);
    EXPECT_THAT(steps_of(search, shown_after_eight_times),
                ElementsAre(SearchStep{1}, SearchStep{2}, SearchStep{4}, SearchStep{8}, SearchStep{16},
                            SearchStep{4, 8}, SearchStep{8, 8}));
    EXPECT_EQ(search.runs(), 7U);
    EXPECT_EQ(search.ended(), "the levels next to the answer are decided");
}

TEST(LadderSearch, goes_to_the_next_level_if_a_longer_run_says_something_else) {
    LadderSearch search({1, 2, 4}, 1024);
    const auto steps = steps_of(search, [](const SearchStep& step) -> StepResult {
        if (step.level == 1) return {SloVerdict::met, 1, 1};
        return step.longer < 4 ? StepResult{SloVerdict::within, 1, 4} : StepResult{SloVerdict::missed, 1, 1};
    });
    EXPECT_THAT(steps,
                ElementsAre(SearchStep{1}, SearchStep{2}, SearchStep{4}, SearchStep{4, 4}, SearchStep{2, 4}));
}

TEST(LadderSearch, lengthens_levels_without_enough_evidence_below_one_that_misses) {
    LadderSearch search({1, 2, 4}, 2);
    const auto steps = steps_of(search, [](const SearchStep& step) -> StepResult {
        if (step.level == 1) return {SloVerdict::met, 1, 1};
        if (step.level == 2) return {SloVerdict::insufficient, 1, 5};
        return {SloVerdict::missed, 1, 1};
    });
    EXPECT_EQ(steps.back(), (SearchStep{2, 2}));
}

TEST(LadderSearch, does_not_repeat_a_run_if_no_longer_one_is_allowed) {
    LadderSearch search({1}, 1024);
    search.tell({SloVerdict::within, 1, 8});
    EXPECT_EQ(search.next(), (SearchStep{1, 8}));
    search.limit(3);
    EXPECT_EQ(search.next(), (SearchStep{1, 2}));
    search.limit(1);
    EXPECT_FALSE(search.next());
}

}  // namespace
}  // namespace paretoken::experiments
