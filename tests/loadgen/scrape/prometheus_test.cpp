#include "loadgen/scrape/prometheus.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "tests/support/golden.h"

namespace paretoken::scrape {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<Sample> samples_of(std::string_view text) {
    return parse_prometheus(text).samples;
}

TEST(Prometheus, ASampleIsANameItsLabelsAndAValue) {
    EXPECT_THAT(samples_of("# HELP up Is it up?\n# TYPE up gauge\nup 1\n"
                           "vllm:hits_total{engine=\"0\",model_name=\"a b\"} 7.68e+02 1700000000\n"),
                ElementsAre(Sample{"up", {}, 1},
                            Sample{"vllm:hits_total", {{"engine", "0"}, {"model_name", "a b"}}, 768}));
}

TEST(Prometheus, LabelsMayHoldEscapesBracesAndTrailingCommas) {
    EXPECT_THAT(samples_of(R"(x { a = "q\"}, \\ \n" , b="", } -1)"),
                ElementsAre(Sample{"x", {{"a", "q\"}, \\ \n"}, {"b", ""}}, -1}));
}

TEST(Prometheus, ValuesMayBeInfiniteOrNoNumber) {
    const auto samples = samples_of("a +Inf\nb -Inf\r\nc NaN\nd 12 # {trace=\"x\"} 0.5");
    ASSERT_EQ(samples.size(), 4u);
    EXPECT_EQ(samples[0].value, INFINITY);
    EXPECT_EQ(samples[1].value, -INFINITY);
    EXPECT_TRUE(std::isnan(samples[2].value));
    EXPECT_EQ(samples[3].value, 12);
}

TEST(Prometheus, LinesThatAreNoSamplesAreCountedAndSkipped) {
    const Scrape scrape = parse_prometheus("<html>\nx{a=\"1\" 3\ny{a=1} 3\nz\nw seven\ngood 1\n\n");
    EXPECT_EQ(scrape.bad_lines, 5u);
    EXPECT_THAT(scrape.samples, ElementsAre(Sample{"good", {}, 1}));
}

TEST(Prometheus, ASumGoesOverEnginesAndCanBeNarrowed) {
    const auto samples =
        samples_of("n{engine=\"0\",k=\"a\"} 1\nn{engine=\"1\",k=\"a\"} 2\nn{engine=\"1\",k=\"b\"} 4\n");
    EXPECT_EQ(sum_of(samples, "n"), 7);
    EXPECT_EQ(sum_of(samples, "n", {{"k", "a"}}), 3);
    EXPECT_EQ(sum_of(samples, "n", {{"k", "c"}}), std::nullopt);
    EXPECT_EQ(sum_of(samples, "m"), std::nullopt);
}

TEST(Prometheus, ANameIsFoundInTheSpellingOfTheServer) {
    const auto samples = samples_of("hits_total 1\nold 2\nplain 3\n");
    using Names = std::array<std::string_view, 2>;
    EXPECT_EQ(name_among(samples, Names{"hits", "old"}), "hits_total");
    EXPECT_EQ(name_among(samples, Names{"new", "old"}), "old");
    EXPECT_EQ(name_among(samples, Names{"new", "plain_total"}), "plain");
    EXPECT_EQ(name_among(samples, Names{"new", "newer"}), std::nullopt);
}

TEST(Prometheus, RealServersMetricsAreReadWhole) {
    const Scrape vllm = parse_prometheus(paretoken::testing::golden("metrics/vllm-0.32.prom"));
    EXPECT_EQ(vllm.bad_lines, 0u);
    EXPECT_EQ(sum_of(vllm.samples, "vllm:prefix_cache_queries_total"), 1295);
    EXPECT_EQ(sum_of(vllm.samples, "vllm:prefix_cache_hits_total"), 768);
    EXPECT_EQ(sum_of(vllm.samples, "vllm:prompt_tokens_by_source_total", {{"source", "local_compute"}}), 527);
    const Scrape llama = parse_prometheus(paretoken::testing::golden("metrics/llamacpp.prom"));
    EXPECT_EQ(llama.bad_lines, 0u);
    EXPECT_EQ(sum_of(llama.samples, "llamacpp:prompt_tokens_cached_total"), 93);
    EXPECT_EQ(sum_of(llama.samples, "llamacpp:prompt_seconds_total"), 0.173473);
}

}  // namespace
}  // namespace paretoken::scrape
