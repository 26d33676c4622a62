#pragma once
// The experiment of `paretoken cache`: prompts of equal length repeat the beginnings of earlier ones in
// several ways (arms, datasets/synthetic/prefix_arms.h), at one level (a run) after the other.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include "cards/price.h"
#include "core/plan/plan.h"
#include "datasets/synthetic/prefix_arms.h"
#include "experiments/server/target.h"
#include "reports/analysis/cache/analysis.h"

namespace paretoken::experiments {

struct Session;

struct CachePlan {
    LoadPlan asked;  ///< plan with a target; the experiment sets load and dataset
    std::vector<std::int64_t> prefixes = {256, 512, 1024, 2048, 4096, 8192};
    bool cut_prefixes = true;  ///< whether prefixes that exceed the context are left out instead of refused
    std::vector<double> hits = {0.5, 0.9};  ///< shares of the prefix that repeat, for the arm "shared"
    std::int64_t suffix = 64;               ///< tokens after the prefix
    std::int64_t output_tokens = 16;
    std::vector<std::uint64_t> concurrency = {1, 8};
    /// The number of slots of a server whose slots keep KV caches of their own (llama.cpp), for the arm
    /// "pinned"; set by measure_cache(). 0: there are none.
    std::uint64_t slots = 0;
    std::uint64_t samples = 30;  ///< number of times that a level measures every arm at every prefix length
    /// The search for the working set: the least and the most prefixes used in turn. From 0: no search.
    std::uint64_t working_set_from = 0;
    std::uint64_t working_set_most = 0;
    std::optional<double> burst_rate = {};  ///< requests/s before and after the burst; absent means no burst
    std::uint64_t burst_prefixes = 8;
    std::optional<double> idle_most_s = {};  ///< longest idle time to try; absent means that none is tried
    /// Price cards; one that has the hardware prices a million output tokens. Empty: no price.
    std::vector<cards::PriceCard> prices = {};
};

/// Returns the prefix lengths that leave room in `context` (absent: not known) for suffix, answer and a
/// template of 64 tokens. Throws UsageError if none fits, or if one does not and `cut_prefixes` is false.
std::vector<std::int64_t> fitting_prefixes(const CachePlan& plan, std::optional<std::int64_t> context);

/// Throws UsageError if the plan has too few samples to show any difference between arms.
void require_enough_samples(const CachePlan& plan, const std::vector<std::int64_t>& prefixes);

/// Returns the plan of the run at `level` requests in flight.
LoadPlan plan_of_level(const CachePlan& plan, const std::vector<std::int64_t>& prefixes, std::uint64_t level);

/// Returns the plan that sends a prefix of `prefix` tokens, waits `idle_s` seconds, and sends it again.
LoadPlan plan_of_cycle(const CachePlan& plan, std::int64_t prefix, std::uint64_t prefixes);

/// Returns the plan of a run that sends one prefix of `prefix` tokens twice, `idle_s` seconds apart.
LoadPlan plan_of_idle_time(const CachePlan& plan, std::int64_t prefix, double idle_s);

/// Returns the plan of 90 s that send `burst_prefixes` prefixes in turn at `burst_rate` (which must be set),
/// and at four times this rate from 30 s to 60 s.
LoadPlan plan_of_burst(const CachePlan& plan, std::int64_t prefix);

/// Returns the requests of the run in `directory` without warm-up, by number, with their arms, times and
/// repeated tokens. `arms` must be made from the dataset and seed of that run.
std::vector<reports::CacheSample> samples_in(const std::filesystem::path& directory,
                                             const datasets::PrefixArms& arms);

/// Runs all levels, then the searches that the plan asks for. CacheLevel::invalid says why a level is not
/// valid. Throws UsageError when no prefix fits or the samples are too few; Error with
/// ExitCode::measurement_invalid when prompts of one length differ by more than 1 % and 2 tokens;
/// RuntimeError; and as measure() does.
reports::CacheReport measure_cache(const CachePlan& asked, const Target& target,
                                   const std::filesystem::path& directory, const Session& session);

}  // namespace paretoken::experiments
