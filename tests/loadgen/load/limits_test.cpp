#include "loadgen/load/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::loadgen {
namespace {

using ::testing::HasSubstr;

TEST(StopRules, AreReadAsTheyAreWritten) {
    EXPECT_EQ(parse_stop_rule("requests=2k").limit, 2000);
    EXPECT_EQ(parse_stop_rule("duration=1.5m").limit, 90);
    EXPECT_EQ(parse_stop_rule("tokens=1M").limit, 1e6);
    EXPECT_DOUBLE_EQ(parse_stop_rule("errors=5%").limit, 0.05);
    EXPECT_DOUBLE_EQ(parse_stop_rule("errors=0.05").limit, 0.05);
    const StopRule precision = parse_stop_rule("precision:ttft_p99=10%");
    EXPECT_EQ(precision.kind, StopKind::precision);
    EXPECT_EQ(precision.metric, "ttft");
    EXPECT_DOUBLE_EQ(precision.percentile, 0.99);
    EXPECT_DOUBLE_EQ(precision.limit, 0.1);
    const StopRule slo = parse_stop_rule("slo:ttft_p95>2s");
    EXPECT_EQ(slo.kind, StopKind::slo);
    EXPECT_DOUBLE_EQ(slo.percentile, 0.95);
    EXPECT_DOUBLE_EQ(slo.limit, 2);
    EXPECT_EQ(parse_stop_rule("slo:interactivity_p90>30").metric, "interactivity");
    EXPECT_DOUBLE_EQ(parse_stop_rule("slo:tpot_p50>15").limit, 0.015) << "milliseconds, as in --goodput";
    for (const char* const form : {"slo:ttft_p95:2000", "slo:ttft_p95<2s"}) {
        EXPECT_EQ(parse_stop_rule(form).metric, "ttft");
        EXPECT_DOUBLE_EQ(parse_stop_rule(form).percentile, 0.95);
        EXPECT_DOUBLE_EQ(parse_stop_rule(form).limit, 2);
    }
    EXPECT_FALSE(parse_stop_rule("diverging").off);
    EXPECT_TRUE(parse_stop_rule("diverging=off").off);
}

TEST(StopRules, ThatAreWrongAreRefusedWithTheRulesThereAre) {
    for (const char* text : {"",
                             "bored",
                             "requests",
                             "requests=0",
                             "requests=many",
                             "duration=0s",
                             "tokens=-1",
                             "errors=0%",
                             "errors=100%",
                             "errors=1",
                             "errors=101%",
                             "precision=10%",
                             "precision:ttft=10%",
                             "precision:itl_p99=10%",
                             "precision:ttft_p98=10%",
                             "precision:speed_p99=10%",
                             "precision:ttft_p99=0%",
                             "slo:ttft<2s",
                             "slo:ttft_p95>soon",
                             "diverging=maybe",
                             "diverging:ttft"}) {
        EXPECT_THROW(parse_stop_rule(text), UsageError) << text;
    }
    try {
        parse_stop_rule("bored=yes");
        FAIL();
    } catch (const UsageError& error) {
        for (const StopRow& row : stop_table()) EXPECT_THAT(error.what(), HasSubstr(std::string(row.name)));
    }
}

}  // namespace
}  // namespace paretoken::loadgen
