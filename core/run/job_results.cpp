#include "core/run/job_results.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/evidence/evidence.h"
#include "core/result/metric_summary.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

/// What is known of a job from its requests.
struct Job {
    std::uint64_t turns = 0;
    std::uint64_t sent = 0;
    std::uint64_t ok = 0;
    bool failed = false;
    TimePoint due = TimePoint::max();
    TimePoint end = TimePoint::min();
    std::vector<std::pair<TimePoint, TimePoint>> busy = {};  ///< times of turns that somebody waits for
    double prompt_tokens = 0;
    double cached_tokens = 0;
    bool cached_known = true;
    double output_tokens = 0;
};

void add(Job& job, const RequestRecord& record) {
    job.turns = record.job->turns;
    ++job.sent;
    if (record.outcome == Outcome::ok) ++job.ok;
    job.failed = job.failed || is_failure(record.outcome) || record.outcome == Outcome::abandoned;
    job.prompt_tokens += static_cast<double>(record.usage.prompt.value_or(0));
    job.cached_tokens += static_cast<double>(record.usage.cached_prompt.value_or(0));
    job.cached_known = job.cached_known && record.usage.cached_prompt;
    job.output_tokens += static_cast<double>(output_tokens_of(record));
    job.due = std::min(job.due, record.scheduled);
    if (record.job->background) return;
    job.end = std::max(job.end, record.closed);
    job.busy.emplace_back(record.scheduled, record.closed);
}

std::map<std::uint64_t, Job> jobs_of(const RequestTable& requests) {
    std::map<std::uint64_t, Job> jobs;
    for (const RequestRecord& record : requests)
        if (record.job && !record.warmup) add(jobs[record.job->first], record);
    return jobs;
}

/// Returns the seconds that at least one of the times covers.
double covered_s(std::vector<std::pair<TimePoint, TimePoint>> times) {
    std::sort(times.begin(), times.end());
    Duration covered{};
    TimePoint until = TimePoint::min();
    for (const auto& [begin, end] : times) {
        if (end > until) covered += end - std::max(begin, until);
        until = std::max(until, end);
    }
    return seconds(covered);
}

/// Returns the summary of independent values, of which `failed` more are failures.
MetricSummary summary_of(std::string key, std::vector<double> values, std::size_t failed) {
    MetricSummary summary;
    summary.key = std::move(key);
    summary.n = values.size() + failed;
    const Moments moments = moments_of(values);
    summary.mean = moments.mean;
    if (values.size() > 1) summary.std = moments.standard_deviation;
    std::sort(values.begin(), values.end());
    summary.min = values.front();
    summary.max = values.back();
    values.insert(values.end(), failed, std::numeric_limits<double>::infinity());
    summary.failed_mass = static_cast<double>(failed) / static_cast<double>(summary.n);
    for (const double p : kPercentiles) {
        PercentileValue at{.p = p, .value = {}};
        const double value = percentile(values, p);
        if (value < std::numeric_limits<double>::infinity()) at.value = value;
        at.ci95 = effective_interval(values, p, static_cast<double>(summary.n));
        at.effective_n = static_cast<double>(summary.n);
        summary.percentiles.push_back(at);
    }
    return summary;
}

/// Sets the rates of tokens that users see, over the requests that ended well in the window.
void set_interactivity(JobResults& results, const RequestTable& requests, TimeSpan window) {
    std::vector<double> per_token;
    double time = 0;
    double tokens = 0;
    for (const RequestRecord& record : requests) {
        if (record.warmup || record.outcome != Outcome::ok || !record.sent || !record.last_event) continue;
        if (!window.contains(record.scheduled)) continue;
        const auto output = static_cast<double>(output_tokens_of(record));
        const double e2e = seconds(*record.last_event - *record.sent);
        if (!(output > 0) || !(e2e > 0)) continue;
        per_token.push_back(e2e / output);
        time += e2e;
        tokens += output;
    }
    if (per_token.empty()) return;
    std::sort(per_token.begin(), per_token.end());
    results.e2e_normalized_interactivity_p75 = 1 / percentile(per_token, .75);
    results.e2e_normalized_interactivity_p90 = 1 / percentile(per_token, .9);
    results.e2e_interactivity = tokens / time;
}

}  // namespace

std::optional<JobResults> job_results_of(const RequestTable& requests, TimeSpan window) {
    const std::map<std::uint64_t, Job> jobs = jobs_of(requests);
    if (jobs.empty()) return std::nullopt;
    JobResults results;
    std::map<std::string, std::vector<double>> values;
    bool cached_known = true;
    std::uint64_t ended_in_window = 0;
    for (const auto& [first, job] : jobs) {
        if (job.failed) {
            ++results.failed;
            continue;
        }
        if (job.ok < job.turns) {
            ++results.unfinished;
            continue;
        }
        ++results.ok;
        if (job.end >= window.begin && job.end <= window.end) ++ended_in_window;
        values["job_time_s"].push_back(seconds(job.end - job.due));
        values["job_busy_s"].push_back(covered_s(job.busy));
        values["job_turns"].push_back(static_cast<double>(job.turns));
        values["job_prompt_tokens"].push_back(job.prompt_tokens);
        values["job_output_tokens"].push_back(job.output_tokens);
        values["job_cached_tokens"].push_back(job.cached_tokens);
        cached_known = cached_known && job.cached_known;
    }
    for (const std::string key : {"job_time_s", "job_busy_s", "job_turns", "job_prompt_tokens",
                                  "job_cached_tokens", "job_output_tokens"}) {
        if (values[key].empty() || (key == "job_cached_tokens" && !cached_known)) continue;
        results.metrics.push_back(
            summary_of(key, std::move(values[key]), key.ends_with("_s") ? results.failed : 0));
    }
    const double window_s = seconds(window.end - window.begin);
    if (window_s > 0) results.jobs_per_hour = 3600 * static_cast<double>(ended_in_window) / window_s;
    set_interactivity(results, requests, window);
    return results;
}

}  // namespace paretoken
