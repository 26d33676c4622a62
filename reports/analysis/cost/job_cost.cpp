#include "reports/analysis/cost/job_cost.h"

#include <algorithm>
#include <vector>

#include "cards/price.h"
#include "core/statistics.h"
#include "reports/analysis/cost/cost.h"

namespace paretoken::reports {
namespace {

constexpr double kTokensOfPrice = 1e6;  // number of tokens that a price is for

std::vector<double> costs_at(const SplitPrices& prices, const std::vector<JobTokens>& jobs) {
    std::vector<double> costs;
    for (const JobTokens& of : jobs)
        costs.push_back(
            (of.fresh * prices.fresh + of.cached.value_or(0) * prices.cached + of.output * prices.output) /
            kTokensOfPrice);
    return costs;
}

/// Returns the costs of jobs together, each times `factor`. There must be at least one.
JobCost job_cost_of(std::vector<double> costs, double factor) {
    std::sort(costs.begin(), costs.end());
    return {.mean = factor * moments_of(costs).mean,
            .p50 = factor * percentile(costs, .5),
            .p95 = factor * percentile(costs, .95)};
}

}  // namespace

std::optional<JobCost> deployed_job_cost(double usd_per_h, const JobResults& jobs,
                                         const SplitPrices& prices) {
    const double per_hour = jobs.jobs_per_hour.value_or(0);
    std::vector<double> shares = costs_at(prices, jobs.tokens);
    if (!(per_hour > 0) || shares.empty() || !(moments_of(shares).mean > 0)) return std::nullopt;
    const double factor = usd_per_h / per_hour / moments_of(shares).mean;
    return job_cost_of(std::move(shares), factor);
}

std::optional<JobCost> api_job_cost(const cards::ApiPrice& api, const JobResults& jobs,
                                    double prompt_tokens) {
    if (jobs.tokens.empty()) return std::nullopt;
    const double cached =
        cards::caches_prompts_of(api, prompt_tokens) ? api.cache_read.value_or(api.input) : api.input;
    return job_cost_of(costs_at({.fresh = api.input, .cached = cached, .output = api.output}, jobs.tokens),
                       1);
}

}  // namespace paretoken::reports
