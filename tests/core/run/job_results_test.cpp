#include "core/run/job_results.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paretoken {
namespace {

using std::chrono::milliseconds;

const TimePoint kStart{std::chrono::seconds(1000)};

TimePoint at(double s) {
    return kStart + from_seconds(s);
}

/// A turn of a job of `turns` turns that was due and sent at `begin`, and ended at `end`.
RequestRecord turn_of(std::uint64_t job, std::uint32_t number, std::uint32_t turns, double begin,
                      double end) {
    RequestRecord record;
    record.index = job + number;
    record.job = JobPart{.first = job, .turns = turns};
    record.turn = Turn{.conversation = job, .number = number};
    record.scheduled = record.started = record.ready = at(begin);
    record.sent = at(begin);
    record.last_event = record.finished = record.closed = at(end);
    record.usage = {.prompt = 100, .cached_prompt = 40, .completion = 10, .reasoning = {}};
    record.streamed_tokens = 10;
    return record;
}

JobSummary summary_of(const std::vector<RequestRecord>& records, const JobJudging& judging = {}) {
    return job_summary_of(RequestTable(records), {at(0), at(100)}, judging).value();
}

JobResults results_of(const std::vector<RequestRecord>& records) {
    return summary_of(records).results;
}

const MetricSummary* metric_of(const JobSummary& summary, std::string_view key) {
    for (const MetricSummary& metric : summary.metrics)
        if (metric.key == key) return &metric;
    return summary.results.metric(key);
}

double mean_of(const JobSummary& summary, std::string_view key) {
    const MetricSummary* metric = metric_of(summary, key);
    return metric != nullptr && metric->mean ? *metric->mean : -1;
}

TEST(JobResults, AWindowThatCutsJobsStillHasNearlyTheirRate) {
    // Four slots with jobs of four turns that take 4 s each: 900 jobs per hour. 30 s have one whole job of
    // each.
    std::vector<RequestRecord> records;
    for (std::uint64_t slot = 0; slot < 4; ++slot)
        for (std::uint32_t turn = 0; turn < 8; ++turn)
            records.push_back(turn_of(100 * slot + turn / 4 * 10, turn % 4, 4, 4.0 * turn, 4.0 * (turn + 1)));
    const JobResults results = job_summary_of(RequestTable(records), {at(0), at(30)}).value().results;
    EXPECT_DOUBLE_EQ(*results.jobs_per_hour, 4 * 7.0 / 4 * 120);
    EXPECT_EQ(results.ok, 8U);
}

TEST(JobResults, AJobLastsFromItsFirstDueTurnToItsLastAnswerAndPausesAreNotBusy) {
    // Turn 0 until 2 s; two helpers from 3 s and from 4 s until 6 s; the conclusion from 8 s to 9 s.
    const JobSummary results = summary_of(
        {turn_of(0, 0, 4, 0, 2), turn_of(0, 1, 4, 3, 5), turn_of(0, 2, 4, 4, 6), turn_of(0, 3, 4, 8, 9)});
    EXPECT_EQ(results.results.ok, 1U);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_time_s"), 9);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_busy_s"), 2 + 3 + 1);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_turns"), 4);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_prompt_tokens"), 400);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_cached_tokens"), 160);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_output_tokens"), 40);
    EXPECT_DOUBLE_EQ(*results.results.jobs_per_hour, 36);
}

TEST(JobResults, TheUserDoesNotWaitForAgentsOfTheBackground) {
    RequestRecord background = turn_of(0, 1, 2, 1, 50);
    background.job->background = true;
    const JobSummary results = summary_of({turn_of(0, 0, 2, 0, 2), background});
    EXPECT_DOUBLE_EQ(mean_of(results, "job_time_s"), 2);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_output_tokens"), 20) << "but its tokens are part of the job";
}

TEST(JobResults, FailedJobsAreFailuresOfTheTimesAndUnfinishedOnesCountInNone) {
    std::vector<RequestRecord> records;
    for (std::uint64_t job = 0; job < 8; ++job) records.push_back(turn_of(2 * job, 0, 1, 0, 1));
    RequestRecord failed = turn_of(16, 0, 2, 0, 1);
    failed.outcome = Outcome::http_error;
    records.push_back(failed);
    failed = turn_of(18, 0, 1, 0, 1);
    failed.outcome = Outcome::abandoned;
    records.push_back(failed);
    records.push_back(turn_of(20, 0, 2, 0, 1));  // its second turn was never sent
    const JobSummary summary = summary_of(records);
    const JobResults& results = summary.results;
    EXPECT_EQ(results.ok, 8U);
    EXPECT_EQ(results.failed, 2U);
    EXPECT_EQ(results.unfinished, 1U);
    const MetricSummary* time = metric_of(summary, "job_time_s");
    ASSERT_NE(time, nullptr);
    EXPECT_EQ(time->n, 10U);
    EXPECT_DOUBLE_EQ(time->failed_mass, .2);
    EXPECT_DOUBLE_EQ(*time->at(.5)->value, 1);
    EXPECT_EQ(time->at(.95)->value, std::nullopt) << "it falls among failures";
    EXPECT_EQ(results.metric("job_turns")->n, 8U);
}

