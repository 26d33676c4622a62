#pragma once
// Computes the results of the jobs of agents in a run. Jobs are the independent unit of these statistics.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/result/slo.h"
#include "core/units.h"

namespace paretoken {

enum class JobEnd { ok, failed, unfinished };

/// The times of a job. Those of a job that the end of the run has cut are the times so far.
struct JobTimes {
    JobEnd end = JobEnd::ok;
    double time_s = 0;
    double busy_s = 0;
    std::string request_class = {};

    bool operator==(const JobTimes&) const = default;
};

struct JobJudging {
    std::vector<Slo> slos = {};                               ///< limits on each job
    std::map<std::string, std::vector<Slo>> class_slos = {};  ///< limits of classes that have their own
    std::vector<double> percentiles = {};                     ///< besides kPercentiles
};

struct JobSummary {
    JobResults results;
    std::vector<MetricSummary> metrics;  ///< of metrics with Metric::of_jobs, in the order of metrics()
    std::vector<JobTimes> jobs;          ///< in the order of their first requests
};

/// Returns the results of a run's jobs, without those that begin in their middle; nothing if it has none. A
/// cut job is in no percentile, but may keep a percentile from deciding a limit.
std::optional<JobSummary> job_summary_of(const RequestTable& requests, TimeSpan window,
                                         const JobJudging& judging = {});

/// Returns the mean number of live jobs in each second of `run`; nothing without jobs. A job lives from the
/// start of its first request to the end of its last one, pauses included.
std::optional<Series> live_jobs_series(const RequestTable& requests, TimeSpan run);

/// Returns whether a job ended well and met all limits.
bool is_good(const JobTimes& job, const std::vector<Slo>& slos);

/// Adds the jobs that miss a limit to SloResult::over of limits on jobs, as count_over() does for requests.
void count_jobs_over(std::vector<SloResult>& results, const std::vector<Slo>& slos,
                     const std::vector<JobTimes>& jobs);

}  // namespace paretoken
