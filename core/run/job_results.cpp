#include "core/run/job_results.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/evidence/evidence.h"
#include "core/result/metric_summary.h"
#include "core/result/metrics.h"
#include "core/result/rates.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

/// What is known of a job from its requests.
struct Job {
    std::string request_class = {};
    std::uint64_t turns = 0;
    std::uint64_t ok = 0;
    std::uint64_t ok_in_window = 0;
    bool failed = false;
    TimePoint due = TimePoint::max();
    TimePoint end = TimePoint::min();
    std::vector<std::pair<TimePoint, TimePoint>> busy = {};  ///< times of turns that somebody waits for
    double prompt_tokens = 0;
    double cached_tokens = 0;
    bool cached_known = true;
    double output_tokens = 0;
};

void add(Job& job, const RequestRecord& record, TimeSpan window) {
    job.request_class = record.request_class;
    job.turns = record.job->turns;
    if (record.outcome == Outcome::ok) {
        ++job.ok;
        if (record.closed >= window.begin && record.closed <= window.end) ++job.ok_in_window;
    }
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

std::map<std::uint64_t, Job> jobs_of(const RequestTable& requests, TimeSpan window) {
    std::map<std::uint64_t, Job> jobs;
    for (const RequestRecord& record : requests)
        if (record.job && !record.warmup && !record.job->inside) add(jobs[record.job->first], record, window);
    return jobs;
}

/// Returns the share of a job that was done in the window: the turns that ended well there ÷ all turns. The
/// number of whole jobs would be too small in a window of few job times, because both ends cut jobs.
double share_in_window(const Job& job) {
    if (job.failed || job.turns == 0) return 0;
    return static_cast<double>(job.ok_in_window) / static_cast<double>(job.turns);
}

/// Returns the seconds that at least one of the times covers.
double covered_s(std::vector<std::pair<TimePoint, TimePoint>> times) {
    std::ranges::sort(times);
    Duration covered{};
    TimePoint until = TimePoint::min();
    for (const auto& [begin, end] : times) {
        if (end > until) covered += end - std::max(begin, until);
        until = std::max(until, end);
    }
    return seconds(covered);
}

JobTimes times_of(const Job& job) {
    return {.end = job.failed           ? JobEnd::failed
                   : job.ok < job.turns ? JobEnd::unfinished
                                        : JobEnd::ok,
            .time_s = job.busy.empty() ? 0 : seconds(job.end - job.due),
            .busy_s = covered_s(job.busy),
            .request_class = job.request_class};
}

/// Returns the job's value of a metric with Metric::of_jobs.
double value_of(const JobTimes& job, std::string_view tag) {
    return tag == "job_time" ? job.time_s : job.busy_s;
}

std::vector<double> with_failures(std::vector<double> values, std::size_t failed) {
    values.insert(values.end(), failed, std::numeric_limits<double>::infinity());
    std::ranges::sort(values);
    return values;
}

/// Independent values, of which `failed` more are failures. Of further jobs it is only known that their
/// values are at least `so_far`.
struct JobValues {
    std::vector<double> values = {};
    std::vector<double> so_far = {};
    std::size_t failed = 0;
};

/// Returns the limits that the values decide whatever becomes of the unfinished jobs.
Interval limits_of(const JobValues& of, double p) {
    std::vector<double> early = of.values;
    early.insert(early.end(), of.so_far.begin(), of.so_far.end());
    const std::vector<double> earliest = with_failures(std::move(early), of.failed);
    const std::vector<double> latest = with_failures(of.values, of.failed + of.so_far.size());
    const auto n = static_cast<double>(earliest.size());
    return {decided_limits(earliest, p, n).low, decided_limits(latest, p, n).high};
}

/// Returns the summary of values, of which there is at least one. `limits`: whether limits are set on it.
MetricSummary summary_of(std::string key, const JobValues& of, std::span<const double> percentiles,
                         bool limits) {
    MetricSummary summary;
    summary.key = std::move(key);
    summary.n = of.values.size() + of.failed;
    const Moments moments = moments_of(of.values);
    summary.mean = moments.mean;
    if (of.values.size() > 1) summary.std = moments.standard_deviation;
    const auto [least, most] = std::minmax_element(of.values.begin(), of.values.end());
    summary.min = *least;
    summary.max = *most;
    const std::vector<double> sorted = with_failures(of.values, of.failed);
    const auto n = static_cast<double>(summary.n);
    summary.failed_mass = static_cast<double>(of.failed) / n;
    for (const double p : percentiles) {
        PercentileValue at{.p = p};
        const double value = percentile(sorted, p);
        if (value < std::numeric_limits<double>::infinity()) at.value = value;
        at.ci95 = effective_interval(sorted, p, n);
        at.effective_n = n;
        if (limits) at.decided = limits_of(of, p);
        summary.percentiles.push_back(at);
    }
    set_certified(summary.percentiles);
    return summary;
}

JobValues values_of(const std::vector<JobTimes>& jobs, std::string_view tag) {
    JobValues of;
    for (const JobTimes& job : jobs) {
        switch (job.end) {
            case JobEnd::ok:
                of.values.push_back(value_of(job, tag));
                break;
            case JobEnd::failed:
                ++of.failed;
                break;
            case JobEnd::unfinished:
                of.so_far.push_back(value_of(job, tag));
                break;
        }
    }
    return of;
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
    std::ranges::sort(per_token);
    results.e2e_normalized_interactivity_p75 = 1 / percentile(per_token, .75);
    results.e2e_normalized_interactivity_p90 = 1 / percentile(per_token, .9);
    results.e2e_interactivity = tokens / time;
}

/// Returns the limits on a job; null if it has none.
const std::vector<Slo>* limits_on(const JobTimes& job, const JobJudging& judging) {
    const auto of_class = judging.class_slos.find(job.request_class);
    const std::vector<Slo>& slos = of_class != judging.class_slos.end() ? of_class->second : judging.slos;
    return slos.empty() ? nullptr : &slos;
}

/// Sets the goodput of jobs. A job that the end of the run has cut is judged only if it is already too late;
/// what was done of it until then counts in the rate. `shares`: share_in_window() of each job.
void set_goodput(JobResults& results, const std::vector<JobTimes>& jobs, std::span<const double> shares,
                 TimeSpan window, const JobJudging& judging) {
    std::uint64_t judged = 0;
    std::uint64_t good = 0;
    double good_in_window = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const std::vector<Slo>* const slos = limits_on(jobs[i], judging);
        if (slos == nullptr) continue;
        JobTimes so_far = jobs[i];
        so_far.end = so_far.end == JobEnd::failed ? JobEnd::failed : JobEnd::ok;
        if (is_good(so_far, *slos)) good_in_window += shares[i];
        if (jobs[i].end == JobEnd::unfinished && is_good(so_far, *slos)) continue;
        ++judged;
        if (is_good(jobs[i], *slos)) ++good;
    }
    if (judged == 0) return;
    results.judged = judged;
    results.good = good;
    const double window_s = seconds(window.length());
    if (window_s > 0) results.good_jobs_per_hour = 3600 * good_in_window / window_s;
}

