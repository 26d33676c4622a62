#include "core/run/server_figures.h"
#include "loadgen/scrape/known_metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/result/figures.h"
#include "core/result/result.h"
#include "core/validity/checks.h"
#include "core/validity/validity.h"
#include "loadgen/load/class_load.h"

namespace paretoken::scrape {
namespace {

using namespace std::chrono_literals;
using ::testing::DoubleNear;

constexpr TimePoint kStart{std::chrono::seconds(1000)};

ServerScrape scraped(const std::string& text, TimePoint at = kStart) {
    return server_scrape_of(parse_prometheus(text), at);
}

TEST(ServerMetrics, have_keys_of_their_own_and_names_that_no_other_has) {
    std::set<std::string_view> keys;
    std::set<std::string_view> names;
    for (const ServerMetric& metric : server_metrics()) {
        EXPECT_TRUE(keys.insert(metric.key).second) << metric.key;
        EXPECT_FALSE(metric.names.empty());
        for (const std::string_view name : metric.names) EXPECT_TRUE(names.insert(name).second) << name;
    }
}

TEST(ServerMetrics, of_the_ranks_of_one_engine_count_once) {
    const ServerScrape ranks = scraped(
        "sglang:num_running_reqs{tp_rank=\"0\",pp_rank=\"0\",model_name=\"m\"} 4\n"
        "sglang:num_running_reqs{tp_rank=\"1\",pp_rank=\"0\",model_name=\"m\"} 4\n"
        "sglang:generation_tokens_total{model_name=\"m\"} 100\n");
    EXPECT_EQ(ranks.values.at("running"), 4);
    EXPECT_TRUE(ranks.left_out.empty());
    const ServerScrape parallel = scraped(
        "sglang:num_running_reqs{dp_rank=\"0\",tp_rank=\"0\"} 4\n"
        "sglang:num_running_reqs{dp_rank=\"0\",tp_rank=\"1\"} 4\n"
        "sglang:num_running_reqs{dp_rank=\"1\",tp_rank=\"0\"} 8\n"
        "sglang:num_running_reqs{dp_rank=\"1\",tp_rank=\"1\"} 8\n");
    EXPECT_EQ(parallel.values.at("running"), 12);
    EXPECT_EQ(parallel.by_engine.at("running"), (std::map<std::string, double>{{"0", 4}, {"1", 8}}));
}

TEST(ServerMetrics, of_ranks_of_experts_count_once) {
    const ServerScrape ranks = scraped(
        "sglang:num_running_reqs{tp_rank=\"0\",moe_ep_rank=\"0\"} 4\n"
        "sglang:num_running_reqs{tp_rank=\"1\",moe_ep_rank=\"1\"} 4\n");
    EXPECT_EQ(ranks.values.at("running"), 4);
}

TEST(ServerMetrics, are_known_under_the_names_that_other_exporters_give_them) {
    for (const auto& [name, engine] :
         {std::pair("sglang_num_running_reqs", "sglang"), std::pair("vllm_num_requests_running", "vllm"),
          std::pair("ray_vllm_num_requests_running", "vllm"),
          std::pair("trtllm:num_requests_running", "trtllm")}) {
        const ServerScrape scrape = scraped(std::string(name) + "{model_name=\"m\"} 4\n");
        EXPECT_EQ(scrape.engine, engine);
        EXPECT_EQ(scrape.values.at("running"), 4) << name;
    }
    const ServerScrape both = scraped("sglang:num_running_reqs 4\nsglang_num_running_reqs 4\n");
    EXPECT_EQ(both.values.at("running"), 4);
    EXPECT_TRUE(both.left_out.empty());
}

TEST(ServerMetrics, of_other_models_are_left_out) {
    const std::string text =
        "vllm:generation_tokens_total{model_name=\"m\"} 100\n"
        "vllm:generation_tokens_total{model_name=\"other\"} 900\n"
        "vllm:num_requests_running 3\n";
    const auto of = [&](std::string_view model) {
        return server_scrape_of(parse_prometheus(text), kStart, model).values;
    };
    EXPECT_EQ(of("m").at("generation_tokens"), 100);
    EXPECT_EQ(of("m").at("running"), 3) << "of no model in particular";
    EXPECT_EQ(of("adapter").at("generation_tokens"), 1000) << "the name may be an alias";
    EXPECT_EQ(of("").at("generation_tokens"), 1000);
    const auto router = parse_prometheus(
        "llamacpp:tokens_predicted_total{model=\"m\"} 100\n"
        "llamacpp:tokens_predicted_total{model=\"other\"} 900\n");
    EXPECT_EQ(server_scrape_of(router, kStart, "m").values.at("generation_tokens"), 100);
}

// The names are those that each engine documents; the values are invented.
TEST(ServerMetrics, of_every_engine_are_recognised) {
    const ServerScrape vllm = scraped(
        "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3\n"
        "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4\n"
        "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"
        "vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 40\n"
        "vllm:generation_tokens_total 7\n"
        "vllm:request_queue_time_seconds_sum 2\nvllm:request_queue_time_seconds_count 4\n");
    EXPECT_EQ(vllm.engine, "vllm");
    EXPECT_EQ(vllm.values.at("running"), 7) << "engines are added";
    EXPECT_EQ(vllm.sources.at("kv_usage"), "vllm:kv_cache_usage_perc");
    EXPECT_EQ(vllm.histograms.at("queue"), (ServerScrape::Sums{2, 4}));

    const ServerScrape older = scraped(
        "vllm:gpu_cache_usage_perc 0.25\nvllm:gpu_prefix_cache_queries 10\nvllm:gpu_prefix_cache_hits 5\n"
        "vllm:time_per_output_token_seconds_sum 1\nvllm:time_per_output_token_seconds_count 100\n");
    EXPECT_EQ(older.values.at("kv_usage"), 0.25);
    EXPECT_EQ(older.values.at("prefix_hits"), 5) << "also without _total";
    EXPECT_EQ(older.histograms.at("itl").count, 100);

    for (const std::string_view prefix : {"ray_vllm:", "ray_vllm_"}) {
        const ServerScrape ray =
            scraped(fmt::format("{0}num_requests_running{{ReplicaId=\"a\",model_name=\"m\"}} 3\n"
                                "{0}num_requests_running{{ReplicaId=\"b\",model_name=\"m\"}} 4\n"
                                "{0}generation_tokens 7\n{0}generation_tokens_total 7\n",
                                prefix));
        EXPECT_EQ(ray.engine, "vllm");
        EXPECT_EQ(ray.values.at("running"), 7);
        EXPECT_EQ(ray.values.at("generation_tokens"), 7) << "Ray exports counters under two names";
    }

    EXPECT_EQ(scraped("sglang:num_running_reqs 2\nsglang:token_usage 0.1\n").engine, "sglang");
    EXPECT_EQ(scraped("trtllm_num_requests_running 2\n").engine, "trtllm");
    EXPECT_EQ(scraped("tgi_queue_size 2\n").values.at("waiting"), 2);
    EXPECT_EQ(scraped("llamacpp:requests_processing 1\n").engine, "llamacpp");
    EXPECT_EQ(scraped("llamacpp:prompt_seconds_total 2.5\n").values.at("prompt_seconds"), 2.5);
    EXPECT_EQ(scraped("node_load1 1\n"),
              (ServerScrape{.at = kStart, .engine = {}, .sources = {}, .values = {}, .histograms = {}}));
}

std::vector<ServerScrape> five_seconds();

// ---- several engines

std::string two_engines(int running0, int running1, int tokens0, int tokens1) {
    return fmt::format(
        "vllm:num_requests_running{{engine=\"0\",model_name=\"m\"}} {}\n"
        "vllm:num_requests_running{{engine=\"1\",model_name=\"m\"}} {}\n"
        "vllm:kv_cache_usage_perc{{engine=\"0\"}} 0.9\nvllm:kv_cache_usage_perc{{engine=\"1\"}} 0.3\n"
        "vllm:generation_tokens_total{{engine=\"0\"}} {}\nvllm:generation_tokens_total{{engine=\"1\"}} {}\n",
        running0, running1, tokens0, tokens1);
}

TEST(ServerMetrics, of_two_engines_are_sums_means_of_shares_and_their_imbalance) {
    const ServerScrapes scrapes{.scrapes = {scraped(two_engines(6, 2, 100, 1000), kStart),
                                            scraped(two_engines(12, 0, 400, 1050), kStart + 1s),
                                            scraped(two_engines(0, 0, 400, 1050), kStart + 2s)},
                                .last_failure = {}};
    const ServerFigures server = server_figures(scrapes, {kStart, kStart + 2s}).value();
    EXPECT_EQ(server.engines, 2U);
    EXPECT_EQ(server.window.at("running"), 10) << "(6 + 2 + 12 + 0) / 2";
    EXPECT_EQ(server.window.at("running_max"), 12);
    EXPECT_DOUBLE_EQ(server.window.at("running_imbalance"), 9 / 5.0) << "means of 9 and 1";
    EXPECT_DOUBLE_EQ(server.window.at("kv_usage"), .6) << "a sum of shares would be above 1";
    EXPECT_DOUBLE_EQ(server.window.at("kv_usage_imbalance"), .9 / .6);
    EXPECT_EQ(server.window.at("generation_tokens"), 350);
    const auto one =
        server_figures({.scrapes = {scraped("vllm:num_requests_running{engine=\"0\"} 3\n", kStart),
                                    scraped("vllm:num_requests_running{engine=\"0\"} 3\n", kStart + 1s)},
                        .last_failure = {}},
                       {kStart, kStart + 1s});
    EXPECT_FALSE(one->engines);
    EXPECT_FALSE(one->window.contains("running_imbalance"));
}

TEST(ServerMetrics, that_cannot_be_true_are_named_and_left_out) {
    const ServerScrape scrape = scraped(
        "vllm:num_requests_running{engine=\"0\"} -5\n"
        "vllm:num_requests_running{engine=\"1\"} 3\n"
        "vllm:num_requests_waiting 4\nvllm:num_requests_waiting 4\n"
        "vllm:kv_cache_usage_perc 900\n"
        "vllm:generation_tokens_total -1\n"
        "vllm:time_to_first_token_seconds_sum 2\nvllm:time_to_first_token_seconds_sum 2\n"
        "vllm:time_to_first_token_seconds_count 4\n"
        "vllm:another_quantity -5\nvllm:another_quantity -5\n");
    EXPECT_EQ(scrape.values, (std::map<std::string, double>{{"running", 3}, {"waiting", 4}}));
    EXPECT_EQ(scrape.histograms.at("ttft").sum, 2);
    EXPECT_THAT(scrape.left_out,
                ::testing::ElementsAre("vllm:num_requests_running -5 is impossible",
                                       "vllm:num_requests_waiting is there twice",
                                       "vllm:kv_cache_usage_perc 900 is impossible",
                                       "vllm:generation_tokens_total -1 is impossible",
                                       "vllm:time_to_first_token_seconds_sum is there twice"));
    EXPECT_THAT(scraped("vllm:kv_cache_usage_perc 1\nvllm:num_requests_running 0\n").left_out,
                ::testing::IsEmpty());
}

TEST(ServerMetrics, of_two_servers_are_those_of_two_engines) {
    const auto server = [](int running, int tokens, Duration late) {
        ServerScrapes scrapes;
        for (int i = 0; i < 3; ++i)
            scrapes.scrapes.push_back(scraped(fmt::format("vllm:num_requests_running {}\n"
                                                          "vllm:kv_cache_usage_perc 0.{}\n"
                                                          "vllm:generation_tokens_total {}\n",
                                                          running, running, tokens * i),
                                              kStart + i * 1s + late));
        return scrapes;
    };
    ServerScrapes silent;
    silent.failed = 3;
    silent.last_failure = "HTTP 404";
    const ServerScrapes both = combined({silent, server(6, 100, 0ms), server(2, 10, 200ms)});
    ASSERT_EQ(both.scrapes.size(), 3U);
    EXPECT_EQ(both.failed, 3U);
    const std::map<std::string, double> by_server{{"2", 6}, {"3", 2}};
    EXPECT_EQ(both.scrapes[0].by_engine.at("running"), by_server) << "servers keep their numbers";
    const ServerFigures figures = server_figures(both, {kStart, kStart + 2s}).value();
    EXPECT_EQ(figures.engines, 2U);
    EXPECT_EQ(figures.window.at("running"), 8);
    EXPECT_DOUBLE_EQ(figures.window.at("running_imbalance"), 1.5);
    EXPECT_DOUBLE_EQ(figures.window.at("kv_usage"), .4);
    EXPECT_EQ(figures.whole_run.at("generation_tokens"), 220);
}

TEST(ServerMetrics, tell_how_often_the_token_at_each_position_of_a_draft_was_accepted) {
    const auto text = [](int drafts, int first, int second) {
        return fmt::format(
            "vllm:spec_decode_num_drafts_total {}\n"
            "vllm:spec_decode_num_accepted_tokens_per_pos_total{{position=\"0\"}} {}\n"
            "vllm:spec_decode_num_accepted_tokens_per_pos_total{{position=\"1\"}} {}\n"
            "vllm:spec_decode_num_accepted_tokens_per_pos_total{{position=\"x\"}} 7\n",
            drafts, first, second);
    };
    const ServerScrapes scrapes{
        .scrapes = {scraped(text(10, 9, 5), kStart), scraped(text(210, 169, 55), kStart + 1s)},
        .last_failure = {}};
    EXPECT_THAT(server_figures(scrapes, {kStart, kStart + 1s})->accepted_per_position,
                ::testing::ElementsAre(.8, .25));
    EXPECT_TRUE(server_figures({.scrapes = five_seconds(), .last_failure = {}}, {kStart, kStart + 5s})
                    ->accepted_per_position.empty());
}

TEST(ServerMetrics, keep_the_settings_that_the_server_tells) {
    const ServerScrape scrape = scraped(
        "vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"27600\",api_key=\"s3cret\","
        "sliding_window=\"None\"} 1\nvllm:num_requests_running 1\nother:cache_config_info{a=\"b\"} 1\n");
    EXPECT_EQ(scrape.config, (std::map<std::string, std::string>{{"cache_config.block_size", "16"},
                                                                 {"cache_config.num_gpu_blocks", "27600"}}));
}

TEST(KeptSeries, are_those_whose_names_are_wanted_with_their_labels) {
    const auto kept = kept_series(parse_prometheus("node_load1 0.5\nnode_load15 0.25\n"
                                                   "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 7\n"
                                                   "node_broken NaN\n"),
                                  [](std::string_view name) { return name != "node_load15"; });
    EXPECT_EQ(kept, (std::map<std::string, double>{{"node_load1", .5},
                                                   {"node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"}", 7}}));
}

std::vector<ServerScrape> five_seconds() {
    std::vector<ServerScrape> scrapes;
    for (int second = 0; second <= 5; ++second)
        scrapes.push_back(scraped("vllm:generation_tokens_total " + std::to_string(100 + 10 * second) +
                                      "\nvllm:num_requests_running " + std::to_string(second) +
                                      "\nvllm:time_to_first_token_seconds_sum " + std::to_string(second) +
                                      "\nvllm:time_to_first_token_seconds_count " +
                                      std::to_string(4 * second) + "\n",
                                  kStart + std::chrono::seconds(second)));
    return scrapes;
}

TEST(ServerFiguresOver, a_stretch_are_differences_means_and_maxima) {
    const auto figures = figures_over(five_seconds(), {kStart + 1500ms, kStart + 4s});
    EXPECT_THAT(figures.at("generation_tokens"), DoubleNear(25, 1e-9)) << "linear between two scrapes";
    EXPECT_EQ(figures.at("running"), 2.5) << "of the scrapes at 2 and 3 s";
    EXPECT_EQ(figures.at("running_max"), 3);
    EXPECT_THAT(figures.at("ttft_mean_s"), DoubleNear(0.25, 1e-9));
    EXPECT_FALSE(figures.contains("waiting"));
    EXPECT_FALSE(figures.contains("prefix_hit_ratio"));
    const auto one = std::vector{five_seconds().front()};
    EXPECT_TRUE(figures_over(one, {kStart, kStart + 5s}).empty());
    EXPECT_FALSE(figures_over(five_seconds(), {kStart + 1500ms, kStart + 2500ms}).contains("running"))
        << "a single reading";
    const auto run = server_figures({.scrapes = five_seconds(), .last_failure = {}}, {kStart, kStart + 1s});
    EXPECT_EQ(run->whole_run.at("running_max"), 4) << "without the readings before and after the load";
    EXPECT_EQ(run->whole_run.at("generation_tokens"), 50) << "with them";
}

TEST(ServerFiguresOver, a_reset_counts_from_zero_again) {
    const std::vector<ServerScrape> scrapes = {scraped("vllm:generation_tokens_total 100\n", kStart),
                                               scraped("vllm:generation_tokens_total 130\n", kStart + 1s),
                                               scraped("vllm:generation_tokens_total 5\n", kStart + 2s)};
    EXPECT_EQ(figures_over(scrapes, {kStart, kStart + 3s}).at("generation_tokens"), 35);
}

TEST(ServerFiguresOver, ratios_are_of_what_was_counted_in_the_stretch) {
    const auto text = [](int queries, int hits, int prompts, const std::string& engine) {
        if (engine == "llamacpp")
            return "llamacpp:prompt_tokens_total " + std::to_string(prompts) +
                   "\nllamacpp:prompt_tokens_cached_total " + std::to_string(hits) + "\n";
        return "vllm:prefix_cache_queries_total " + std::to_string(queries) +
               "\nvllm:prefix_cache_hits_total " + std::to_string(hits) + "\n";
    };
    const std::vector<ServerScrape> vllm = {scraped(text(1000, 900, 0, "vllm"), kStart),
                                            scraped(text(1200, 950, 0, "vllm"), kStart + 1s)};
    EXPECT_THAT(figures_over(vllm, {kStart, kStart + 1s}).at("prefix_hit_ratio"), DoubleNear(0.25, 1e-9));
    const std::vector<ServerScrape> llamacpp = {scraped(text(0, 0, 0, "llamacpp"), kStart),
                                                scraped(text(0, 90, 10, "llamacpp"), kStart + 1s)};
    EXPECT_THAT(figures_over(llamacpp, {kStart, kStart + 1s}).at("prefix_hit_ratio"), DoubleNear(0.9, 1e-9))
        << "llama.cpp counts computed tokens, and cached ones beside them";
}

TEST(ServerFiguresOver, ratios_of_older_versions_are_gauges_that_count_without_counters) {
    const auto text = [](double hits, double accepted, const std::string& more) {
        return fmt::format("vllm:gpu_prefix_cache_hit_rate {}\nvllm:spec_decode_draft_acceptance_rate {}\n{}",
                           hits, accepted, more);
    };
    const auto figures = [&](const std::string& before, const std::string& after) {
        return figures_over(std::vector{scraped(before, kStart), scraped(after, kStart + 1s)},
                            {kStart, kStart + 2s});
    };
    const auto gauges = figures(text(.2, .5, ""), text(.4, .7, ""));
    EXPECT_THAT(gauges.at("prefix_hit_ratio"), DoubleNear(.3, 1e-9));
    EXPECT_THAT(gauges.at("acceptance_ratio"), DoubleNear(.6, 1e-9));
    const auto counter = [](int queries, int hits) {
        return fmt::format("vllm:gpu_prefix_cache_queries_total {}\nvllm:gpu_prefix_cache_hits_total {}\n",
                           queries, hits);
    };
    EXPECT_THAT(figures(text(.2, .5, counter(0, 0)), text(.4, .7, counter(100, 90))).at("prefix_hit_ratio"),
                DoubleNear(.9, 1e-9))
        << "counters are of this stretch alone";
    const auto off = figures(text(-1, .5, ""), text(-1, .7, ""));
    EXPECT_FALSE(off.contains("prefix_hit_ratio")) << "-1 is vLLM's word for a cache that is off";
    EXPECT_TRUE(scraped(text(-1, .5, "")).left_out.empty());
    EXPECT_THAT(scraped("vllm:kv_cache_usage_perc -1\n").left_out,
                ::testing::ElementsAre("vllm:kv_cache_usage_perc -1 is impossible"));
}

TEST(ServerFiguresOver, counters_that_cannot_be_true_give_no_ratio) {
    const auto figures_of = [](const std::string& before, const std::string& after) {
        const ServerScrapes scrapes{.scrapes = {scraped(before, kStart), scraped(after, kStart + 1s)},
                                    .last_failure = {}};
        return *server_figures(scrapes, {kStart, kStart + 1s});
    };
    const auto more_hits =
        figures_of("vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 90\n",
                   "vllm:prefix_cache_queries_total 200\nvllm:prefix_cache_hits_total 590\n");
    EXPECT_FALSE(more_hits.window.contains("prefix_hit_ratio"));
    EXPECT_THAT(more_hits.impossible,
                ::testing::ElementsAre("vllm:prefix_cache_hits_total grew by 500, and "
                                       "vllm:prefix_cache_queries_total by 100, of which it is a part"));
    const auto drafts = [](int drafted, int accepted, int first) {
        return fmt::format(
            "vllm:spec_decode_num_drafts_total {0}\nvllm:spec_decode_num_draft_tokens_total {0}\n"
            "vllm:spec_decode_num_accepted_tokens_total {1}\n"
            "vllm:spec_decode_num_accepted_tokens_per_pos_total{{position=\"0\"}} {2}\n",
            drafted, accepted, first);
    };
    const auto more_accepted = figures_of(drafts(10, 5, 5), drafts(110, 205, 205));
    EXPECT_FALSE(more_accepted.window.contains("acceptance_ratio"));
    EXPECT_FALSE(more_accepted.window.contains("tokens_per_pass"));
    EXPECT_THAT(more_accepted.accepted_per_position, ::testing::IsEmpty());
    EXPECT_EQ(more_accepted.impossible.size(), 1U);
    const auto as_it_should_be = figures_of(drafts(10, 5, 5), drafts(110, 75, 75));
    EXPECT_THAT(as_it_should_be.window.at("acceptance_ratio"), DoubleNear(.7, 1e-9));
    EXPECT_THAT(as_it_should_be.impossible, ::testing::IsEmpty());
}

TEST(ServerFiguresOver, gauges_do_not_stand_in_for_impossible_counters) {
    const auto text = [](int queries, int hits) {
        return fmt::format(
            "vllm:gpu_prefix_cache_hit_rate .5\nvllm:prefix_cache_queries_total {}\n"
            "vllm:prefix_cache_hits_total {}\nvllm:generation_tokens_total {}\n",
            queries, hits, queries + hits);
    };
    const auto figures = [&](const std::string& after) {
        return figures_over(std::vector{scraped(text(100, 90), kStart), scraped(after, kStart + 1s)},
                            {kStart, kStart + 2s});
    };
    for (const auto& [queries, hits] : {std::pair(200, 590), std::pair(90, 190), std::pair(300, 80)})
        for (const char* const key : {"prefix_hit_ratio", "prefix_hit_ratio_max"})
            EXPECT_FALSE(figures(text(queries, hits)).contains(key)) << queries << " " << hits;
    EXPECT_THAT(figures(text(200, 140)).at("prefix_hit_ratio"), DoubleNear(.5, 1e-9));
}

TEST(ServerFiguresOver, shares_of_several_servers_are_the_mean_of_those_that_have_them) {
    const auto server = [](const char* share) {
        const std::string text = fmt::format("vllm:generation_tokens_total 1\n{}", share);
        return ServerScrapes{.scrapes = {scraped(text, kStart)}, .last_failure = {}};
    };
    const ServerScrapes all = combined(
        {server("vllm:kv_cache_usage_perc .4\n"), server(""), server("vllm:kv_cache_usage_perc .8\n")});
    EXPECT_THAT(all.scrapes.front().values.at("kv_usage"), DoubleNear(.6, 1e-9));
}

TEST(ServerFiguresOver, a_counter_that_falls_alone_is_no_restart) {
    const auto text = [](int queries, int hits, int tokens, int prompts) {
        return fmt::format(
            "vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total {}\n"
            "vllm:generation_tokens_total {}\nvllm:prompt_tokens_total {}\n",
            queries, hits, tokens, prompts);
    };
    ServerScrapes scrapes{.scrapes = {scraped(text(1000, 500, 100, 1000), kStart),
                                      scraped(text(900, 600, 200, 1200), kStart + 1s)},
                          .last_failure = {}};
    const auto figures = *server_figures(scrapes, {kStart, kStart + 1s});
    EXPECT_FALSE(figures.window.contains("prefix_queries"));
    EXPECT_FALSE(figures.window.contains("prefix_hit_ratio"));
    EXPECT_EQ(figures.window.at("generation_tokens"), 100);
    EXPECT_THAT(
        figures.impossible,
        ::testing::ElementsAre("vllm:prefix_cache_queries_total fell although the server did not start "
                               "again"));
    scrapes.scrapes.back() = scraped(text(10, 5, 7, 10), kStart + 1s);
    const auto restarted = *server_figures(scrapes, {kStart, kStart + 1s});
    EXPECT_THAT(restarted.impossible, ::testing::IsEmpty());
    EXPECT_EQ(figures.note, "");
    EXPECT_THAT(restarted.note, ::testing::StartsWith(kCountersRestarted));
    RunResult run;
    run.server = restarted;
    run.server->whole_run["generation_tokens"] = 800;
    run.server->asked["generation_tokens"] = 1000;
    const auto reasons = validity_of(run).reasons;
    const auto lacking = std::ranges::find(reasons, "token_counts", &Reason::check);
    ASSERT_NE(lacking, reasons.end());
    EXPECT_THAT(lacking->text, ::testing::HasSubstr(kCountersRestarted));
    EXPECT_EQ(restarted.window.at("prefix_queries"), 10);
}

TEST(ServerFiguresOver, servers_that_answer_in_turn_at_one_address_have_no_counters) {
    const auto text = [](int queries, int hits, int count) {
        return fmt::format(
            "vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total {}\n"
            "vllm:num_requests_running {}\nvllm:time_to_first_token_seconds_sum {}\n"
            "vllm:time_to_first_token_seconds_count {}\n",
            queries, hits, count, count, count);
    };
    ServerScrapes scrapes;
    for (int second = 0; second < 6;
         ++second) {  // the first server had hits before the run, the second has none
        const bool first = second % 2 == 0;
        scrapes.scrapes.push_back(scraped(first ? text(9000, 8100, 1) : text(100 + second, 0, 3),
                                          kStart + std::chrono::seconds(second)));
    }
    const auto figures = *server_figures(scrapes, {kStart, kStart + 5s});
    for (const char* const key : {"prefix_queries", "prefix_hits", "prefix_hit_ratio", "ttft_mean_s"})
        EXPECT_FALSE(figures.whole_run.contains(key)) << key;
    EXPECT_EQ(figures.whole_run.at("running"), 2);
    EXPECT_THAT(figures.impossible, ::testing::ElementsAre(::testing::HasSubstr("fell together 3 times")));
}

TEST(ServerFiguresOf, a_run_name_their_sources_or_say_why_there_are_none) {
    ServerScrapes scrapes{.scrapes = five_seconds(), .failed = 1, .last_failure = "HTTP 503"};
    const auto figures = server_figures(scrapes, {kStart, kStart + 5s});
    ASSERT_TRUE(figures);
    EXPECT_EQ(figures->engine, "vllm");
    EXPECT_EQ(figures->whole_run.at("generation_tokens"), 50);
    EXPECT_EQ(figures->scrapes, 6U);
    EXPECT_EQ(figures->failed_scrapes, 1U);
    EXPECT_FALSE(server_figures({}, {kStart, kStart + 5s}));
    EXPECT_EQ(
        server_figures({.scrapes = {}, .failed = 2, .last_failure = "HTTP 404"}, {kStart, kStart + 5s})->note,
        "HTTP 404");
    const auto series = server_series(scrapes.scrapes, kStart);
    ASSERT_EQ(series.size(), 1U);
    EXPECT_EQ(series[0].name, "running");
    EXPECT_EQ(series[0].source, "server");
    EXPECT_EQ(series[0].values, (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace paretoken::scrape
