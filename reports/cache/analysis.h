#pragma once
// What an experiment on prefix caching shows: times and hits of each arm, the time that a cached token saves,
// how the cache cuts prompts into blocks, and verdicts in words. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "reports/cache/fit.h"

namespace paretoken::reports {

/// One request of the experiment, in the order in which they were sent.
struct CacheSample {
    /// "cold", "primer", "primed", "warm", "pinned", "dynamic-first", "shared", "varied", "repeat"
    std::string arm = {};
    bool setup = false;         ///< fills the cache, and is in no figure but the hits of the whole level
    std::int64_t prefix = 0;    ///< tokens that it is counted under
    double hit = 0;             ///< of `shared`: the share of the prefix that repeats
    std::int64_t repeated = 0;  ///< tokens at its start that an earlier request began with, the head left out
    std::int64_t head = 0;      ///< tokens in front of it with which every prompt begins: a chat template's
    std::int64_t wanted_tokens = 0;
    std::optional<std::int64_t> prompt_tokens = {};  ///< as usage tells
    std::optional<std::int64_t> cached_tokens = {};  ///< as usage tells
    std::optional<double> ttft_s = {};               ///< nothing: the request failed
    std::optional<double> tpot_s = {};
    std::optional<double> e2e_s = {};
    std::int64_t output_tokens = 0;
};

/// Share of prompt tokens that came from the cache, by three accounts.
struct CacheHits {
    std::optional<double> expected = {};  ///< what was sent before, in whole blocks
    std::optional<double> usage = {};     ///< what answers said
    std::optional<double> server = {};    ///< the server's counters

    bool operator==(const CacheHits&) const = default;
};

struct CacheArm {
    std::string arm = {};
    std::int64_t prefix = 0;
    double hit = 0;
    std::uint64_t n = 0;
    std::uint64_t failed = 0;
    std::optional<double> prompt_tokens = {};  ///< mean
    std::optional<double> ttft_p50_s = {};
    std::optional<Interval> ttft_p50_ci95 = {};
    std::optional<double> ttft_p95_s = {};
    CacheHits hits = {};
    std::optional<double> p_value = {};  ///< of the difference to the cold arm of the same length (rank sum)
    bool differs = false;                ///< beyond chance at 5 % over all arms of the level together
    /// Output tokens that so many requests in flight would get, were all of this arm.
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> usd_per_m_output = {};  ///< at that rate, where a price is known

    bool operator==(const CacheArm&) const = default;
};

/// What one load level showed.
struct CacheLevel {
    std::uint64_t concurrency = 1;
    std::string directory = {};  ///< of the run
    std::string invalid = {};    ///< why the run proves nothing; empty: it is valid
    std::vector<CacheArm> arms = {};
    std::optional<TtftFit> fit = {};
    std::optional<double> saved_ms_per_1k_cached = {};
    std::optional<double> output_tokens_per_s = {};
    CacheHits hits = {};  ///< of all requests, those that fill the cache included

    bool operator==(const CacheLevel&) const = default;
};

/// How many prefixes, used in turn, the cache holds.
struct WorkingSet {
    std::int64_t prefix_tokens = 0;
    std::int64_t request_tokens = 0;         ///< prefix, suffix and answer
    std::uint64_t held = 0;                  ///< the most prefixes of which at least half was found; 0: none
    std::optional<std::uint64_t> lost = {};  ///< the fewest of which less was found; nothing: none tried
    std::map<std::uint64_t, double> found = {};  ///< prefixes in turn → share of their tokens that was found

    bool operator==(const WorkingSet&) const = default;
};

/// How long the cache keeps a prefix that nobody uses.
struct IdleTime {
    std::optional<double> held_s = {};    ///< the longest gap after which at least half was found
    std::optional<double> lost_s = {};    ///< the shortest one after which less was found
    std::map<double, double> found = {};  ///< seconds → share of the prefix that was found

    bool operator==(const IdleTime&) const = default;
};

/// Hits while requests come four times as often for half a minute.
struct CacheBurst {
    double rate = 0;                    ///< requests per second before and after
    std::uint64_t prefixes = 0;         ///< that are used in turn
    std::optional<double> before = {};  ///< share of the prefixes' tokens that was found
    std::optional<double> during = {};
    std::optional<double> after = {};

    bool operator==(const CacheBurst&) const = default;
};

struct CacheVerdict {
    std::string code = {};  ///< "works", "off", "partly", "per_slot", "thrashing", "dynamic_head",
                            ///< "contaminated", "response_cache", "disagree", "unknown"
    std::string text = {};  ///< what it means and what to do
    std::string evidence = {};

    bool operator==(const CacheVerdict&) const = default;
};

struct CacheReport {
    std::string target = {};
    std::string model = {};
    std::string engine = {};  ///< as its metrics tell; may be empty
    std::vector<CacheLevel> levels = {};
    /// Tokens of a block: cached counts are multiples of it.
    std::optional<std::int64_t> granularity_tokens = {};
    /// The shortest beginning of which something was reused.
    std::optional<std::int64_t> least_cached_prefix = {};
    std::optional<WorkingSet> working_set = {};
    std::optional<IdleTime> idle_time = {};
    std::optional<CacheBurst> burst = {};
    std::string price = {};  ///< what dollars follow from: "$3.50/h (on_demand, 2026-11-01)"; empty: none
    std::vector<CacheVerdict> verdicts = {};

    bool operator==(const CacheReport&) const = default;
};

/// The tokens that a chat template puts in front of every prompt, as far as the cache shows them: what even
/// the cold prompts reuse. 0 where that is more than the template's `template_tokens`, or nobody tells.
std::int64_t head_of(std::span<const CacheSample> samples, double template_tokens);

/// What cached counts have in common; nothing for fewer than three different ones.
std::optional<std::int64_t> granularity_of(std::span<const CacheSample> samples);
std::optional<std::int64_t> least_cached_prefix_of(std::span<const CacheSample> samples);

/// `granularity`: 1 when it is not known. `server`: the hit ratio that the server's counters tell.
CacheLevel level_of(std::span<const CacheSample> samples, std::uint64_t concurrency,
                    std::optional<std::int64_t> granularity, std::optional<double> server);

/// The number of prefixes to try next: doubled from `from` until one is lost or `most` is held, then between
/// the two. Nothing when it is known to one prefix. Pure.
std::optional<std::uint64_t> next_working_set(const std::map<std::uint64_t, double>& found,
                                              std::uint64_t from, std::uint64_t most);
WorkingSet working_set_of(const std::map<std::uint64_t, double>& found, std::int64_t prefix_tokens,
                          std::int64_t request_tokens);

/// The idle time to try next: 1 s, 5 s, 30 s, 2 min, 10 min, 30 min, 1 h and on by doubling, `most_s` last,
/// until a prefix is lost. Nothing when that is known. Pure.
std::optional<double> next_idle_time(const std::map<double, double>& found, double most_s);
IdleTime idle_time_of(const std::map<double, double>& found);

/// Adds what a million output tokens would cost in each arm.
void add_prices(CacheReport& report, double usd_per_h);

/// One for what caching does, more for what is wrong, from one level and its samples. `engine` chooses the
/// flags that are named.
std::vector<CacheVerdict> verdicts_of(const CacheLevel& level, std::span<const CacheSample> samples,
                                      const std::string& engine);

}  // namespace paretoken::reports
