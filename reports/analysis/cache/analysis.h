#pragma once
// The results of an experiment on prefix caching, for each arm (requests with the same kind of repetition).
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "reports/analysis/cache/fit.h"

namespace paretoken::reports {

/// One request of the experiment. Samples are in the order in which the requests were sent.
struct CacheSample {
    /// The name of the arm (datasets::Arm), by the part of earlier prompts that the prompt repeats: "cold"
    /// and "primer" nothing, "primed" the prefix of its primer, "warm" a prefix of every round ("pinned": on
    /// the same slot; "dynamic-first": behind a text that changes), "shared" the share `hit` of one, "varied"
    /// a random part of one, "repeat" the whole prompt.
    std::string arm = {};
    /// Whether it only fills the cache, and counts for CacheLevel::hits and granularity_of() only.
    bool setup = false;
    std::int64_t prefix = 0;         ///< length of the prefix in tokens, by which results are grouped
    double hit = 0;                  ///< for `shared`: share of the prefix that repeats
    std::int64_t repeated = 0;       ///< tokens after the head that repeat the start of an earlier request
    std::int64_t head = 0;           ///< tokens at the start of every prompt, such as a chat template's
    std::int64_t wanted_tokens = 0;  ///< length of the prompt that was intended
    std::optional<std::int64_t> prompt_tokens = {};  ///< as reported in `usage`
    std::optional<std::int64_t> cached_tokens = {};  ///< as reported in `usage`
    std::optional<double> ttft_s = {};               ///< absent if the request failed
    std::optional<double> tpot_s = {};
    std::optional<double> e2e_s = {};
    std::int64_t output_tokens = 0;
};

/// The share of prompt tokens that came from the cache, by three sources.
struct CacheHits {
    std::optional<double> expected = {};  ///< possible share: tokens that were sent before, in whole blocks
    std::optional<double> usage = {};     ///< reported in the `usage` of the answers
    std::optional<double> server = {};    ///< computed from the server's counters

    bool operator==(const CacheHits&) const = default;
};

/// The results of the requests of one level with equal arm, prefix and hit, except CacheSample::setup.
struct CacheArm {
    std::string arm = {};
    std::int64_t prefix = 0;
    double hit = 0;
    std::uint64_t n = 0;  ///< number of requests, including failed ones
    std::uint64_t failed = 0;
    /// Mean number of prompt tokens of a request that did not fail.
    std::optional<double> prompt_tokens = {};
    std::optional<double> ttft_p50_s = {};
    std::optional<Interval> ttft_p50_ci95 = {};
    std::optional<double> ttft_p95_s = {};
    CacheHits hits = {};
    std::optional<double> p_value = {};  ///< of its times to first token against the cold arm with this
                                         ///< prefix length (rank sum)
    bool differs = false;                ///< whether p_value < 0.05 ÷ number of p-values of the level
                                         ///< (Bonferroni's correction)
    /// The output rate if all requests were of this arm, by Little's law: the level's number of requests in
    /// flight × output tokens of the arm ÷ sum of its end-to-end times.
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> usd_per_m_output = {};  ///< cost at that rate, if a price is known

    bool operator==(const CacheArm&) const = default;
};

struct CacheLevel {
    std::uint64_t concurrency = 1;
    std::string directory = {};  ///< directory of the run
    std::string invalid = {};    ///< reason why the run is not valid; empty if it is
    std::vector<CacheArm> arms = {};
    std::optional<TtftFit> fit = {};
    /// The milliseconds of TTFT that 1,000 cached tokens save by `fit`: T(n) − T(n − 1,000), or (T(n) − T(0))
    /// · 1,000 ÷ n, for the largest measured n of tokens that are not cached. Absent without a fit, if the 95
    /// % interval is not above 0, or if the longest warm prompts are not measurably faster than cold ones.
    std::optional<double> saved_ms_per_1k_cached = {};
    std::optional<Interval> saved_ms_per_1k_cached_ci95 = {};
    /// The n of saved_ms_per_1k_cached: the largest number of tokens of a prompt that were not cached.
    std::optional<double> saved_prompt_tokens = {};
    std::optional<double> output_tokens_per_s = {};
    CacheHits hits = {};  ///< hits of all requests, including those that fill the cache

    bool operator==(const CacheLevel&) const = default;
};

struct WorkingSet {
    std::int64_t prefix_tokens = 0;
    std::int64_t request_tokens = 0;         ///< tokens of prefix, suffix and answer
    std::uint64_t held = 0;                  ///< largest measured number below `lost`; 0 means none
    std::optional<std::uint64_t> lost = {};  ///< smallest number of prefixes of which less than half of the
                                             ///< tokens were found; absent if there is none
    std::map<std::uint64_t, double> found = {};  ///< number of prefixes → share of tokens found

