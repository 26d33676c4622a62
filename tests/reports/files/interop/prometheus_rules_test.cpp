#include "reports/files/interop/prometheus_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/run/server_figures.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const EngineMetrics kEngine{.engine = "vllm",
                            .names = {{"kv_usage", "vllm:kv_cache_usage_perc"},
                                      {"waiting", "vllm:num_requests_waiting"},
                                      {"prefix_hits", "vllm:prefix_cache_hits_total"},
                                      {"prefix_queries", "vllm:prefix_cache_queries_total"},
                                      {"preemptions", "vllm:num_preemptions_total"},
                                      {"generation_tokens", "vllm:generation_tokens_total"},
                                      {"ttft", "vllm:time_to_first_token_seconds"}}};

std::string promql(std::string_view series, const EngineMetrics& metrics = kEngine) {
    return promql_of(*alert_series_named(series), metrics).value_or("(none)");
}

TEST(PrometheusRules, a_series_is_an_expression_by_instance) {
    EXPECT_EQ(promql("kv_usage"), "max by (instance) (vllm:kv_cache_usage_perc)");
    EXPECT_EQ(promql("waiting"), "sum by (instance) (vllm:num_requests_waiting)");
    EXPECT_EQ(promql("preemptions_per_s"), "sum by (instance) (rate(vllm:num_preemptions_total[5m]))");
    EXPECT_EQ(promql("prefix_hit_ratio"),
              "sum by (instance) (rate(vllm:prefix_cache_hits_total[5m])) / sum by (instance) "
              "(rate(vllm:prefix_cache_queries_total[5m]))");
    EXPECT_EQ(promql("ttft_p95"),
              "histogram_quantile(0.95, sum by (le, instance) "
              "(rate(vllm:time_to_first_token_seconds_bucket[5m])))");
    EXPECT_EQ(promql("itl_p95"), "(none)");
    EXPECT_EQ(promql("failed_ratio"), "(none)");
}

TEST(PrometheusRules, the_prompt_tokens_of_llama_cpp_lack_those_from_its_cache) {
    const EngineMetrics llamacpp{.engine = "llamacpp",
                                 .names = {{"prefix_hits", "hits"}, {"prompt_tokens", "prompts"}}};
    EXPECT_EQ(
        promql("prefix_hit_ratio", llamacpp),
        "sum by (instance) (rate(hits[5m])) / (sum by (instance) (rate(prompts[5m])) + sum by (instance) "
        "(rate(hits[5m])))");
    const EngineMetrics sglang{.engine = "sglang", .names = llamacpp.names};
    EXPECT_EQ(promql("prefix_hit_ratio", sglang),
              "sum by (instance) (rate(hits[5m])) / sum by (instance) (rate(prompts[5m]))");
}

TEST(PrometheusRules, hold_the_table_and_name_what_is_left_out_and_why) {
    const std::string text = prometheus_rules(default_alerts(), {}, kEngine);
    EXPECT_THAT(text, HasSubstr("      - alert: kv_cache_full\n"
                                "        expr: 'max by (instance) (vllm:kv_cache_usage_perc) > 0.9'\n"
                                "        for: 2m\n"
                                "        labels:\n"
                                "          severity: warn\n"));
    EXPECT_THAT(text, HasSubstr("# ttft_high is left out: it needs a --baseline that has ttft_p95."));
    EXPECT_THAT(text, HasSubstr("# itl_high is left out: vllm does not export itl_p95."));
    EXPECT_THAT(text, HasSubstr("_bucket[5m] offset 4h)))"));
    EXPECT_THAT(prometheus_rules(default_alerts(), {{"ttft_p95", .25}, {"prefix_hit_ratio", .6}}, kEngine),
                HasSubstr("> 0.5'"));
    EXPECT_THAT(prometheus_rules({}, {}, kEngine), HasSubstr("rules: []"));
}

TEST(PrometheusRules, have_no_series_that_the_newest_version_of_an_engine_lacks) {
    const EngineMetrics llamacpp{.engine = "llamacpp", .names = names_of_engine("llamacpp")};
    const std::string text = prometheus_rules(default_alerts(), {}, llamacpp);
    EXPECT_THAT(text, HasSubstr("# kv_cache_full is left out: llamacpp does not export kv_usage."));
    EXPECT_THAT(text + grafana_dashboard(llamacpp, std::nullopt), Not(HasSubstr("kv_cache_usage_ratio")));
    EXPECT_THAT(text, HasSubstr("llamacpp:requests_deferred"));
}

TEST(ScrapeConfig, names_the_targets_and_how_metrics_are_switched_on) {
    EXPECT_THAT(scrape_config(kEngine, {"a:1", "b:2"}), HasSubstr("targets: ['a:1', 'b:2']"));
    EXPECT_THAT(scrape_config({.engine = "llamacpp", .names = {}}, {}), HasSubstr("--metrics"));
    EXPECT_THAT(scrape_config({.engine = "llamacpp", .names = {}}, {}), HasSubstr("'localhost:8080'"));
}

TEST(GrafanaDashboard, has_a_price_only_where_one_is_given) {
    const auto dashboard = nlohmann::json::parse(grafana_dashboard(kEngine, 3.6));
    const std::string text = dashboard.dump();
    EXPECT_THAT(text, HasSubstr("1000 / sum(rate(vllm:generation_tokens_total[5m]))"));
    EXPECT_THAT(text, Not(HasSubstr("Inter-token latency"))) << "the engine does not tell it";
    EXPECT_THAT(grafana_dashboard(kEngine, std::nullopt), Not(HasSubstr("Dollars")));
}

}  // namespace
}  // namespace paretoken::reports
