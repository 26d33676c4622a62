#include "core/validity/validity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result/summary.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MetricSummary with_median(std::string key, double median) {
    MetricSummary metric;
    metric.key = std::move(key);
    metric.percentiles = {{0.5, median, {}, true}};
    return metric;
}

/// Returns an open-loop run of 1000 requests with a median TTFT of 100 ms, ITL of 10 ms and end-to-end
/// latency of 1 s.
RunResult clean_run() {
    RunResult run;
    run.counts.requests = run.counts.ok = run.counts.in_window = 1000;
    run.window = {.begin_s = 1, .end_s = 61, .run_s = 62, .steady = true, .how = "steady"};
    run.metrics = {with_median("ttft_s", 0.1), with_median("itl_s", 0.01), with_median("e2e_s", 1)};
    run.client.workers = 1;
    run.request_rate = 16;
    return run;
}

std::vector<std::string> checks_of(const Validity& validity) {
    std::vector<std::string> names;
    for (const auto& reason : validity.reasons) names.push_back(reason.check);
    return names;
}

TEST(Validity, a_run_about_which_nothing_is_known_is_valid_as_long_as_it_ran) {
    EXPECT_EQ(validity_of(clean_run()), Validity{});
}

struct Case {
    std::string check;
    std::optional<double> ClientHealth::*figure;
    double passes;
    double warns;
    std::optional<double> invalid;
};

TEST(Validity, every_figure_has_its_limits) {
    const std::vector<Case> cases = {
        {"loop_lag", &ClientHealth::loop_lag_p99_s, 0.0019, 0.0021, std::nullopt},
        {"refill_lag", &ClientHealth::refill_lag_mean_s, 0.019, 0.021, std::nullopt},
        {"achieved_rate", &ClientHealth::achieved_rate_ratio, 0.991, 0.989, 0.949},
        {"unstamped_delay", &ClientHealth::unstamped_delay_p99_s, 0.00019, 0.00021, std::nullopt},
        {"late_grouping", &ClientHealth::late_grouped_share, 0.019, 0.021, std::nullopt},
        {"client_cpu", &ClientHealth::cpu_windows_above_85, 0.049, 0.051, std::nullopt},
        {"hiccups", &ClientHealth::hiccup_share, 0.09, 0.11, std::nullopt},
        {"clock_jump", &ClientHealth::clock_jump_max_s, 0.0009, 0.0011, std::nullopt},
        {"retransmits", &ClientHealth::retransmit_share, 0.0009, 0.0011, std::nullopt},
        {"connection_wait", &ClientHealth::connection_wait_p99_s, 0.0049, 0.0051, std::nullopt},
        {"slot_wait", &ClientHealth::slot_wait_p99_s, 0.0049, 0.0051, std::nullopt},
        {"buffered_stream", &ClientHealth::grouped_share, 0.49, 0.51, std::nullopt},
    };
    for (const auto& [check, figure, passes, warns, invalid] : cases) {
        auto run = clean_run();
        run.client.*figure = passes;
        EXPECT_EQ(validity_of(run), Validity{}) << check;
        run.client.*figure = warns;
        EXPECT_EQ(checks_of(validity_of(run)), std::vector{check});
        EXPECT_EQ(validity_of(run).verdict, Verdict::warn) << check;
        run.client.*figure = invalid.value_or(check == "achieved_rate" ? 0 : 1);
        EXPECT_EQ(validity_of(run).verdict, invalid ? Verdict::invalid : Verdict::warn) << check;
    }
}

TEST(Validity, a_closed_loop_is_judged_by_the_mean_of_its_refills_and_not_by_its_latest_sending) {
    auto run = clean_run();
    run.request_rate.reset();
    run.client.loop_lag_p99_s = 0.02;
    EXPECT_EQ(validity_of(run), Validity{});
    run.client.refill_lag_mean_s = 0.021;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"refill_lag"});
}

TEST(Validity, names_the_load_of_another_client_in_short_runs_too) {
    auto run = clean_run();
    run.server.emplace();
    run.server->scrapes = 2;
    run.server->asked = {{"generation_tokens", 600}};
    run.server->whole_run = {{"generation_tokens", 10'400}};
    ASSERT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"foreign_load"});
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("16 times those of this run"));
    run.server->whole_run = {{"generation_tokens", 900}};
    EXPECT_EQ(validity_of(run), Validity{}) << "a few unfinished answers of others";
}

