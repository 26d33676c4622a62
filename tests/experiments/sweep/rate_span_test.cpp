#include "experiments/sweep/rate_span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "experiments/session.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

using ::testing::ElementsAre;

TEST(SpreadRates, are_equal_multiples_to_three_digits) {
    EXPECT_THAT(spread_rates(1, 8, 4), ElementsAre(1, 2, 4, 8));
    EXPECT_THAT(spread_rates(0.01, 123.456, 3), ElementsAre(0.01, 1.11, 123));
    EXPECT_THAT(spread_rates(5, 5, 8), ElementsAre(5));
    EXPECT_THAT(spread_rates(1, 9, 1), ElementsAre(9));
}

class RateSpan : public VirtualExperiment {
  protected:
    RatesToSaturation rates(const std::string& name) {
        const SweepPlan plan{.asked = with_dataset(plan_of(small())), .axis = Axis::request_rate};
        const auto target = open_target(plan.asked, {}, watcher_, stop_.get_token());
        return rates_to_saturation(*target, plan, 5, directory_ / name, {{}, watcher_, stop_.get_token()});
    }
};

TEST_F(RateSpan, goes_from_one_request_at_a_time_to_where_more_in_flight_complete_no_more) {
    const std::vector<double> found = rates("a").rates;
    ASSERT_EQ(found.size(), 5U);
    const double alone = result("a/pilot/c0001").whole_run.at(figure::kRequests).value();
    EXPECT_NEAR(found.front(), alone, 0.01 * alone);
    EXPECT_GT(found.back(), 4 * alone);
    double most = 0;
    for (const auto& pilot : std::filesystem::directory_iterator(directory_ / "a/pilot"))
        most =
            std::max(most, reports::read_run_directory(pilot.path()).whole_run.at(figure::kRequests).value());
    EXPECT_NEAR(found.back(), most, 0.01 * most);
}

TEST_F(RateSpan, is_the_same_when_the_command_goes_on_and_measures_nothing_twice) {
    const RatesToSaturation first = rates("a");
    const std::string before = bytes("a/pilot/c0002/run.json");
    EXPECT_GT(first.spent, from_seconds(result("a/pilot/c0002").window.run_s));
    const RatesToSaturation again = rates("a");
    EXPECT_EQ(again.rates, first.rates);
    EXPECT_EQ(again.spent, Duration{});
    EXPECT_EQ(bytes("a/pilot/c0002/run.json"), before);
}

}  // namespace
}  // namespace paretoken::experiments
