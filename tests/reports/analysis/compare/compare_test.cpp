#include "reports/analysis/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace paretoken::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReportPoint point(double tokens_per_s, std::optional<Interval> ci95 = {}, double load = 8) {
    ReportPoint point;
    point.load = load;
    point.load_label = "c=" + std::to_string(static_cast<int>(load));
    point.result.throughput.set("output_tokens_per_s", tokens_per_s, ci95);
    point.result.provenance.model = "m";
    return point;
}

const SideFigure& throughput_of(const ResultComparison& comparison, std::size_t side) {
    return *comparison.loads.at(0).figures.at(0).sides.at(side);
}

TEST(Compare, gives_the_ratio_of_single_runs_with_the_interval_of_both) {
    const ResultComparison comparison =
        comparison_of({{"a", {point(100, Interval{98, 102})}}, {"b", {point(150, Interval{147, 153})}}});
    const SideFigure& b = throughput_of(comparison, 1);
    EXPECT_DOUBLE_EQ(*b.ratio, 1.5);
    // The half widths of 2 % add as squares: 2.8 %.
    EXPECT_NEAR(b.ratio_ci95->low, 1.5 * (1 - .0283), 2e-3);
    EXPECT_NEAR(b.ratio_ci95->high, 1.5 * (1 + .0283), 2e-3);
    EXPECT_FALSE(throughput_of(comparison, 0).ratio.has_value());
}

TEST(Compare, uses_the_variation_between_runs_where_there_are_several) {
    const ResultComparison comparison = comparison_of(
        {{"a", {point(99), point(100), point(101)}}, {"b", {point(109), point(110), point(111)}}});
    const SideFigure& b = throughput_of(comparison, 1);
    EXPECT_NEAR(*b.ratio, 1.1, 1e-3);
    // Standard errors of 1 ÷ √3 and 0.91 ÷ √3 percent, Student's t with about 4 degrees of freedom: ± 2.2 %.
    EXPECT_NEAR(std::log(b.ratio_ci95->high / *b.ratio), .0217, 1e-3);
}

TEST(Compare, says_more_only_where_the_interval_shows_a_difference) {
    const auto sentence = [](Interval ci95) {
        return comparison_of({{"a", {point(100, ci95)}}, {"b", {point(104, ci95)}}})
            .loads.at(0)
            .sentences.at(0);
    };
    EXPECT_THAT(sentence({99, 101}), HasSubstr("b gives 4.0 % more output tokens per second"));
    EXPECT_THAT(sentence({50, 200}), HasSubstr("b is not shown to differ in output tokens per second"));
}

TEST(Compare, takes_only_loads_that_two_sides_have_and_leaves_out_invalid_runs_by_name) {
    ReportPoint bad = point(1);
    bad.result.validity.verdict = Verdict::invalid;
    const ResultComparison comparison =
        comparison_of({{"a", {point(100), point(10, {}, 1)}}, {"b", {point(110), bad}}});
    ASSERT_EQ(comparison.loads.size(), 1U);
    EXPECT_EQ(comparison.loads.front().load, "c=8");
    EXPECT_THAT(comparison.differences, ElementsAre(HasSubstr("b at c=8 is left out")));
    EXPECT_THAT(comparison_of({{"a", {point(10, {}, 1)}}, {"b", {point(110)}}}).loads, IsEmpty());
}

TEST(Compare, names_the_verdicts_on_the_runs_if_they_differ) {
    const ReportPoint valid = point(100);
    ReportPoint warned = point(100);
    warned.result.validity = {Verdict::warn, {{Verdict::warn, "foreign_load", "others load the server"}}};
    EXPECT_THAT(comparison_of({{"a", {valid}}, {"b", {warned}}}).differences,
                ElementsAre("verdict on the runs: valid | warn (foreign_load)"));
    EXPECT_THAT(comparison_of({{"a", {valid}}, {"b", {valid}}}).differences, ::testing::IsEmpty());
}

TEST(Compare, names_differences_of_conditions_first) {
    ReportPoint other = point(100);
    other.result.provenance.model = "n";
    other.result.provenance.measured_by = "AIPerf 0.13.0";
    const ResultComparison comparison = comparison_of({{"a", {point(100)}}, {"b", {other}}});
    EXPECT_THAT(comparison.differences,
                ElementsAre(HasSubstr("measured by: paretoken  | AIPerf 0.13.0"), HasSubstr("model: m | n")));
}

TEST(Compare, names_number_formats_and_labels_that_differ) {
    ReportPoint bf16 = point(100);
    bf16.result.provenance.model_card = ModelCardNote{"llama", "llama", "bf16", "bf16", "0"};
    bf16.result.provenance.metadata = {{"build", "b1"}};
    ReportPoint fp8 = bf16;
    fp8.result.provenance.model_card->weights = "fp8";
    fp8.result.provenance.metadata = {{"build", "b1"}, {"threads", "2"}};
    EXPECT_THAT(comparison_of({{"a", {bf16}}, {"b", {fp8}}}).differences,
                ElementsAre("weights: bf16 | fp8", "threads: not known | 2"));
}

}  // namespace
}  // namespace paretoken::reports