TEST(Validity, a_reason_names_the_figure_and_its_limit) {
    auto run = clean_run();
    run.client.loop_lag_p99_s = 0.0031;
    const auto validity = validity_of(run);
    ASSERT_EQ(validity.reasons.size(), 1U);
    EXPECT_EQ(validity.reasons[0].text,
              "p99 of the client's own delay before sending: 3.1 % of the median TTFT (limit 2 %)");
    auto capped = clean_run();
    capped.client.slot_wait_p99_s = 5.4;
    EXPECT_EQ(validity_of(capped).reasons.at(0).text,
              "p99 of the wait for the in-flight cap: 54 times the median TTFT from sending on (limit 5 %)");
}

/// Returns the judgement of 1,024 requests in four rounds of 256 that start at once. `late` first tokens were
/// read with the second token, 10 ms after their 20 ms.
Validity judged_with_late_first_tokens(std::size_t late) {
    using namespace std::chrono_literals;
    std::vector<RequestRecord> records;
    for (std::size_t i = 0; i < 1024; ++i) {
        const auto round = static_cast<int>(i / 256);
        records.push_back(
            script::answered(script::kStart + round * 1s, {.ttft = 20ms, .gap = 10ms, .tokens = 11}));
        if (i % (1024 / late) != 0) continue;
        records.back().first_event = *records.back().first_event + 10ms;
        records.back().first_early = 10ms;
    }
    SummaryOptions options;
    options.concurrency = 256;
    RunResult run = clean_run();
    run.request_rate.reset();
    run.metrics = summarize(records, options).metrics;
    return validity_of(run);
}

TEST(Validity, late_first_tokens_are_never_valid_for_a_percentile_that_they_move) {
    const Validity few = judged_with_late_first_tokens(33);
    EXPECT_EQ(few.verdict, Verdict::warn) << "the median and the p95 are right";
    ASSERT_EQ(checks_of(few), std::vector<std::string>{"instrument"});
    EXPECT_THAT(few.reasons[0].text, HasSubstr("p99 of ttft_s could truly be 33.3 % lower (limit 10 %)"));
    const Validity many = judged_with_late_first_tokens(136);
    EXPECT_EQ(many.verdict, Verdict::invalid);
    ASSERT_EQ(checks_of(many), std::vector<std::string>{"instrument"});
    EXPECT_THAT(many.reasons[0].text, HasSubstr("p95 of ttft_s could truly be 33.3 % lower"));
}

TEST(Validity, follows_from_how_much_lower_the_headline_times_could_be) {
    auto run = clean_run();
    run.request_rate.reset();
    run.metrics[0].percentiles.push_back({.p = 0.95, .value = 0.2});
    run.metrics[0].percentiles[1].instrument = 0.003;
    EXPECT_EQ(validity_of(run), Validity{});
    run.metrics[0].percentiles[1].instrument = 0.01;
    EXPECT_EQ(validity_of(run).verdict, Verdict::warn);
    run.metrics[0].percentiles[1].instrument = 0.03;
    const auto invalid = validity_of(run);
    EXPECT_EQ(invalid.verdict, Verdict::invalid);
    ASSERT_EQ(checks_of(invalid), std::vector<std::string>{"instrument"});
    EXPECT_THAT(invalid.reasons[0].text, HasSubstr("p95 of ttft_s could truly be 15 % lower (limit 10 %)"));
    const auto accepted = validity_of(run, {.accept_host_noise = true});
    EXPECT_EQ(accepted.verdict, Verdict::warn);
    EXPECT_THAT(accepted.reasons[0].text, HasSubstr("--host-noise accept"));
    run.counts.failed = 500;
    EXPECT_EQ(validity_of(run, {.accept_host_noise = true}).verdict, Verdict::invalid) << "of the server";
}

TEST(Validity, follows_from_how_much_higher_throughput_could_be) {
    auto run = clean_run();
    const auto judged = [&](std::string_view key, double part) {
        run.throughput.values = {{std::string(key), 50, {}, part * 50}};
        return validity_of(run);
    };
    EXPECT_EQ(judged(figure::kOutputTokens, 0.019), Validity{});
    EXPECT_EQ(judged(figure::kOutputTokens, 0.021).verdict, Verdict::warn);
    const auto invalid = judged(figure::kRequests, 0.11);
    EXPECT_EQ(invalid.verdict, Verdict::invalid);
    ASSERT_EQ(checks_of(invalid), std::vector<std::string>{"instrument"});
    EXPECT_THAT(invalid.reasons[0].text, HasSubstr("requests_per_s could truly be 11 % higher (limit 10 %)"));
    EXPECT_EQ(judged(figure::kGoodput, 0.09), Validity{});
    EXPECT_EQ(judged(figure::kGoodput, 0.5).verdict, Verdict::warn) << "the other figures are right";
}

