#include "reports/analysis/cache/picture.h"

#include <gmock/gmock.h>

#include "reports/files/json/cache_json.h"
#include "reports/files/json/report_json.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CacheArm arm(const std::string& name, std::int64_t prefix, double ttft_s, double cached, double hit = 0) {
    return {.arm = name,
            .prefix = prefix,
            .hit = hit,
            .n = 30,
            .prompt_tokens = static_cast<double>(prefix) + 64,
            .ttft_p50_s = ttft_s,
            .ttft_p50_ci95 = Interval{.9 * ttft_s, 1.1 * ttft_s},
            .ttft_p95_s = 1.5 * ttft_s,
            .hits = {.expected = cached, .usage = cached, .server = {}},
            .differs = name != "cold"};
}

/// A report in which every field has a value.
CacheReport whole_report() {
    CacheLevel level{.concurrency = 8,
                     .directory = "cache/c8",
                     .arms = {arm("cold", 256, .040, 0), arm("warm", 256, .012, .8),
                              arm("shared", 256, .030, .4, .5), arm("cold", 1024, .120, 0),
                              arm("warm", 1024, .012, .94), arm("shared", 1024, .066, .47, .5)},
                     .fit = TtftFit{.n = 180,
                                    .base_s = {.005, {.004, .006}},
                                    .per_token_s = {1e-4, {9e-5, 1.1e-4}},
                                    .per_token2_s = FitTerm{1e-9, {5e-10, 2e-9}}},
                     .saved_ms_per_1k_cached = 100,
                     .saved_ms_per_1k_cached_ci95 = Interval{90, 110},
                     .saved_prompt_tokens = 1088,
                     .output_tokens_per_s = 321.5,
                     .hits = {.expected = .62, .usage = .61, .server = .60}};
    level.arms.back().failed = 2;
    level.arms.back().output_tokens_per_s = 12.5;
    level.arms.back().usd_per_m_output = 1.25;
    level.arms.back().p_value = .25;
    CacheLevel invalid{.concurrency = 1, .directory = "cache/c1", .invalid = "loop_lag"};
    invalid.arms = {arm("cold", 256, .04, 0)};
    return {.target = "http://server:8000",
            .model = "llama",
            .engine = "vllm",
            .levels = {level, invalid},
            .granularity_tokens = 16,
            .least_cached_prefix = 48,
            .working_set = WorkingSet{.prefix_tokens = 1024,
                                      .request_tokens = 1104,
                                      .held = 9,
                                      .lost = 10,
                                      .found = {{1, 1}, {8, .98}, {9, .7}, {10, .2}}},
            .idle_time = IdleTime{.held_s = 30, .lost_s = 120, .found = {{1, 1}, {30, .9}, {120, 0}}},
            .burst = CacheBurst{.rate = 2, .prefixes = 8, .before = .99, .during = .5, .after = std::nullopt},
            .price = "$3.50/h",
            .verdicts = {{"works", "Prefix caching works.", "94 % of 1,024 tokens"},
                         {"thrashing", "The cache is too small.", "10 of 16"}}};
}

TEST(CacheFile, is_read_back_as_it_was_written) {
    const CacheReport report = whole_report();
    EXPECT_EQ(parse_cache_json(cache_json(report), "cache.json"), report);
    CacheReport bare{.target = "sim:ideal"};
    EXPECT_EQ(parse_cache_json(cache_json(bare), "cache.json"), bare);
    EXPECT_THAT(cache_json(bare), AllOf(Not(HasSubstr("price")), Not(HasSubstr("idle_time"))));
}

TEST(CacheFile, that_is_damaged_or_foreign_is_refused_by_name_and_key) {
    const std::string whole = cache_json(whole_report());
    const auto refusal = [](const std::string& text) {
        return message_of([&] { parse_cache_json(text, "dir/cache.json"); });
    };
    const auto with = [&whole](const std::string& from, const std::string& to) {
        std::string text = whole;
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return text.replace(at, from.size(), to);
    };
    EXPECT_THAT(refusal(whole.substr(0, whole.size() / 2)),
                AllOf(HasSubstr("dir/cache.json"), HasSubstr("cut off")));
    EXPECT_THAT(refusal(with("cache/1", "cache/7")),
                AllOf(HasSubstr("paretoken/cache/7"), HasSubstr("measure")));
    EXPECT_THAT(refusal("{\"compiler\": \"gcc\"}"), AllOf(HasSubstr("dir/cache.json"), HasSubstr("schema")));
    EXPECT_THAT(refusal(with("\"prefix\": 256", "\"prefix\": \"long\"")),
                HasSubstr("levels[0].arms[0].prefix"));
    EXPECT_THAT(refusal(with("\"idle_s\": 1.0", "\"idle_s\": null")), HasSubstr("idle_time.found[0].idle_s"));
    EXPECT_THAT(refusal(with("\"verdicts\"", "\"verdict\"")), HasSubstr("verdicts"));
}

