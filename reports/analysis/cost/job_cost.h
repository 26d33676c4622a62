#pragma once
// Computes what a job of agents costs, at the price of a deployment or at that of a hosted API. The functions
// are pure. Prices of tokens are in dollars per million tokens.
#include <optional>

#include "core/result/result.h"

namespace paretoken::cards {
struct ApiPrice;
}

namespace paretoken::reports {

struct SplitPrices;

/// Dollars per job.
struct JobCost {
    double mean = 0;
    double p50 = 0;
    double p95 = 0;

    bool operator==(const JobCost&) const = default;
};

/// The cost by the share of the deployment's time: its cost per hour ÷ jobs per hour on average, and for a
/// job the part of its tokens at the ratios of `prices`. Nothing if no job ended well in the window.
std::optional<JobCost> deployed_job_cost(double usd_per_h, const JobResults& jobs, const SplitPrices& prices);

/// The cost of the same jobs at an API's prices, without what it may charge for writing to its cache.
/// `prompt_tokens`: mean length of a prompt, which decides whether it is cached. Nothing without good jobs.
std::optional<JobCost> api_job_cost(const cards::ApiPrice& api, const JobResults& jobs, double prompt_tokens);

}  // namespace paretoken::reports