TEST(Validity, judges_gaps_if_more_than_a_fiftieth_of_the_events_was_read_late) {
    auto run = clean_run();
    run.metrics[1].n = 1000;
    run.metrics[1].percentiles[0].instrument = 0.002;  // of 10 ms
    run.client.late_grouped_share = 0.01;
    EXPECT_EQ(validity_of(run), Validity{});
    run.client.late_grouped_share = 0.03;
    const auto validity = validity_of(run);
    EXPECT_EQ(validity.verdict, Verdict::invalid);
    EXPECT_EQ(checks_of(validity), (std::vector<std::string>{"instrument", "late_grouping"}));
    run.metrics[1].n = 50;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"late_grouping"}) << "one event";
}

TEST(Validity, delays_that_any_host_shows_pass_even_against_a_server_that_answers_at_once) {
    auto run = clean_run();
    run.metrics = {with_median("ttft_s", 100e-6), with_median("itl_s", 1e-6), with_median("e2e_s", 200e-6)};
    run.client.loop_lag_p99_s = 150e-6;
    run.client.refill_lag_mean_s = 50e-6;
    run.client.unstamped_delay_p99_s = 80e-6;
    run.client.connection_wait_p99_s = 150e-6;
    EXPECT_EQ(validity_of(run), Validity{});
}

TEST(Validity, one_late_request_and_one_busy_moment_are_no_share) {
    auto run = clean_run();
    run.counts.requests = run.counts.ok = run.counts.in_window = 12;
    run.window = {.begin_s = 0, .end_s = 1, .run_s = 1, .steady = true, .how = "steady"};
    run.client.achieved_rate_ratio = 11.0 / 12;
    run.client.cpu_windows_above_85 = 0.1;
    EXPECT_EQ(validity_of(run), Validity{});
    run.client.achieved_rate_ratio = 9.0 / 12;
    run.client.cpu_windows_above_85 = 0.5;
    EXPECT_EQ(checks_of(validity_of(run)), (std::vector<std::string>{"achieved_rate", "client_cpu"}));
}

TEST(Validity, a_few_events_without_a_stamp_do_not_matter) {
    auto run = clean_run();
    run.client.unstamped_delay_p99_s = 0.01;
    run.client.kernel_stamp_share = 0.995;
    EXPECT_EQ(validity_of(run), Validity{});
    run.client.kernel_stamp_share = 0;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"unstamped_delay"});
}

TEST(Validity, delays_of_a_run_without_events_are_held_against_the_time_per_output_token) {
    auto run = clean_run();
    run.metrics = {with_median("ttft_s", 0.1), with_median("tpot_s", 0.01), with_median("e2e_s", 1)};
    run.client.unstamped_delay_p99_s = 0.00051;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"unstamped_delay"});
}

TEST(Validity, failures_warn_and_failures_alone_are_invalid) {
    auto run = clean_run();
    run.counts.failed = 10;
    EXPECT_THAT(validity_of(run).reasons, IsEmpty());
    run.counts.failed = 11;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"errors"});
    run.counts.failed = 100;
    EXPECT_EQ(validity_of(run).verdict, Verdict::warn);
    run.counts.failed = 101;
    EXPECT_EQ(validity_of(run).verdict, Verdict::invalid) << "more than a tenth";
    EXPECT_EQ(validity_of(run, {.max_failed = 0.5}).verdict, Verdict::warn);
    run.counts.failed = 1;
    EXPECT_EQ(validity_of(run, {.max_failed = 0}).verdict, Verdict::invalid) << "none was to fail";
    run.counts.failed = 1000;
    run.counts.ok = 0;
    run.window.steady = false;
    EXPECT_EQ(validity_of(run).verdict, Verdict::invalid);
    EXPECT_EQ(checks_of(validity_of(run)), (std::vector<std::string>{"all_failed", "errors"}));
}

