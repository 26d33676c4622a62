#pragma once
// The results of an experiment on prefix caching: times and hits of each arm (requests that repeat parts of
// earlier prompts in the same way), the time that a cached token saves, the size of blocks, and verdicts.
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
    /// The name of the arm (datasets::Arm). It tells which part of earlier prompts this prompt repeats:
    /// - "cold": it repeats nothing.
    /// - "primer": it repeats nothing; the "primed" request that comes next has the same prefix.
    /// - "primed": it repeats the prefix of its primer.
    /// - "warm": it repeats a prefix that is sent in every round.
    /// - "pinned": as warm, but always on the same slot of the server.
    /// - "dynamic-first": it has the warm prefix, but behind a text that changes.
    /// - "shared": it repeats the share `hit` of a warm prefix.
    /// - "varied": it repeats a part of a warm prefix, whose length is random.
    /// - "repeat": it repeats the whole prompt.
    std::string arm = {};
    /// Whether the request only fills the cache. It then counts for CacheLevel::hits and granularity_of(),
    /// but for no other result.
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

/// The results of the requests of one load level with the same arm, prefix and hit. Requests that only fill
/// the cache (CacheSample::setup) are left out.
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
    /// The milliseconds of time to first token that 1,000 cached tokens save, by `fit`. T(m) is the time of a
    /// prompt of which m tokens are not cached, and n is the largest such number that was measured. The value
    /// is T(n) − T(n − 1,000). If n is below 1,000, it is (T(n) − T(0)) · 1,000 ÷ n. The linear and the
    /// quadratic term of the fit both count. Absent without a fit, or if the 95 % interval is not above 0, or
    /// if the warm prompts with the longest prefix are not measurably faster than the cold ones.
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

/// A verdict on the cache's effect, or a problem that was found.
struct CacheVerdict {
    /// The codes for the effect are "works"; "off": nothing is reused; "thrashing": a prefix is found right
    /// after it was sent, but not a round later; "partly": only some requests find their prefix; "per_slot":
    /// the same on llama.cpp, where each slot has its own cache; "unknown". The codes for problems are
    /// "dynamic_head": a changing text at the start of a prompt prevents reuse; "contaminated": prompts that
    /// should be new were in the cache; "response_cache": a proxy answers equal prompts itself; "disagree":
    /// `usage` and the server's counters differ.
    std::string code = {};
    std::string text = {};  ///< meaning of the verdict, and what to do
    std::string evidence = {};

    bool operator==(const CacheVerdict&) const = default;
};

struct CacheReport {
    std::string target = {};
    std::string model = {};
    /// The name of the engine by its metrics or, if no metrics were read, the detected kind of server. May be
    /// empty.
    std::string engine = {};
    std::vector<CacheLevel> levels = {};
    std::optional<std::int64_t> granularity_tokens = {};  ///< granularity_of(): size of a block of the cache
    /// least_cached_prefix_of(): the shortest repeated beginning of a prompt of which any token was reused.
    std::optional<std::int64_t> least_cached_prefix = {};
    std::optional<WorkingSet> working_set = {};
    std::optional<IdleTime> idle_time = {};
    std::optional<CacheBurst> burst = {};
    std::string price = {};  ///< price used: "$3.50/h (on_demand, 2026-11-01)"; empty if there is none
    std::vector<CacheVerdict> verdicts = {};

    bool operator==(const CacheReport&) const = default;
};

/// The number of tokens that a chat template puts in front of every prompt, estimated as the smallest number
/// of cached tokens of any cold request. 0 if that is more than `template_tokens`, the number of tokens that
/// the template adds to a prompt, or if cached tokens are not reported.
std::int64_t head_of(std::span<const CacheSample> samples, double template_tokens);

/// The size of a block of the cache in tokens, estimated as the greatest common divisor of the counts of
/// cached tokens. Counts of 0 and the arm "repeat" are left out. Nothing for fewer than three different
/// counts.
std::optional<std::int64_t> granularity_of(std::span<const CacheSample> samples);

/// The shortest repeated beginning (CacheSample::repeated) in the arm "varied" of which at least one token
/// was reused, besides those of CacheSample::head. Requests that only fill the cache are left out. Nothing
/// if there is none.
std::optional<std::int64_t> least_cached_prefix_of(std::span<const CacheSample> samples);

/// The results of a level. The arms "primer" and "varied" only count for its hits and its fit; the arm
/// "repeat" does not count for the fit. `granularity` (granularity_of()) counts as 1 if it is absent.
/// `server` is the hit ratio by the server's counters. The caller sets `directory`, `invalid` and
/// `output_tokens_per_s` of the result.
CacheLevel level_of(std::span<const CacheSample> samples, std::uint64_t concurrency,
                    std::optional<std::int64_t> granularity, std::optional<double> server);

/// The number of prefixes to measure next. `found` holds the share of tokens that was found for each number
/// measured so far. The search begins at `from` and doubles until less than half is found (see
/// WorkingSet::lost) or `most` is reached; then it bisects. Nothing when the search is over: the limit is
/// known to one prefix, the cache holds `most` prefixes, or it does not even hold `from`. The function is
/// pure.
std::optional<std::uint64_t> next_working_set(const std::map<std::uint64_t, double>& found,
                                              std::uint64_t from, std::uint64_t most);
WorkingSet working_set_of(const std::map<std::uint64_t, double>& found, std::int64_t prefix_tokens,
                          std::int64_t request_tokens);

/// The idle time in seconds to measure next: 1 s, 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, then twice the one
/// before, but at most `most_s`. Nothing once less than half of a prefix was found, or `most_s` was measured.
/// The function is pure.
std::optional<double> next_idle_time(const std::map<double, double>& found, double most_s);
IdleTime idle_time_of(const std::map<double, double>& found);

/// Adds to each arm with an output rate the cost of a million output tokens. `usd_per_h` is the cost of the
/// whole deployment.
void add_prices(CacheReport& report, double usd_per_h);

/// The verdicts from one level and its samples: one verdict on the cache's effect, and one more for each
/// problem. `engine` ("vllm", "sglang", "trtllm", "llamacpp" or another name) selects the flags that a
/// verdict names. Only "llamacpp" can get the verdict "per_slot".
std::vector<CacheVerdict> verdicts_of(const CacheLevel& level, std::span<const CacheSample> samples,
                                      const std::string& engine);

}  // namespace paretoken::reports