    bool operator==(const WorkingSet&) const = default;
};

struct IdleTime {
    /// Longest measured idle time below `lost_s`; absent if there is none.
    std::optional<double> held_s = {};
    std::optional<double> lost_s = {};    ///< shortest idle time after which less than half of the prefix was
                                          ///< found; absent if there is none
    std::map<double, double> found = {};  ///< seconds → share of the prefix that was found

    bool operator==(const IdleTime&) const = default;
};

/// Hits before, during and after a burst: half a minute with four times the request rate.
struct CacheBurst {
    double rate = 0;                    ///< requests per second before and after
    std::uint64_t prefixes = 0;         ///< number of prefixes that are used in turn
    std::optional<double> before = {};  ///< share of the prefixes' tokens that was found
    std::optional<double> during = {};
    std::optional<double> after = {};

    bool operator==(const CacheBurst&) const = default;
};

struct CacheVerdict {
    /// Code of the effect: "works"; "no_effect": no time is saved; "off": nothing is reused; "thrashing": a
    /// prefix is found at once but not a round later; "partly": only some requests find it; "per_slot": the
    /// same on llama.cpp; "unknown". Of problems: "minimum_length": short prompts find nothing;
    /// "dynamic_head"; "contaminated": new prompts were in the cache; "response_cache": a proxy answers equal
    /// prompts; "disagree": `usage` and the server's counters differ.
    std::string code = {};
    std::string text = {};  ///< meaning of the verdict, and what to do
    std::string evidence = {};

    bool operator==(const CacheVerdict&) const = default;
};

struct CacheReport {
    std::string target = {};
    std::string model = {};
    /// The engine by its metrics, or else the detected kind of server; may be empty.
    std::string engine = {};
    std::vector<CacheLevel> levels = {};
    std::optional<std::int64_t> granularity_tokens = {};  ///< granularity_of(): size of a block of the cache
    std::optional<std::int64_t> least_cached_prefix = {};
    std::optional<WorkingSet> working_set = {};
    std::optional<IdleTime> idle_time = {};
    std::optional<CacheBurst> burst = {};
    std::string price = {};  ///< price used: "$3.50/h (on_demand, 2026-11-01)"; empty if there is none
    std::vector<CacheVerdict> verdicts = {};

    bool operator==(const CacheReport&) const = default;
};

/// The tokens that a chat template puts in front of every prompt: the smallest number of cached tokens of a
/// cold request; 0 if that is above `template_tokens`, which it adds in all, or not reported.
std::int64_t head_of(std::span<const CacheSample> samples, double template_tokens);

/// The size of a block in tokens: the greatest common divisor of the counts of cached tokens above 0 without
/// the arm "repeat"; nothing for fewer than three different ones.
std::optional<std::int64_t> granularity_of(std::span<const CacheSample> samples);

/// The shortest repeated beginning in the arm "varied" of which a token was reused, besides
/// CacheSample::head, without requests that only fill the cache; nothing if there is none.
std::optional<std::int64_t> least_cached_prefix_of(std::span<const CacheSample> samples);

/// The results of a level. "primer" and "varied" only count for its hits and fit, "repeat" not for the fit.
/// The caller sets `directory`, `invalid` and `output_tokens_per_s`.
CacheLevel level_of(std::span<const CacheSample> samples, std::uint64_t concurrency,
                    std::optional<std::int64_t> granularity, std::optional<double> server);

/// The fewest samples of each arm that can show a difference if a level has so many comparisons with cold
/// arms (CacheArm::differs).
std::uint64_t fewest_samples_to_differ(std::size_t comparisons);

/// That number if the level has too few samples to show any difference between its longest warm and cold
/// prompts.
std::optional<std::uint64_t> samples_to_differ(const CacheLevel& level);

/// The number of prefixes to measure next, from `from` up to `most`; nothing when the limit is known.
std::optional<std::uint64_t> next_working_set(const std::map<std::uint64_t, double>& found,
                                              std::uint64_t from, std::uint64_t most);
WorkingSet working_set_of(const std::map<std::uint64_t, double>& found, std::int64_t prefix_tokens,
                          std::int64_t request_tokens);

/// The idle seconds to measure next, up to `most_s`; nothing when the limit or `most_s` was measured.
std::optional<double> next_idle_time(const std::map<double, double>& found, double most_s);
IdleTime idle_time_of(const std::map<double, double>& found);

/// Adds each arm's cost of a million output tokens at `usd_per_h` of the whole deployment.
void add_prices(CacheReport& report, double usd_per_h);

/// One verdict on the cache's effect and one for each problem, with the flags that `engine` has for it.
std::vector<CacheVerdict> verdicts_of(const CacheLevel& level, std::span<const CacheSample> samples,
                                      const std::string& engine);

}  // namespace paretoken::reports