TEST(Validity, no_answer_is_whole_if_users_hang_up_on_all) {
    auto run = clean_run();
    run.counts.abandoned = 5;
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid);
    run.counts.ok = 0;
    run.counts.abandoned = run.counts.requests = 50;
    const auto validity = validity_of(run);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"no_whole_answer"});
    EXPECT_EQ(validity.verdict, Verdict::warn);
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("users hung up on 50 of 50 requests"));
}

TEST(Validity, metrics_that_cannot_be_true_are_named) {
    auto run = clean_run();
    run.server.emplace().impossible = {"hits fell although the server did not start again"};
    const auto validity = validity_of(run);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"impossible_metrics"});
    EXPECT_EQ(validity.verdict, Verdict::warn);
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("left out: hits fell although"));
}

TEST(Validity, events_that_the_plan_keeps_are_not_missing_without_a_word) {
    auto run = clean_run();
    run.counts.without_events = 3;
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid) << "it is not known whether they were kept";
    run.plan["events"] = "none";
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid);
    run.plan["events"] = "sample=10";
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid);
    run.plan["events"] = "all";
    const auto validity = validity_of(run);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"events_missing"});
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("the events of 3 requests are missing"));
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("(itl, icl"));
    EXPECT_EQ(checks_of(validity_of(run, {.lost = "the disk was full"})),
              std::vector<std::string>{"records_lost"});
}

TEST(Validity, figures_above_the_whole_are_written_without_an_exponent) {
    auto run = clean_run();
    run.workload.output_length = Asked{8, 8 + 8 * 1000};
    const auto validity = validity_of(run);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"output_length"});
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("1000 times what was asked for (limit 50 %)"));
}

TEST(Validity, follows_the_largest_share_of_failures_and_names_what_the_result_does_not_hold) {
    auto run = clean_run();
    run.counts.failed = 200;
    EXPECT_EQ(validity_of(run).verdict, Verdict::invalid);
    EXPECT_EQ(validity_of(run, {.max_failed = 0.5}).verdict, Verdict::warn);
    const auto lost = validity_of(run, {.max_failed = 0.5, .lost = "the disk was full"});
    EXPECT_EQ(lost.verdict, Verdict::invalid);
    EXPECT_EQ(checks_of(lost), (std::vector<std::string>{"errors", "records_lost"}));
    EXPECT_EQ(lost.reasons.back().text, "the disk was full");
    run.partial = true;
    EXPECT_EQ(checks_of(validity_of(run)), (std::vector<std::string>{"partial", "errors"}));
    EXPECT_EQ(checks_of(validity_of(run, {.ended = false})),
              (std::vector<std::string>{"interrupted", "errors"}));
}

TEST(Validity, a_load_that_diverged_is_warned_of_first) {
    auto run = clean_run();
    run.window.steady = false;
    run.stop = StopReason{.rule = "diverging", .at_s = 1, .text = "the queue grew"};
    const auto validity = validity_of(run);
    EXPECT_EQ(checks_of(validity), (std::vector<std::string>{"diverging", "no_steady_state"}));
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("the queue grew; percentiles"));
}

TEST(Validity, questions_without_an_answer_are_warned_of) {
    const auto validity = validity_of(clean_run(), {.unanswered = "3 of the 40 questions got no answer."});
    EXPECT_EQ(checks_of(validity), std::vector<std::string>{"probe_failed"});
    EXPECT_EQ(validity.reasons[0].text, "3 of the 40 questions got no answer.");
}

TEST(Validity, artificial_text_matters_where_the_speed_depends_on_the_text) {
    auto run = clean_run();
    run.workload.text = "random words";
    EXPECT_THAT(checks_of(validity_of(run)), IsEmpty());
    const auto experts = validity_of(run, {.routes_to_experts = true});
    EXPECT_EQ(checks_of(experts), std::vector<std::string>{"artificial_text"});
    EXPECT_THAT(experts.reasons[0].text, HasSubstr("--text FILE"));
    run.workload.text = "prose.txt (0123)";
    EXPECT_THAT(checks_of(validity_of(run, {.routes_to_experts = true})), IsEmpty());
    EXPECT_THAT(validity_of(run, {.ignores_end = true, .routes_to_experts = true}).reasons.at(0).text,
                HasSubstr("--no-ignore-eos"));
    run.server.emplace().window["draft_tokens"] = 9;
    EXPECT_THAT(validity_of(run, {.ignores_end = true}).reasons.at(0).text, HasSubstr("speculative"));
    run.client.timing = "virtual";
    EXPECT_THAT(checks_of(validity_of(run, {.ignores_end = true})), IsEmpty());
}