TEST(JobResults, CachedTokensThatTheServerDoesNotReportAreUnknown) {
    RequestRecord unknown = turn_of(0, 0, 1, 0, 1);
    unknown.usage.cached_prompt.reset();
    const JobResults results = results_of({unknown, turn_of(1, 0, 1, 0, 1)});
    EXPECT_EQ(results.metric("job_cached_tokens"), nullptr);
    EXPECT_EQ(results.tokens, (std::vector<JobTokens>{{.fresh = 100, .output = 10},
                                                      {.fresh = 60, .cached = 40, .output = 10}}));
}

TEST(JobResults, TheTwoInteractivitiesAreTheInverseOfAPercentileAndARatioOfSums) {
    // 10 tokens in 1 s, 2 s, 3 s, 4 s and 10 s: 0.1, 0.2, 0.3, 0.4 and 1 s per token.
    std::vector<RequestRecord> records;
    const double times[] = {1, 2, 3, 4, 10};
    for (std::uint64_t i = 0; i < 5; ++i) records.push_back(turn_of(i, 0, 1, 0, times[i]));
    const JobResults results = results_of(records);
    EXPECT_DOUBLE_EQ(*results.e2e_normalized_interactivity_p75, 1 / .4);
    EXPECT_NEAR(*results.e2e_normalized_interactivity_p90, 1 / .76, 1e-9);
    EXPECT_DOUBLE_EQ(*results.e2e_interactivity, 50 / 20.);
}

TEST(LiveJobs, ArePresentInTheirPausesToo) {
    RequestRecord warmup = turn_of(0, 0, 1, 0, 1);
    warmup.warmup = true;
    const auto series =
        live_jobs_series(RequestTable(std::vector{warmup, turn_of(0, 0, 2, .5, 1), turn_of(0, 1, 2, 2.5, 3),
                                                  turn_of(2, 0, 1, 2, 3.5)}),
                         {at(0), at(3.5)});
    ASSERT_TRUE(series);
    EXPECT_EQ(series->name, "live_jobs");
    EXPECT_EQ(series->times_s, (std::vector<double>{0, 1, 2, 3}));
    EXPECT_EQ(series->values, (std::vector<double>{1.5, 1, 2, 1}));
    RequestRecord single = turn_of(0, 0, 1, 0, 1);
    single.job.reset();
    EXPECT_FALSE(live_jobs_series(RequestTable(std::vector{single}), {at(0), at(9)}));
}

TEST(JobResults, ARunWithoutJobsHasNone) {
    RequestRecord single = turn_of(0, 0, 1, 0, 1);
    single.job.reset();
    RequestRecord warmup = turn_of(0, 0, 1, 0, 1);
    warmup.warmup = true;
    EXPECT_FALSE(job_summary_of(RequestTable(std::vector{single, warmup}), {at(0), at(9)}).has_value());
}

TEST(JobResults, HoldTheTokensOfEachJobAndAreThinnedOutEvenlyIfThereAreMany) {
    const JobResults few =
        results_of({turn_of(0, 0, 2, 0, 1), turn_of(0, 1, 2, 1, 2), turn_of(2, 0, 1, 0, 1)});
    EXPECT_EQ(few.tokens, (std::vector<JobTokens>{{.fresh = 120, .cached = 80, .output = 20},
                                                  {.fresh = 60, .cached = 40, .output = 10}}));
    std::vector<RequestRecord> records;
    for (std::uint64_t job = 0; job < 2500; ++job) records.push_back(turn_of(job, 0, 1, 0, 1));
    EXPECT_EQ(results_of(records).tokens.size(), 834U) << "every third of 2,500";
}