/// Returns the tokens of the jobs that ended well, thinned out evenly to as many as a result holds.
std::vector<JobTokens> tokens_of(const std::map<std::uint64_t, Job>& jobs) {
    std::vector<JobTokens> all;
    for (const auto& [first, job] : jobs) {
        if (times_of(job).end != JobEnd::ok) continue;
        std::optional<double> cached;
        if (job.cached_known) cached = job.cached_tokens;
        all.push_back({job.prompt_tokens - cached.value_or(0), cached, job.output_tokens});
    }
    const std::size_t step = (all.size() + kMostJobTokens - 1) / kMostJobTokens;
    if (step < 2) return all;
    std::vector<JobTokens> some;
    for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
    return some;
}

/// What is known of a request's prompt for the turn after it in the same agent.
struct Said {
    double prompt = 0;
    std::optional<double> cached = {};
    double output = 0;
};

/// Sets the shares of the prompts that the turn before had, and of those that came from a cache.
void set_continued(JobResults& results, const RequestTable& requests) {
    std::map<std::uint64_t, std::map<std::uint32_t, Said>> agents;
    for (const RequestRecord& record : requests)
        if (record.job && record.turn && !record.warmup && record.outcome == Outcome::ok &&
            record.usage.prompt) {
            Said& said = agents[record.turn->conversation][record.turn->number];
            said = {.prompt = static_cast<double>(*record.usage.prompt),
                    .output = static_cast<double>(output_tokens_of(record))};
            if (record.usage.cached_prompt) said.cached = static_cast<double>(*record.usage.cached_prompt);
        }
    double prompts = 0;
    double continued = 0;
    double cached = 0;
    bool cached_known = true;
    for (const auto& [agent, turns] : agents)
        for (auto turn = turns.begin(); turn != turns.end(); ++turn) {
            if (turn == turns.begin() || std::prev(turn)->first + 1 != turn->first) continue;
            const Said& before = std::prev(turn)->second;
            const double had = std::min(turn->second.prompt, before.prompt + before.output);
            prompts += turn->second.prompt;
            continued += had;
            cached_known = cached_known && turn->second.cached;
            cached += std::min(had, turn->second.cached.value_or(0));
        }
    if (!(continued > 0)) return;
    results.continued_ratio = continued / prompts;
    if (cached_known) results.cached_of_continued = cached / continued;
}