TEST(Validity, a_server_that_does_not_stream_makes_the_run_invalid) {
    auto run = clean_run();
    run.counts.unstreamed = 20;
    EXPECT_EQ(validity_of(run).verdict, Verdict::warn);
    run.counts.unstreamed = 1000;
    const auto validity = validity_of(run);
    EXPECT_EQ(validity.verdict, Verdict::invalid);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"no_stream"});
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("the server did not stream"));
}

TEST(Validity, a_loop_in_step_is_told_with_the_remedy) {
    auto run = clean_run();
    run.window.in_step = 0.12;
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid) << "as short answers of various lengths";
    run.window.in_step = 0.19;
    const auto validity = validity_of(run);
    EXPECT_EQ(validity.verdict, Verdict::warn);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"in_step"});
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("as with --range-ratio 0.1, avoid it"));
}

TEST(Validity, requests_that_were_sent_a_second_time_are_told_if_there_is_more_than_one) {
    auto run = clean_run();
    run.counts.requests = 12;
    run.counts.resent = 1;
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid)
        << "it shows the client how this server ends connections";
    run.counts.resent = 2;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"resent"});
    run.counts.requests = 201;
    EXPECT_EQ(validity_of(run).verdict, Verdict::valid);
}

TEST(Validity, prompts_that_were_sent_again_are_told_if_a_cache_may_have_served_them) {
    auto run = clean_run();
    run.workload.repeats_after = run.counts.requests / 2;
    run.workload.repeated_share = 0.5;
    const auto validity = validity_of(run);
    ASSERT_EQ(checks_of(validity), std::vector<std::string>{"repeated_prompts"});
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("50 % of the requests"));
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("reports no cached tokens"));
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("--salt-prompts makes each prompt new, or send at most"));
    run.workload.text = "random words";
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("of a warm cache; send at most"))
        << "prompts that hash ids describe cannot be salted";
    run.workload.text.clear();
    run.workload.different_prompts = 3;
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("the file has 3 different ones in"));
    run.workload.repeats_after = std::nullopt;
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("the files of the classes"));
    run.turns.resize(2);
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("50 % of the conversations began with a prompt"));
    for (const std::optional<double> share : {std::optional<double>(), std::optional(0.05)}) {
        run.workload.repeated_share = share;
        EXPECT_EQ(validity_of(run).verdict, Verdict::valid);
    }
}

TEST(Validity, answers_that_do_not_show_how_they_were_generated_are_told) {
    const auto reason_for = [](std::uint64_t Counts::*part) {
        auto run = clean_run();
        run.counts.*part = run.counts.ok;
        const auto validity = validity_of(run);
        EXPECT_EQ(validity.verdict, Verdict::warn);
        return checks_of(validity);
    };
    EXPECT_EQ(reason_for(&Counts::bunched), std::vector<std::string>{"bunched_stream"});
    auto one_of_many = clean_run();
    one_of_many.counts.ok = 4;
    one_of_many.counts.bunched = 1;
    EXPECT_THAT(checks_of(validity_of(one_of_many)), Not(Contains("bunched_stream")));
    EXPECT_EQ(reason_for(&Counts::disputed), std::vector<std::string>{"disputed_counts"});
    EXPECT_EQ(reason_for(&Counts::early_first), std::vector<std::string>{"early_first_event"});
    EXPECT_EQ(reason_for(&Counts::starved), std::vector<std::string>{"starved"});
    EXPECT_EQ(reason_for(&Counts::unseen_output), std::vector<std::string>{"unseen_output"});
    EXPECT_EQ(reason_for(&Counts::uncounted_output), std::vector<std::string>{"uncounted_output"});
    EXPECT_EQ(reason_for(&Counts::disputed_cache), std::vector<std::string>{"disputed_cache"});
    EXPECT_EQ(reason_for(&Counts::no_finish_reason), std::vector<std::string>{"no_finish_reason"});
    auto run = clean_run();
    run.counts.other_models = {{"small", 2}, {"tiny", 3}};
    ASSERT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"other_model"});
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("5 of 1000 answers"));
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("'small', 'tiny'"));
}

