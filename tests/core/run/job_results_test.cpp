#include "core/run/job_results.h"

#include <gtest/gtest.h>

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

JobResults results_of(const std::vector<RequestRecord>& records) {
    return job_results_of(RequestTable(records), {at(0), at(100)}).value();
}

double mean_of(const JobResults& results, std::string_view key) {
    const MetricSummary* metric = results.metric(key);
    return metric != nullptr && metric->mean ? *metric->mean : -1;
}

TEST(JobResults, AJobLastsFromItsFirstDueTurnToItsLastAnswerAndPausesAreNotBusy) {
    // Turn 0 until 2 s; two helpers from 3 s and from 4 s until 6 s; the conclusion from 8 s to 9 s.
    const JobResults results = results_of(
        {turn_of(0, 0, 4, 0, 2), turn_of(0, 1, 4, 3, 5), turn_of(0, 2, 4, 4, 6), turn_of(0, 3, 4, 8, 9)});
    EXPECT_EQ(results.ok, 1U);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_time_s"), 9);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_busy_s"), 2 + 3 + 1);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_turns"), 4);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_prompt_tokens"), 400);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_cached_tokens"), 160);
    EXPECT_DOUBLE_EQ(mean_of(results, "job_output_tokens"), 40);
    EXPECT_DOUBLE_EQ(*results.jobs_per_hour, 36);
}

TEST(JobResults, TheUserDoesNotWaitForAgentsOfTheBackground) {
    RequestRecord background = turn_of(0, 1, 2, 1, 50);
    background.job->background = true;
    const JobResults results = results_of({turn_of(0, 0, 2, 0, 2), background});
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
    const JobResults results = results_of(records);
    EXPECT_EQ(results.ok, 8U);
    EXPECT_EQ(results.failed, 2U);
    EXPECT_EQ(results.unfinished, 1U);
    const MetricSummary* time = results.metric("job_time_s");
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
    EXPECT_EQ(results_of({unknown, turn_of(1, 0, 1, 0, 1)}).metric("job_cached_tokens"), nullptr);
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

TEST(JobResults, ARunWithoutJobsHasNone) {
    RequestRecord single = turn_of(0, 0, 1, 0, 1);
    single.job.reset();
    RequestRecord warmup = turn_of(0, 0, 1, 0, 1);
    warmup.warmup = true;
    EXPECT_EQ(job_results_of(RequestTable(std::vector{single, warmup}), {at(0), at(9)}), std::nullopt);
}

}  // namespace
}  // namespace paretoken