/// Returns the summaries of figures that every job which ended well has.
std::vector<MetricSummary> amounts_of(const std::map<std::uint64_t, Job>& jobs,
                                      std::span<const double> percentiles) {
    std::vector<std::pair<std::string, JobValues>> amounts{
        {"job_turns", {}}, {"job_prompt_tokens", {}}, {"job_cached_tokens", {}}, {"job_output_tokens", {}}};
    bool cached_known = true;
    for (const auto& [first, job] : jobs) {
        if (times_of(job).end != JobEnd::ok) continue;
        const std::array values{static_cast<double>(job.turns), job.prompt_tokens, job.cached_tokens,
                                job.output_tokens};
        for (std::size_t i = 0; i < values.size(); ++i) amounts[i].second.values.push_back(values[i]);
        cached_known = cached_known && job.cached_known;
    }
    std::vector<MetricSummary> summaries;
    for (const auto& [key, of] : amounts)
        if (!of.values.empty() && (cached_known || key != "job_cached_tokens"))
            summaries.push_back(summary_of(key, of, percentiles, false));
    return summaries;
}

}  // namespace

std::optional<JobSummary> job_summary_of(const RequestTable& requests, TimeSpan window,
                                         const JobJudging& judging) {
    const std::map<std::uint64_t, Job> jobs = jobs_of(requests, window);
    if (jobs.empty()) return std::nullopt;
    JobSummary summary;
    JobResults& results = summary.results;
    std::vector<double> shares;
    for (const auto& [first, job] : jobs) {
        summary.jobs.push_back(times_of(job));
        shares.push_back(share_in_window(job));
        const JobEnd end = summary.jobs.back().end;
        ++(end == JobEnd::ok ? results.ok : end == JobEnd::failed ? results.failed : results.unfinished);
    }
    std::vector<double> percentiles(kPercentiles.begin(), kPercentiles.end());
    percentiles.insert(percentiles.end(), judging.percentiles.begin(), judging.percentiles.end());
    std::ranges::sort(percentiles);
    percentiles.erase(std::unique(percentiles.begin(), percentiles.end()), percentiles.end());
    for (const Metric& metric : metrics()) {
        if (!metric.of_jobs) continue;
        const JobValues of = values_of(summary.jobs, metric.tag);
        if (!of.values.empty()) summary.metrics.push_back(summary_of(key_of(metric), of, percentiles, true));
    }
    results.metrics = amounts_of(jobs, kPercentiles);
    results.tokens = tokens_of(jobs);
    set_continued(results, requests);
    const double window_s = seconds(window.length());
    if (window_s > 0)
        results.jobs_per_hour = 3600 * std::accumulate(shares.begin(), shares.end(), 0.0) / window_s;
    set_goodput(results, summary.jobs, shares, window, judging);
    set_interactivity(results, requests, window);
    return summary;
}

std::optional<Series> live_jobs_series(const RequestTable& requests, TimeSpan run) {
    const auto all = stretches_of(run);
    std::map<std::pair<std::uint64_t, bool>, TimeSpan> lives;  // warm-ups have indexes of their own
    for (const RequestRecord& record : requests) {
        if (!record.job) continue;
        const bool of_warmups = record.warmup && !record.job->inside;
        const auto [life, is_new] =
            lives.try_emplace({record.job->first, of_warmups}, TimeSpan{record.started, record.closed});
        if (is_new) continue;
        life->second.begin = std::min(life->second.begin, record.started);
        life->second.end = std::max(life->second.end, record.closed);
    }
    if (!all || lives.empty()) return std::nullopt;
    Series series{"live_jobs", "jobs", "requests", {}, std::vector<double>(all->count, 0)};
    const double run_s = seconds(run.length());
    for (const auto& [job, life] : lives) {
        const double begin = std::clamp(seconds(life.begin - run.begin), 0.0, run_s);
        const double end = std::clamp(seconds(life.end - run.begin), 0.0, run_s);
        for (auto i = static_cast<std::size_t>(begin / all->length_s); i < all->count; ++i) {
            const double from = static_cast<double>(i) * all->length_s;
            if (from >= end) break;
            series.values[i] += std::min(end, from + all->length_s) - std::max(begin, from);
        }
    }
    for (std::size_t i = 0; i < all->count; ++i) {
        series.times_s.push_back(static_cast<double>(i) * all->length_s);
        series.values[i] /= all->part_s(i, run_s);
    }
    return series;
}

bool is_good(const JobTimes& job, const std::vector<Slo>& slos) {
    return job.end == JobEnd::ok &&
           std::ranges::all_of(slos, [&](const Slo& slo) { return value_of(job, slo.tag) <= slo.limit; });
}

void count_jobs_over(std::vector<SloResult>& results, const std::vector<Slo>& slos,
                     const std::vector<JobTimes>& jobs) {
    for (std::size_t i = 0; i < slos.size(); ++i) {
        if (!metric_named(slos[i].tag)->of_jobs) continue;
        for (const JobTimes& job : jobs)
            if (job.end != JobEnd::unfinished && !is_good(job, {slos[i]})) ++results[i].over;
    }
}

}  // namespace paretoken
