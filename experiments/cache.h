#pragma once
// The experiment of `paretoken cache`: prompts of equal length that repeat beginnings in several ways, made
// at one load level after the other. Each level is a run of its own directory; cache.json is written after
// each.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include "cards/price.h"
#include "core/plan/plan.h"
#include "datasets/generated/prefix_arms.h"
#include "experiments/target/provenance.h"
#include "experiments/target/target.h"
#include "experiments/watcher.h"
#include "reports/cache/analysis.h"

namespace paretoken::experiments {

struct CachePlan {
    LoadPlan asked;  ///< with a target; its load and dataset are the experiment's
    std::vector<std::int64_t> prefixes = {256, 512, 1024, 2048, 4096, 8192};
    bool cut_prefixes =
        true;  ///< leave out prefixes that the context does not hold, instead of refusing them
    std::vector<double> hits = {0.5, 0.9};
    std::int64_t suffix = 64;
    std::int64_t output_tokens = 16;
    std::vector<std::uint64_t> concurrency = {1, 8};
    /// Slots of a server whose cache belongs to them: prefixes are then also sent to a slot each. 0: none.
    std::uint64_t slots = 0;
    std::uint64_t samples = 30;
    std::uint64_t working_set_from = 0;  ///< prefixes in turn; 0: the working set is not searched
    std::uint64_t working_set_most = 0;
    std::optional<double> burst_rate = {};  ///< requests per second before and after a burst; nothing: none
    std::uint64_t burst_prefixes = 8;
    std::optional<double> idle_most_s = {};  ///< the longest idle time to try; nothing: none is
    /// Price cards that a million output tokens are priced by, where one knows the hardware; empty: no price.
    std::vector<cards::PriceCard> prices = {};
};

/// The prefixes that leave room for suffix and answer in `context` tokens. Throws UsageError when none does,
/// or one does not and none may be left out.
std::vector<std::int64_t> fitting_prefixes(const CachePlan& plan, std::optional<std::int64_t> context);

/// The plan of the run at `level` requests in flight.
LoadPlan plan_of_level(const CachePlan& plan, const std::vector<std::int64_t>& prefixes, std::uint64_t level);

/// The plan of a run that goes through `prefixes` prefixes three times, one request at a time.
LoadPlan plan_of_cycle(const CachePlan& plan, std::int64_t prefix, std::uint64_t prefixes);

/// The plan of a run that sends one prefix, waits, and sends it again.
LoadPlan plan_of_idle_time(const CachePlan& plan, std::int64_t prefix, double idle_s);

/// The plan of a run in which the rate is four times as high from 30 s to 60 s, and which ends at 90 s.
LoadPlan plan_of_burst(const CachePlan& plan, std::int64_t prefix);

/// The requests of the run in `directory`, with what of each was sent before.
std::vector<reports::CacheSample> samples_in(const std::filesystem::path& directory,
                                             const datasets::PrefixArms& arms);

/// On servers whose cache belongs to slots, each prefix is also sent to a slot of its own (the arm pinned).
/// A level whose run is invalid says so in its value. Throws UsageError; RuntimeError when the server cannot
/// be reached, nothing can be written, or `stop` is requested; Error with ExitCode::measurement_invalid where
/// prompts of one length differ by more than 1 %.
reports::CacheReport measure_cache(const CachePlan& asked, const Target& target,
                                   const std::filesystem::path& directory, const Invocation& invocation,
                                   Watcher& watcher, const std::stop_token& stop);

}  // namespace paretoken::experiments