TEST(Validity, lengths_that_are_not_what_was_asked_for_are_said) {
    auto run = clean_run();
    run.workload.output_length = Asked{128, 134};
    run.workload.input_length = Asked{1000, 960};
    EXPECT_EQ(validity_of(run), Validity{}) << "less than 5 % off";
    run.workload.output_length = Asked{128, 150};
    run.workload.input_length = Asked{1000, 900};
    EXPECT_EQ(validity_of(run).verdict, Verdict::warn);
    EXPECT_EQ(checks_of(validity_of(run)), (std::vector<std::string>{"input_length", "output_length"}));
    run.workload.output_length = Asked{128, 1'000'000};
    EXPECT_EQ(validity_of(run).verdict, Verdict::invalid);
    run.workload.output_length = std::nullopt;
    run.workload.input_length = Asked{1'000'000, 10};
    EXPECT_EQ(validity_of(run).verdict, Verdict::invalid);
    run.workload.length_source = "uncalibrated";
    EXPECT_EQ(validity_of(run), Validity{}) << "nobody knew how long the prompts were";
}

TEST(Validity, a_template_that_changes_prompts_with_every_turn_is_said) {
    auto run = clean_run();
    for (const auto& [asked, counted] :
         {std::pair{20., 22.}, std::pair{1000., 1040.}, std::pair{1000., 960.}}) {
        run.workload.prompt_growth = Asked{asked, counted};
        EXPECT_EQ(validity_of(run), Validity{});
    }
    for (const double counted : {112., 60., -5.}) {
        run.workload.prompt_growth = Asked{100, counted};
        EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"prompt_growth"});
        EXPECT_EQ(validity_of(run).verdict, Verdict::warn);
    }
    run.workload.length_source = "uncalibrated";
    EXPECT_EQ(validity_of(run), Validity{});
}

TEST(Validity, what_a_template_adds_to_a_short_prompt_is_no_wrong_length) {
    auto run = clean_run();
    run.workload.input_length = Asked{4, 30};
    run.workload.output_length = Asked{2, 3};
    EXPECT_EQ(validity_of(run), Validity{});
}

/// Returns a run with one reading of the KV usage per second of the window.
RunResult with_kv_usage(double (*usage)(int second)) {
    RunResult run = clean_run();
    Series series{.name = "kv_usage", .unit = "ratio", .source = "server", .times_s = {}, .values = {}};
    for (int second = 0; second < 60; ++second) {
        series.times_s.push_back(second + 1);
        series.values.push_back(usage(second));
    }
    run.series.push_back(std::move(series));
    return run;
}

TEST(Validity, a_kv_cache_that_fills_and_empties_again_and_again_is_said) {
    const auto thrashes = [](double (*usage)(int)) {
        const auto checks = checks_of(validity_of(with_kv_usage(usage)));
        return std::find(checks.begin(), checks.end(), "kv_thrash") != checks.end();
    };
    EXPECT_TRUE(thrashes([](int second) { return second % 10 < 5 ? .9 : .4; }));
    EXPECT_TRUE(
        thrashes([](int second) { return .5 + .2 * (second % 12 < 6 ? second % 6 : 6 - second % 6) / 3; }));
    EXPECT_FALSE(thrashes([](int second) { return second % 10 < 5 ? .6 : .4; })) << "20 points";
    EXPECT_FALSE(thrashes([](int second) { return second < 30 ? .1 : .95; })) << "it fills once";
    EXPECT_FALSE(thrashes([](int second) { return second / 60.0; }));
}

TEST(Validity, cache_hits_that_the_chat_template_does_not_explain_are_said) {
    RunResult run = clean_run();
    run.whole_run_totals.known_cached = 1000;
    run.whole_run_totals.cached_input_tokens = 32'000;
    run.whole_run_totals.fresh_input_tokens = 480'000;
    EXPECT_THAT(checks_of(validity_of(run)), IsEmpty()) << "nothing tells what the template explains";
    run.workload.cached_by_template = 32;
    EXPECT_THAT(checks_of(validity_of(run)), IsEmpty());
    run.workload.cached_by_template = 0;
    const Validity contaminated = validity_of(run);
    EXPECT_EQ(checks_of(contaminated), std::vector<std::string>{"cache_contaminated"});
    EXPECT_EQ(contaminated.verdict, Verdict::warn);
    EXPECT_THAT(contaminated.reasons[0].text, HasSubstr("5.47 %")) << "(32 - 4) of 512 tokens";
    run.whole_run_totals.cached_input_tokens = 4'000;
    EXPECT_THAT(checks_of(validity_of(run)), IsEmpty()) << "prompts may begin alike by chance";
}