TEST(CachePicture, has_a_series_per_arm_with_its_intervals_and_the_fit_through_them) {
    const CachePicture picture = picture_of(LoadedCache{"cache", whole_report()});
    ASSERT_EQ(picture.levels.size(), 2U);
    ASSERT_EQ(picture.levels[0].size(), 2U);
    const Picture& ttft = picture.levels[0][0];
    std::vector<std::string> names;
    for (const PictureSeries& series : ttft.series) names.push_back(series.name);
    EXPECT_THAT(names, ElementsAre("cold", "warm", "shared 50 %"));
    EXPECT_EQ(ttft.series[1].points[1].x, 1024);
    EXPECT_DOUBLE_EQ(ttft.series[1].points[1].y, 12);
    ASSERT_TRUE(ttft.series[1].points[1].interval);
    EXPECT_DOUBLE_EQ(ttft.series[1].points[1].interval->low, .9 * 12);

    const Picture& fit = picture.levels[0][1];
    EXPECT_TRUE(fit.linear_x);
    ASSERT_EQ(fit.series.size(), 4U);
    EXPECT_EQ(fit.series[3].style, "fit");
    EXPECT_DOUBLE_EQ(fit.series[3].points.front().x, 0);
    EXPECT_DOUBLE_EQ(fit.series[3].points.front().y, 5);
    EXPECT_NEAR(fit.series[3].points.back().y, 1e3 * (.005 + 1e-4 * 1088 + 1e-9 * 1088 * 1088), 1e-9);
    EXPECT_NEAR(fit.series[1].points.back().x, .06 * 1088, 1e-9) << "what was not cached of the warm prompts";

    ASSERT_EQ(picture.levels[1].size(), 1U) << "without a fit there is no chart of one";
    EXPECT_FALSE(picture.levels[1][0].series[0].points[0].valid) << "the run was invalid";
    ASSERT_EQ(picture.pictures.size(), 2U);
    EXPECT_EQ(picture.pictures[0].marks, (std::vector<PictureMark>{{"held", 9}, {"lost", 10}}));
    EXPECT_DOUBLE_EQ(picture.pictures[1].series[0].points[1].y, 90);
}

TEST(CachePicture, leaves_out_what_nobody_counted) {
    CacheReport report = whole_report();
    for (CacheArm& one : report.levels[0].arms) one.hits = {};
    const CachePicture picture = picture_of(LoadedCache{"cache", report});
    const Picture& fit = picture.levels[0][1];
    ASSERT_EQ(fit.series.size(), 2U);
    EXPECT_EQ(fit.series[0].name, "cold");
}

ReportModel page_of(CacheReport report) {
    ReportModel model;
    model.title = "Prefix caching";
    model.generated_at = "2026-11-22T10:00:00Z";
    model.version = "0.1.0";
    model.caches = {picture_of(LoadedCache{"runs/cache", std::move(report)})};
    return model;
}

TEST(CachePage, of_its_own_tells_verdicts_times_fit_and_the_three_accounts) {
    const ReportModel model = page_of(whole_report());
    for (const std::string& page : {html_report(model), markdown_report(model)}) {
        EXPECT_THAT(page, HasSubstr("Prefix caching works."));
        EXPECT_THAT(page, HasSubstr("94 % of 1,024 tokens"));
        EXPECT_THAT(page, HasSubstr("12.0 (10.8 to 13.2)")) << "a median with its interval";
        EXPECT_THAT(page, HasSubstr("1,000 tokens from the cache save 100 ms"));
        EXPECT_THAT(page, AnyOf(HasSubstr("expected 62.0 %, by usage 61.0 %"),
                                HasSubstr("expected 62.0\u00a0%, by usage 61.0\u00a0%")));
        EXPECT_THAT(page, HasSubstr("blocks of 16 tokens"));
        EXPECT_THAT(page, HasSubstr("has 48 tokens"));
        EXPECT_THAT(page, HasSubstr("holds 9 prefixes"));
        EXPECT_THAT(page, HasSubstr("after 2 min it was gone"));
        EXPECT_THAT(page, HasSubstr("four times as many"));
        EXPECT_THAT(page, HasSubstr("INVALID: loop"));
    }
    const std::string html = html_report(model);
    EXPECT_THAT(html, HasSubstr("<canvas id=\"cache-0-level-0-ttft\""));
    EXPECT_THAT(html, HasSubstr("<canvas id=\"cache-0-level-0-fit\""));
    EXPECT_THAT(html, HasSubstr("<canvas id=\"cache-0-idle-time\""));
    EXPECT_THAT(html, Not(HasSubstr("id=\"frontier\""))) << "there are no runs to draw";
    EXPECT_THAT(html, HasSubstr("id=\"numbers\"")) << "the link to every number leads somewhere";
    EXPECT_THAT(report_json(model), HasSubstr("\"saved_ms_per_1k_cached\": 100"));
}

TEST(CachePage, shows_hostile_text_as_text) {
    CacheReport report = whole_report();
    report.target = report.model = report.engine = "</script><script>alert(1)</script>|`$";
    report.verdicts.front() = {"<b>", "<img src=x>", "<svg>"};
    report.levels[0].arms[0].arm = "<i>arm</i>|";
    report.price = "<u>";
    const ReportModel model = page_of(report);
    const std::string html = html_report(model);
    for (const char* const markup : {"<script>alert", "<img", "<svg>", "<i>arm", "<u>", "<b>"})
        EXPECT_THAT(html, Not(HasSubstr(markup))) << markup;
    EXPECT_THAT(markdown_report(model), AllOf(Not(HasSubstr("<")), HasSubstr("&lt;i>arm")));
}

}  // namespace
}  // namespace paretoken::reports
