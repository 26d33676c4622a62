#include "reports/files/interop/exposition.h"

#include <gtest/gtest.h>

#include <limits>

namespace paretoken::reports {
namespace {

const std::vector<MetricFamily> kFamilies{
    {.name = "paretoken_requests", .help = "Requests.", .counter = true, .samples = {{.value = 12}}},
    {.name = "paretoken_ttft_seconds",
     .help = "Time to first token.",
     .samples = {{.labels = {{"percentile", "p50"}, {"model", "a\"b\\c\nd"}}, .value = .0415},
                 {.labels = {}, .value = std::numeric_limits<double>::infinity()}}},
    {.name = "paretoken_nothing", .help = "No samples."}};

TEST(Exposition, is_the_text_of_prometheus) {
    EXPECT_EQ(exposition_text(kFamilies, false),
              "# HELP paretoken_requests_total Requests.\n"
              "# TYPE paretoken_requests_total counter\n"
              "paretoken_requests_total 12\n"
              "# HELP paretoken_ttft_seconds Time to first token.\n"
              "# TYPE paretoken_ttft_seconds gauge\n"
              "paretoken_ttft_seconds{percentile=\"p50\",model=\"a\\\"b\\\\c\\nd\"} 0.0415\n"
              "paretoken_ttft_seconds +Inf\n");
    EXPECT_EQ(exposition_type(false), "text/plain; version=0.0.4; charset=utf-8");
}

TEST(Exposition, of_openmetrics_names_the_counter_without_its_suffix_and_ends_with_a_mark) {
    const std::string text = exposition_text(kFamilies, true);
    EXPECT_TRUE(
        text.starts_with("# HELP paretoken_requests Requests.\n# TYPE paretoken_requests counter\n"
                         "paretoken_requests_total 12\n"));
    EXPECT_TRUE(text.ends_with("# EOF\n"));
    EXPECT_EQ(exposition_text({}, true), "# EOF\n");
}

TEST(Exposition, has_times_in_openmetrics_only) {
    const std::vector<MetricFamily> families{
        {.name = "a", .samples = {{.value = 1, .time_s = 1764230400.25}}}};
    EXPECT_EQ(exposition_text(families, true), "# TYPE a gauge\na 1 1764230400.250\n# EOF\n");
    EXPECT_EQ(exposition_text(families, false), "# TYPE a gauge\na 1\n");
}

}  // namespace
}  // namespace paretoken::reports