TEST(Validity, energy_that_differs_from_the_drivers_counter_is_said) {
    RunResult run = clean_run();
    run.power = PowerFigures{.source = "nvml", .energy_j = 1040, .counter_j = 1000};
    EXPECT_THAT(checks_of(validity_of(run)), IsEmpty());
    run.power->energy_j = 940;
    EXPECT_EQ(checks_of(validity_of(run)), std::vector<std::string>{"energy_counter"});
}

TEST(Validity, no_request_no_steady_state_and_an_interruption_are_said) {
    EXPECT_EQ(validity_of(RunResult{}).verdict, Verdict::invalid);
    EXPECT_EQ(checks_of(validity_of(RunResult{})), std::vector<std::string>{"no_requests"});
    const Validity shard = validity_of(RunResult{}, {.part = "3/4"});
    EXPECT_EQ(shard.verdict, Verdict::warn);
    EXPECT_EQ(checks_of(shard), std::vector<std::string>{"shard"});
    EXPECT_NE(shard.reasons.front().text.find("no part"), std::string::npos);
    auto run = clean_run();
    run.partial = true;
    run.window.steady = false;
    run.window.how = "no steady state: latency rose";
    const auto validity = validity_of(run);
    EXPECT_EQ(validity.verdict, Verdict::warn);
    EXPECT_EQ(checks_of(validity), (std::vector<std::string>{"no_steady_state", "partial"}));
    EXPECT_THAT(validity.reasons[0].text, HasSubstr("latency rose"));
    run.window.how = "3 requests were scheduled (make the run longer)";
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("(make the run longer)"));
    run.plan["arrivals"] = "trace:scale=2";
    EXPECT_THAT(validity_of(run).reasons[0].text, HasSubstr("(use a longer trace)"));
    run.plan.erase("arrivals");
    EXPECT_THAT(validity.reasons[1].text, Not(HasSubstr("--probe")));
    run.plan["probe"] = "questions.jsonl";
    EXPECT_THAT(validity_of(run).reasons[1].text,
                HasSubstr("the questions of --probe were not all answered"));
    run.quality.emplace();
    EXPECT_THAT(validity_of(run).reasons[1].text, Not(HasSubstr("--probe")));
}

TEST(Validity, the_worst_of_several_clients_decides) {
    RunResult run = clean_run();
    run.shards = {{.number = 0, .host = "a"}, {.number = 1, .host = "b"}, {.number = 2, .host = "c"}};
    EXPECT_EQ(validity_of(run), Validity{});
    run.shards[1].verdict = Verdict::warn;
    run.shards[1].reason = "the loop was late";
    Validity validity = validity_of(run);
    EXPECT_EQ(validity.verdict, Verdict::warn);
    EXPECT_EQ(checks_of(validity), std::vector<std::string>{"shard_client"});
    EXPECT_EQ(gravest_reason(validity), "shard 1 on b: the loop was late");
    for (const std::size_t number : {0, 2}) {
        run.shards[number].verdict = Verdict::invalid;
        run.shards[number].reason = "its core was full";
    }
    validity = validity_of(run);
    EXPECT_EQ(validity.verdict, Verdict::invalid);
    EXPECT_EQ(gravest_reason(validity), "shard 0 on a: its core was full; 1 more shard is like it");
    EXPECT_EQ(validity_of(run, {.accept_host_noise = true}).verdict, Verdict::warn);
    run.shards[0].client_part = .13;
    run.shards[2].client_part = .975;
    EXPECT_THAT(gravest_reason(validity_of(run)), HasSubstr("shard 2 on c: its core was full"));
    std::swap(run.shards[0].client_part, run.shards[2].client_part);
    EXPECT_THAT(gravest_reason(validity_of(run)), HasSubstr("shard 0 on a: its core was full"));
}

TEST(GravestReason, IsTheFirstOfTheSeverityOfTheVerdict) {
    EXPECT_EQ(gravest_reason({}), "");
    const Reason warning{.severity = Verdict::warn, .check = "a", .text = "a warning"};
    const Reason grave{.severity = Verdict::invalid, .check = "b", .text = "a grave one"};
    EXPECT_EQ(gravest_reason({Verdict::warn, {warning}}), "a warning");
    EXPECT_EQ(gravest_reason({Verdict::invalid, {warning, grave}}), "a grave one");
}

}  // namespace
}  // namespace paretoken
