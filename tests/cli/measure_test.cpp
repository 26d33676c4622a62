#include "cli/measure.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::cli {
namespace {

using Arguments = std::vector<std::string>;

TEST(WithoutSecrets, HidesTheValuesOfHeadersInEveryFormTheyAreGiven) {
    EXPECT_EQ(without_secrets({"p", "-H", "Authorization: Bearer k", "--header", "x-key: k", "--header=a: k",
                               "-Hb: k", "--seed", "1"}),
              (Arguments{"p", "-H", "Authorization: ***", "--header", "x-key: ***", "--header=a: ***",
                         "-Hb: ***", "--seed", "1"}));
}

TEST(ShellLine, QuotesWhatAShellWouldTakeApart) {
    EXPECT_EQ(shell_line({"paretoken", "run", "sim:ideal?ttft=1ms&itl=2ms", "a'b", ""}),
              "paretoken run 'sim:ideal?ttft=1ms&itl=2ms' 'a'\\''b' ''");
}

TEST(LoadLevel, IsOneAtATimeWhenNothingIsSaid) {
    const LoadLevel level = load_level("", {});
    EXPECT_TRUE(level.arrivals.at_once);
    EXPECT_EQ(level.concurrency, 1U);
}

TEST(LoadLevel, ARateMakesAnOpenLoopAndACapIsItsMostInFlight) {
    PaceOptions pace;
    pace.request_rate = "4";
    LoadLevel level = load_level("", pace);
    EXPECT_FALSE(level.arrivals.at_once);
    EXPECT_EQ(level.arrivals.rate, 4);
    EXPECT_FALSE(level.concurrency);
    level = load_level("8", pace);
    EXPECT_EQ(level.concurrency, 8U);
    pace.burstiness = 0.5;
    EXPECT_EQ(load_level("", pace).arrivals.burstiness, 0.5);
}

TEST(LoadLevel, AnInfiniteRateIsAllAtOnce) {
    PaceOptions pace;
    pace.request_rate = "inf";
    EXPECT_THROW(load_level("", pace), UsageError);
    pace.num_prompts = "40";
    EXPECT_EQ(load_level("", pace).concurrency, 40U);
}

TEST(LoadLevel, RefusesContradictions) {
    PaceOptions pace;
    pace.request_rate = "4";
    pace.arrivals = "poisson:rate=4";
    EXPECT_THROW(load_level("", pace), UsageError);
    EXPECT_THROW(load_level("1,2", {}), UsageError);
    EXPECT_THROW(load_level("0", {}), UsageError);
}

}  // namespace
}  // namespace paretoken::cli