TEST(JobResults, TellWhichPartOfAPromptTheTurnBeforeHadAndACacheServed) {
    RequestRecord first = turn_of(0, 0, 3, 0, 1);  // a prompt of 100 tokens, an answer of 10
    RequestRecord second = turn_of(0, 1, 3, 1, 2);
    second.usage = {.prompt = 150, .cached_prompt = 55, .completion = 10, .reasoning = {}};
    RequestRecord shorter = turn_of(0, 2, 3, 2, 3);  // its context was shortened to 50 tokens
    shorter.usage = {.prompt = 50, .cached_prompt = 0, .completion = 10, .reasoning = {}};
    for (RequestRecord* record : {&first, &second, &shorter}) record->turn->conversation = 0;
    const JobResults results = results_of({first, second, shorter});
    EXPECT_DOUBLE_EQ(*results.continued_ratio, (110. + 50) / (150 + 50));
    EXPECT_DOUBLE_EQ(*results.cached_of_continued, 55. / 160);
    EXPECT_EQ(results_of({first}).continued_ratio, std::nullopt) << "no turn follows another";
}

TEST(JobResults, GoodJobsEndedWellWithinEveryLimitAndLateUnfinishedOnesAreBad) {
    RequestRecord failed = turn_of(8, 0, 1, 0, 1);
    failed.outcome = Outcome::http_error;
    const std::vector<RequestRecord> records{turn_of(0, 0, 1, 0, 2),     // good
                                             turn_of(1, 0, 1, 0, 3),     // too long
                                             turn_of(2, 0, 1, 98, 100),  // good, at the end of the window
                                             turn_of(3, 0, 1, 99, 101),  // good, but behind the window
                                             turn_of(4, 0, 2, 0, 1),     // unfinished, and perhaps good
                                             turn_of(6, 0, 2, 0, 5),     // unfinished, and too long already
                                             failed};
    const JobResults results = summary_of(records, {.slos = {parse_goodput_slo("job:2s")}}).results;
    EXPECT_EQ(results.judged, 6U);
    EXPECT_EQ(results.good, 3U);
    EXPECT_DOUBLE_EQ(*results.good_jobs_per_hour, 2.5 * 36) << "half of the unfinished one";
    EXPECT_DOUBLE_EQ(*results.jobs_per_hour, 4 * 36);
    EXPECT_EQ(results_of(records).good, std::nullopt) << "without a limit no job is judged";
}

TEST(JobResults, AJobIsJudgedByTheLimitsOfItsClass) {
    RequestRecord strict = turn_of(0, 0, 1, 0, 2);
    strict.request_class = "strict";
    RequestRecord other = turn_of(1, 0, 1, 0, 2);
    other.request_class = "other";
    const JobJudging judging{.class_slos = {{"strict", {parse_goodput_slo("job:1s")}}, {"other", {}}}};
    const JobResults results = summary_of({strict, other}, judging).results;
    EXPECT_EQ(results.judged, 1U);
    EXPECT_EQ(results.good, 0U);
}

TEST(JobResults, TimeOutsideToolsHasALimitOfItsOwn) {
    const std::vector<RequestRecord> records{turn_of(0, 0, 2, 0, 1), turn_of(0, 1, 2, 9, 10)};
    EXPECT_EQ(summary_of(records, {.slos = {parse_goodput_slo("job_busy:2s")}}).results.good, 1U);
    EXPECT_EQ(summary_of(records, {.slos = {parse_goodput_slo("job:2s")}}).results.good, 0U);
}

TEST(JobResults, APercentileDecidesALimitOnlyIfUnfinishedJobsCannotChangeIt) {
    std::vector<RequestRecord> records;
    for (std::uint64_t job = 0; job < 100; ++job) records.push_back(turn_of(2 * job, 0, 1, 0, 1));
    const auto decided = [&] { return *metric_of(summary_of(records), "job_time_s")->at(.9)->decided; };
    EXPECT_DOUBLE_EQ(decided().high, 1) << "100 of 100 show that 90 % meet a limit of 1 s";
    for (std::uint64_t job = 100; job < 130; ++job) records.push_back(turn_of(2 * job, 0, 2, 0, .5));
    EXPECT_TRUE(std::isinf(decided().high)) << "30 unfinished jobs may all be slow";
    for (RequestRecord& record : records)
        if (record.index >= 200) record.last_event = record.finished = record.closed = at(20);
    EXPECT_DOUBLE_EQ(decided().low, 20) << "30 of 130 jobs have taken 20 s already";
}

TEST(JobResults, JobsOverALimitAreCountedBesideTheRequestsOverTheirs) {
    const JobSummary summary =
        summary_of({turn_of(0, 0, 1, 0, 1), turn_of(1, 0, 1, 0, 3), turn_of(2, 0, 2, 0, 9)});
    const std::vector<Slo> slos{parse_slo("job_p95:2s"), parse_slo("ttft_p95:2s")};
    std::vector<SloResult> results(2);
    count_jobs_over(results, slos, summary.jobs);
    EXPECT_EQ(results[0].over, 1U) << "an unfinished job is in no percentile";
    EXPECT_EQ(results[1].over, 0U);
}

}  // namespace
}  // namespace paretoken
