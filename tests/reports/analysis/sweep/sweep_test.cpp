#include "reports/analysis/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::reports {
namespace {

SweepPoint point(double load, const std::string& label, std::uint64_t repeat, double requests_per_s) {
    SweepPoint done{.directory = "d", .load_label = label, .load = load};
    done.repeat = repeat;
    done.state = PointState::done;
    done.requests_per_s = requests_per_s;
    return done;
}

TEST(Repeats, AreTheRunsOfOneLoadInOneCell) {
    const auto repeats = repeats_of({point(1, "c=1", 1, 3), point(1, "c=1", 2, 5), point(2, "c=2", 1, 7)});
    ASSERT_EQ(repeats.size(), 1U);
    EXPECT_EQ(repeats.front().runs, 2U);
    EXPECT_EQ(repeats.front().figures.at("requests_per_s").mean, 4);
}

TEST(Repeats, AreNotTheRunsOfDifferentLevelsThatHaveOneLabel) {
    EXPECT_TRUE(repeats_of({point(1, "6 req/s", 1, 3), point(2, "6 req/s", 1, 6)}).empty());
}

TEST(LoadLabel, HasTheRateAsGivenAndDoesNotFailOnAPlanThatWasChanged) {
    RunResult result;
    result.request_rate = 12345;
    result.classes["a"] = {};
    result.plan = {{"a.arrivals", "at_once"}, {"a.concurrency", "many"}};
    EXPECT_EQ(load_label_of(result), "12345 req/s");
}

TEST(LoadLabel, TellsTheClosedLoopsOfALoadWithBothKinds) {
    RunResult result;
    result.request_rate = 2;
    EXPECT_EQ(load_label_of(result), "2 req/s");
    result.classes = {{"a", {}}, {"b", {}}};
    result.plan = {{"a.arrivals", "at_once"},
                   {"a.concurrency", "4"},
                   {"b.arrivals", "poisson:rate=2"},
                   {"b.concurrency", "8"}};
    EXPECT_EQ(load_label_of(result), "c=4 + 2 req/s");
    result.turns.resize(2);
    EXPECT_EQ(load_label_of(result), "c=4 + 2 conv/s");
    result.jobs.emplace();
    EXPECT_EQ(load_label_of(result), "c=4 + 2 jobs/s");
    result.plan["arrivals"] = "trace";
    EXPECT_EQ(load_label_of(result), "trace, 2.00 jobs/s");
    result.jobs->ok = result.jobs->failed = 1;
    EXPECT_EQ(load_label_of(result), "trace, all at once") << "their times are all the same";
    result.jobs->failed = 0;
    EXPECT_EQ(load_label_of(result), "trace, 1 job") << "it has no rate";
    result.jobs->ok = 3;
    result.plan["arrivals"] = "users:n=20,rate=2";
    EXPECT_EQ(load_label_of(result), "c=4 + 2 req/s");
    result.request_rate.reset();
    result.concurrency = 4;
    EXPECT_EQ(load_label_of(result), "c=4");
}

}  // namespace
}  // namespace paretoken::reports
