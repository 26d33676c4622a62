#include "reports/analysis/cache/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/statistics.h"
#include "core/text/number_text.h"
#include "reports/analysis/cost/cost.h"

namespace paretoken::reports {
namespace {

constexpr double kSignificance = 0.05;  // significance over all arms of a level together

// Shares of the hits that were possible.
constexpr double kNearlyAll = 0.8;
constexpr double kNearlyNone = 0.05;
constexpr double kHalf = 0.5;

using CellKey = std::tuple<std::int64_t, std::string, double>;  // prefix, arm, hit

/// Sums of prompt tokens, and of those that came from the cache.
struct Tokens {
    double prompt = 0;
    double expected = 0;
    double told_prompt = 0;
    double cached = 0;
    double head = 0;  ///< cached tokens at the start of every prompt
    bool told = false;

    void add(const CacheSample& sample, std::int64_t granularity) {
        const auto length = static_cast<double>(sample.prompt_tokens.value_or(sample.wanted_tokens));
        prompt += length;
        const std::int64_t known = sample.repeated + sample.head;
        expected += static_cast<double>(known / granularity * granularity);
        if (!sample.cached_tokens) return;
        head += static_cast<double>(sample.head);
        told = true;
        told_prompt += length;
        cached += static_cast<double>(*sample.cached_tokens);
    }

    CacheHits hits() const {
        CacheHits result;
        if (prompt > 0) result.expected = std::min(1.0, expected / prompt);
        if (told && told_prompt > 0) result.usage = cached / told_prompt;
        return result;
    }
    /// The share of possible hits that were made; nothing if cached tokens were not reported or no hits were
    /// possible.
    std::optional<double> share() const {
        if (!told || expected <= head) return std::nullopt;
        return (cached - head) / (expected - head);
    }
    /// The cached share of the prompt tokens after the head.
    double cached_behind_head() const { return (cached - head) / std::max(1.0, told_prompt - head); }
};

bool counts(const CacheSample& sample) {
    return !sample.setup && sample.ttft_s.has_value();
}

std::vector<double> times_of(std::span<const CacheSample> samples, const CellKey& key) {
    std::vector<double> times;
    for (const CacheSample& sample : samples)
        if (counts(sample) && CellKey(sample.prefix, sample.arm, sample.hit) == key)
            times.push_back(*sample.ttft_s);
    std::ranges::sort(times);
    return times;
}

/// The output rate by Little's law, with the mean time of this arm's requests.
std::optional<double> rate_of(std::span<const CacheSample> samples, const CellKey& key,
                              std::uint64_t concurrency) {
    double seconds = 0;
    double tokens = 0;
    for (const CacheSample& sample : samples) {
        if (sample.setup || !sample.e2e_s || CellKey(sample.prefix, sample.arm, sample.hit) != key) continue;
        seconds += *sample.e2e_s;
        tokens += static_cast<double>(sample.output_tokens);
    }
    if (!(seconds > 0) || !(tokens > 0)) return std::nullopt;
    return static_cast<double>(concurrency) * tokens / seconds;
}

CacheArm arm_of(std::span<const CacheSample> samples, const CellKey& key, std::int64_t granularity,
                std::uint64_t concurrency) {
    CacheArm arm{.arm = std::get<1>(key), .prefix = std::get<0>(key), .hit = std::get<2>(key)};
    Tokens tokens;
    for (const CacheSample& sample : samples) {
        if (sample.setup || CellKey(sample.prefix, sample.arm, sample.hit) != key) continue;
        ++arm.n;
        if (!sample.ttft_s) {
            ++arm.failed;
            continue;
        }
        tokens.add(sample, granularity);
    }
    arm.hits = tokens.hits();
    arm.output_tokens_per_s = rate_of(samples, key, concurrency);
    if (arm.n > arm.failed) arm.prompt_tokens = tokens.prompt / static_cast<double>(arm.n - arm.failed);
    const auto times = times_of(samples, key);
    if (times.empty()) return arm;
    arm.ttft_p50_s = percentile(times, 0.5);
    arm.ttft_p50_ci95 = percentile_interval(times, 0.5);
    arm.ttft_p95_s = percentile(times, 0.95);
    return arm;
}

double significance_of(std::size_t comparisons) {
    return kSignificance / static_cast<double>(comparisons);
}

/// Whether so many values of an arm and of its cold arm show a difference if no value of one is among those
/// of the other.
bool can_differ(std::size_t own, std::size_t cold, std::size_t comparisons) {
    std::vector<double> values(own + cold);
    std::iota(values.begin(), values.end(), 0.0);
    const std::span<const double> all = values;
    return rank_sum_p_value(all.first(own), all.subspan(own)) < significance_of(comparisons);
}

/// Compares each arm with the cold arm of its length; the significance is divided among all comparisons.
void compare_with_cold(std::span<const CacheSample> samples, std::vector<CacheArm>& arms) {
    std::size_t comparisons = 0;
    for (CacheArm& arm : arms) {
        if (arm.arm == "cold") continue;
        const auto own = times_of(samples, {arm.prefix, arm.arm, arm.hit});
        const auto cold = times_of(samples, {arm.prefix, "cold", 0});
        if (own.empty() || cold.empty()) continue;
        arm.p_value = rank_sum_p_value(own, cold);
        ++comparisons;
    }
    for (CacheArm& arm : arms) arm.differs = arm.p_value && *arm.p_value < significance_of(comparisons);
}

/// The times over the tokens that were not cached. If cached tokens are not reported, only prompts that
/// cannot be cached are used.
std::vector<FitPoint> points_of(std::span<const CacheSample> samples) {
    std::vector<FitPoint> points;
    for (const CacheSample& sample : samples) {
        if (!counts(sample) || sample.arm == "repeat") continue;
        if (!sample.cached_tokens && sample.repeated > 0) continue;
        const std::int64_t prompt = sample.prompt_tokens.value_or(sample.wanted_tokens);
        points.push_back({static_cast<double>(prompt - sample.cached_tokens.value_or(0)), *sample.ttft_s});
    }
    return points;
}

void set_saving(CacheLevel& level, std::span<const FitPoint> points) {
    constexpr double kTokens = 1000;
    constexpr double kScale = 1e3 * kTokens;  // from seconds per token to milliseconds per 1,000
    const auto last = last_tokens_of(points, kTokens);
    if (!last || !(last->per_token_s.ci95.low > 0)) return;
    const FitTerm& saved = last->per_token_s;
    level.saved_ms_per_1k_cached = kScale * saved.value;
    level.saved_ms_per_1k_cached_ci95 = Interval{kScale * saved.ci95.low, kScale * saved.ci95.high};
    level.saved_prompt_tokens = last->longest_tokens;
}

// ---- verdicts

Tokens tokens_of_arm(std::span<const CacheSample> samples, const std::string& arm) {
    Tokens tokens;
    for (const CacheSample& sample : samples)
        if (counts(sample) && sample.arm == arm) tokens.add(sample, 1);
    return tokens;
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", 100 * share);
}

std::string how_to_switch_on(const std::string& engine) {
    if (engine == "vllm") return "start vLLM without --no-enable-prefix-caching";
    if (engine == "sglang") return "start SGLang without --disable-radix-cache";
    if (engine == "trtllm") return "set enable_block_reuse in TensorRT-LLM's KV cache configuration";
    if (engine == "llamacpp")
        return "start llama-server without --no-cache-prompt, and do not send cache_prompt: false";
    return "look for the server's switch for prefix caching (vLLM: --enable-prefix-caching)";
}

const CacheArm* find(const CacheLevel& level, const std::string& arm) {
    const CacheArm* longest = nullptr;
    for (const CacheArm& candidate : level.arms)
        if (candidate.arm == arm && (longest == nullptr || candidate.prefix > longest->prefix))
            longest = &candidate;
    return longest;
}

bool is_faster_than_cold(const CacheLevel& level, const std::string& arm) {
    const CacheArm* const found = find(level, arm);
    const CacheArm* const cold = find(level, "cold");
    return found != nullptr && cold != nullptr && found->differs && found->ttft_p50_s && cold->ttft_p50_s &&
           *found->ttft_p50_s < *cold->ttft_p50_s;
}

std::string times_text(const CacheLevel& level, const std::string& arm) {
    const CacheArm* const found = find(level, arm);
    const CacheArm* const cold = find(level, "cold");
    if (found == nullptr || cold == nullptr || !found->ttft_p50_s || !cold->ttft_p50_s) return {};
    return fmt::format("time to first token of {} + suffix tokens, p50: {} {} ms, cold {} ms", found->prefix,
                       arm, number_text(1e3 * *found->ttft_p50_s), number_text(1e3 * *cold->ttft_p50_s));
}

/// The share of warm requests that found less than half of their repeated tokens.
double missed_share(std::span<const CacheSample> samples) {
    double missed = 0;
    double all = 0;
    for (const CacheSample& sample : samples) {
        if (!counts(sample) || sample.arm != "warm" || !sample.cached_tokens || sample.repeated == 0)
            continue;
        ++all;
        missed += static_cast<double>(*sample.cached_tokens - sample.head) <
                  kHalf * static_cast<double>(sample.repeated);
    }
    return all > 0 ? missed / all : 0;
}

/// How far the times of the longest warm prompts lie above the middle between the cold ones of the longest
/// and of the shortest prefix: above 0, the cache saved less than half of the time of its tokens.
struct SavingTest {
    bool tokens_take_time = false;  ///< whether the longest cold prompts surely take longer than the shortest
    double above_middle_s = 0;
    double margin_s = 0;  ///< distance from `above_middle_s` to the lower end of its 95 % interval

    bool saved_nothing() const { return tokens_take_time && above_middle_s > margin_s; }
};

/// Returns nothing if there are no warm prompts, only one length, or too few samples. The interval of a sum
/// of medians follows from the intervals of these (Zou and Donner 2008).
std::optional<SavingTest> saving_test(const CacheLevel& level) {
    const CacheArm* const warm = find(level, "warm");
    const CacheArm* const cold = find(level, "cold");
    const CacheArm* shortest = nullptr;
    for (const CacheArm& arm : level.arms)
        if (arm.arm == "cold" && (shortest == nullptr || arm.prefix < shortest->prefix)) shortest = &arm;
    if (warm == nullptr || cold == nullptr || shortest == cold || !warm->ttft_p50_ci95 ||
        !cold->ttft_p50_ci95 || !shortest->ttft_p50_ci95)
        return std::nullopt;
    const auto below = [](const CacheArm& arm) { return *arm.ttft_p50_s - arm.ttft_p50_ci95->low; };
    const auto above = [](const CacheArm& arm) { return arm.ttft_p50_ci95->high - *arm.ttft_p50_s; };
    return SavingTest{.tokens_take_time = *cold->ttft_p50_s - *shortest->ttft_p50_s >
                                          std::hypot(below(*cold), above(*shortest)),
                      .above_middle_s = *warm->ttft_p50_s - (*cold->ttft_p50_s + *shortest->ttft_p50_s) / 2,
                      .margin_s = std::hypot(below(*warm), above(*cold) / 2, above(*shortest) / 2)};
}

bool saved_nothing(const CacheLevel& level) {
    const auto test = saving_test(level);
    return test && test->saved_nothing();
}

/// Returns why the times to first token show no saving.
std::string why_no_saving(const CacheLevel& level) {
    if (samples_to_differ(level))
        return fmt::format(
            "{} samples of each arm are too few to show any difference between the times to first token of "
            "warm and cold prompts",
            find(level, "warm")->n - find(level, "warm")->failed);
    return "the times to first token of warm and cold prompts do not differ clearly";
}

/// Returns what would show whether the cache saves time: more samples if no difference can be shown, or if it
/// is certain that tokens take time, or else longer prefixes.
std::string advice_on_times(const CacheLevel& level) {
    constexpr double kMostTimes = 20;
    if (const auto samples = samples_to_differ(level))
        return fmt::format("Use more samples (--samples {})", *samples);
    const CacheArm* const warm = find(level, "warm");
    const auto test = saving_test(level);
    if (!test || !test->tokens_take_time || test->above_middle_s == 0)
        return "Use longer prefixes (--prefix)";
    const double times = std::max(2.0, std::pow(test->margin_s / test->above_middle_s, 2));
    if (times > kMostTimes) return "Use longer prefixes (--prefix)";
    return fmt::format("Use more samples (--samples {:.0f})",
                       std::ceil(times * static_cast<double>(warm->n)));
}

/// The verdict if nearly all repeated tokens count as cached, which `source` says.
CacheVerdict verdict_on_cached(const CacheLevel& level, const std::string& source,
                               const std::string& evidence) {
    if (is_faster_than_cold(level, "warm"))
        return {
            "works",
            fmt::format("Prefix caching works, according to {}: prompts that begin alike are read from the "
                        "cache, and their first token comes sooner.",
                        source),
            evidence};
    if (saved_nothing(level))
        return {
            "no_effect",
            fmt::format("Repeated tokens count as cached, according to {}, and still take as long as new "
                        "ones: longer prompts take longer, and warm ones as long as cold ones. Either the "
                        "server computes them again, or something between counts them wrongly. Compare "
                        "with a run on the server's own address and with the server's log.",
                        source),
            evidence};
    const std::string_view cause =
        samples_to_differ(level)
            ? ""
            : " The prompts are too short, or the time is spent elsewhere (queue, network).";
    return {"works",
            fmt::format("Prefix caching works, according to {}, but no saving was measured: {}.{} {}.",
                        source, why_no_saving(level), cause, advice_on_times(level)),
            evidence};
}

/// Returns whether all warm and primed requests of a length found equally many tokens, and more than half of
/// those that repeat: as many as whole blocks hold.
bool found_whole_blocks(std::span<const CacheSample> samples) {
    std::map<std::int64_t, std::int64_t> found;  // by the length of the prefix
    for (const CacheSample& sample : samples) {
        if (!counts(sample) || (sample.arm != "warm" && sample.arm != "primed")) continue;
        const std::int64_t cached = sample.cached_tokens.value_or(0);
        if (cached <= sample.head || 2 * cached <= sample.head + sample.repeated) return false;
        if (found.try_emplace(sample.prefix, cached).first->second != cached) return false;
    }
    return !found.empty();
}

/// The verdict if nothing was found, which tells nothing of prefixes that may be shorter than one block.
CacheVerdict verdict_off(const CacheLevel& level, const std::string& engine, const std::string& evidence) {
    constexpr std::int64_t kLargestBlock = 256;  // tokens
    const CacheArm* const warm = find(level, "warm");
    const bool has_blocks = engine != "llamacpp";
    if (warm != nullptr && has_blocks && warm->prefix <= kLargestBlock)
        return {"unknown",
                fmt::format("No conclusion is possible: nothing was read from a prefix cache, and it holds "
                            "whole blocks, which may be longer than the prefixes of {} tokens. Use longer "
                            "prefixes (--prefix).",
                            warm->prefix),
                evidence};
    return {"off", fmt::format("Nothing is read from a prefix cache: {}.", how_to_switch_on(engine)),
            evidence};
}

/// The verdict on the cache's effect, by the cached tokens in `usage`.
CacheVerdict verdict_by_tokens(const CacheLevel& level, std::span<const CacheSample> samples,
                               const std::string& engine) {
    const double warm = tokens_of_arm(samples, "warm").share().value_or(0);
    const double primed = tokens_of_arm(samples, "primed").share().value_or(0);
    const auto pinned = tokens_of_arm(samples, "pinned").share();
    const std::string with_slot = pinned ? fmt::format(", {} (warm with id_slot)", percent(*pinned)) : "";
    const auto evidence =
        fmt::format("of the tokens that repeat, {} (warm){} and {} (primed) came from the cache; {}",
                    percent(warm), with_slot, percent(primed), times_text(level, "warm"));
    if (warm >= kNearlyAll && primed >= kNearlyAll)
        return verdict_on_cached(level, "the usage of the answers", evidence);
    if (found_whole_blocks(samples))
        return verdict_on_cached(level, "the usage of the answers",
                                 evidence + "; every request found the whole blocks of its prefix");
    if (warm < kNearlyNone && primed < kNearlyNone) return verdict_off(level, engine, evidence);
    if (primed >= kNearlyAll)
        return {"thrashing",
                "A prefix is found right after it was sent and is gone by the next round: the cache is too "
                "small for what is in use. Give the server more memory for the KV cache, or send prompts "
                "that share a prefix closer together.",
                evidence};
    const double missed = missed_share(samples);
    if (engine == "llamacpp")
        return {"per_slot",
                "The cache belongs to a slot, and requests come to slots that hold another prompt. Use as "
                "many slots as "
                "there are prefixes in use, send id_slot, or let requests of one prefix follow each other.",
                fmt::format("{}; {} of the warm requests found less than half", evidence, percent(missed))};
    return {"partly",
            "Only some requests find their prefix: several replicas behind one address each hold a part "
            "(route by prefix), or entries are evicted between two uses (more KV cache memory).",
            fmt::format("{}; {} of the warm requests found less than half", evidence, percent(missed))};
}

/// The verdict on the cache's effect if cached tokens are not reported.
CacheVerdict verdict_by_times(const CacheLevel& level, const std::string& engine) {
    const std::string evidence =
        times_text(level, "warm") + "; neither usage nor the server counts cached tokens";
    if (is_faster_than_cold(level, "warm"))
        return {"works", "Prefix caching works, according to the time to first token.", evidence};
    if (saved_nothing(level))
        return {"off",
                fmt::format("Nothing is read from a prefix cache, according to the time to first token: {}.",
                            how_to_switch_on(engine)),
                evidence};
    return {
        "unknown",
        fmt::format(
            "No conclusion is possible: neither usage nor the server's counters report cached tokens, and "
            "{}. {}, or make the server count cached tokens ({}).",
            why_no_saving(level), advice_on_times(level),
            engine == "vllm" ? "--enable-prompt-tokens-details"
                             : "vLLM: --enable-prompt-tokens-details; llama.cpp: --metrics"),
        evidence};
}

CacheVerdict verdict_by_counters(const CacheLevel& level, const std::string& engine) {
    const std::string evidence = fmt::format(
        "the server's counters show a hit ratio of {}; {} was possible; {}", percent(*level.hits.server),
        percent(level.hits.expected.value_or(0)), times_text(level, "warm"));
    const double share = *level.hits.server / std::max(1e-9, level.hits.expected.value_or(0));
    if (*level.hits.server > 1 && !is_faster_than_cold(level, "warm"))
        return {
            "unknown",
            fmt::format(
                "No conclusion is possible: the server's counters show more cached tokens than prompt "
                "tokens, and no saving was measured, because {}. Make sure that the counters belong to this "
                "server, and that it has no other requests.",
                why_no_saving(level)),
            evidence};
    if (share >= kNearlyAll) return verdict_on_cached(level, "the server's counters", evidence);
    if (share < kNearlyNone) return verdict_off(level, engine, evidence);
    return {"partly", "Only some requests find their prefix.", evidence};
}

/// The prompts between which a server begins to use its cache.
struct LeastLength {
    std::int64_t unused_prefix = 0;  ///< longest prefix of which nothing was found
    double unused_tokens = 0;        ///< mean length of its prompts
    double used_tokens = 0;          ///< mean length of the shortest prompts that were found
};

/// The hits of the warm and the primed prompts with one prefix length.
struct PrefixHits {
    Tokens warm = {};
    Tokens primed = {};
    double prompts = 0;

    bool lie_within(double least, double most) const {
        const auto lies = [&](const std::optional<double>& share) {
            return share && *share >= least && *share <= most;
        };
        return lies(warm.share()) && lies(primed.share());
    }
    double mean_length() const { return (warm.prompt + primed.prompt) / prompts; }
};

std::map<std::int64_t, PrefixHits> hits_by_prefix(std::span<const CacheSample> samples) {
    std::map<std::int64_t, PrefixHits> hits;
    for (const CacheSample& sample : samples) {
        if (!counts(sample) || (sample.arm != "warm" && sample.arm != "primed")) continue;
        PrefixHits& own = hits[sample.prefix];
        (sample.arm == "warm" ? own.warm : own.primed).add(sample, 1);
        ++own.prompts;
    }
    return hits;
}

/// Returns where hits begin if nothing of shorter prefixes was found and nearly all of longer ones, at once
/// and a round later. Neither several replicas nor a full cache does that.
std::optional<LeastLength> least_length_of(std::span<const CacheSample> samples) {
    LeastLength least;
    for (const auto& [prefix, hits] : hits_by_prefix(samples)) {
        if (least.used_tokens == 0 && hits.lie_within(-kInfinity, kNearlyNone)) {
            least.unused_prefix = prefix;
            least.unused_tokens = hits.mean_length();
            continue;
        }
        if (least.unused_prefix == 0 || !hits.lie_within(kNearlyAll, kInfinity)) return std::nullopt;
        if (least.used_tokens == 0) least.used_tokens = hits.mean_length();
    }
    return least.used_tokens > 0 ? std::optional(least) : std::nullopt;
}

void add_least_length(const LeastLength& least, std::vector<CacheVerdict>& verdicts) {
    verdicts.push_back(
        {"minimum_length",
         fmt::format("Prompts of {:.0f} tokens or less find nothing in the cache, and prompts of {:.0f} "
                     "tokens or more do: the server uses its cache from a length in between, or in blocks "
                     "that are longer than the short prompts. Prompts below that length are computed whole.",
                     least.unused_tokens, least.used_tokens),
         fmt::format("of the tokens that repeat, less than {} came from the cache in prompts of up to {:.0f} "
                     "tokens, and at least {} from {:.0f} tokens on",
                     percent(kNearlyNone), least.unused_tokens, percent(kNearlyAll), least.used_tokens)});
}

void add_contamination(std::span<const CacheSample> samples, std::vector<CacheVerdict>& verdicts) {
    const Tokens cold = tokens_of_arm(samples, "cold");
    if (!cold.told || cold.cached_behind_head() <= kNearlyNone) return;
    verdicts.push_back(
        {"contaminated",
         "Prompts that should be new were in the cache: the same salt was used before, or the "
         "server adds a long prefix of its own. Leave --salt out, or flush the cache.",
         fmt::format("{} of the cold arm's tokens came from the cache", percent(cold.cached_behind_head()))});
}

void add_dynamic_head(const CacheLevel& level, std::span<const CacheSample> samples,
                      std::vector<CacheVerdict>& verdicts) {
    if (verdicts.front().code != "works") return;
    const Tokens moved = tokens_of_arm(samples, "dynamic-first");
    const bool lost =
        moved.told ? moved.cached_behind_head() < kNearlyNone
                   : is_faster_than_cold(level, "warm") && !is_faster_than_cold(level, "dynamic-first");
    if (!lost) return;
    verdicts.push_back({"dynamic_head",
                        "A changing text at the start of a prompt (a date, an id, a name) makes the whole "
                        "prefix unusable for the cache: put it after the constant part.",
                        times_text(level, "dynamic-first")});
}

double median_tpot(std::span<const CacheSample> samples, const std::string& arm) {
    std::vector<double> times;
    for (const CacheSample& sample : samples)
        if (counts(sample) && sample.arm == arm && sample.tpot_s) times.push_back(*sample.tpot_s);
    std::ranges::sort(times);
    return times.empty() ? 0 : percentile(times, 0.5);
}

void add_response_cache(std::span<const CacheSample> samples, std::vector<CacheVerdict>& verdicts) {
    constexpr double kFarFaster = 0.2;
    const double repeated = median_tpot(samples, "repeat");
    const double cold = median_tpot(samples, "cold");
    if (!(cold > 0) || !(repeated < kFarFaster * cold)) return;
    verdicts.push_back(
        {"response_cache",
         "Whole answers are repeated: a proxy in front of the server answers equal prompts itself, "
         "faster than a model decodes. Measure the server behind it.",
         fmt::format("time per output token of a repeated prompt, p50: {} ms, of new ones {} ms",
                     number_text(1e3 * repeated), number_text(1e3 * cold))});
}

void add_disagreement(const CacheLevel& level, std::vector<CacheVerdict>& verdicts) {
    constexpr double kApart = 0.05;
    const CacheHits& hits = level.hits;
    const auto apart = [&](const std::optional<double>& a, const std::optional<double>& b) {
        return a && b && std::abs(*a - *b) > kApart;
    };
    if (!apart(hits.usage, hits.server)) return;
    verdicts.push_back(
        {"disagree",
         *hits.usage < *hits.server
             ? "Answers report fewer cached tokens than the server counts: another client shares the "
               "server, or usage leaves them out (vLLM wants --enable-prompt-tokens-details)."
             : "Answers report more cached tokens than the server counts: a proxy answers for several "
               "servers, of which only one was asked for its counters.",
         fmt::format("usage {}, server {}, expected {}", percent(*hits.usage), percent(*hits.server),
                     percent(hits.expected.value_or(0)))});
}

}  // namespace

std::int64_t head_of(std::span<const CacheSample> samples, double template_tokens) {
    std::optional<std::int64_t> least;
    for (const CacheSample& sample : samples)
        if (counts(sample) && sample.arm == "cold" && sample.cached_tokens)
            least = std::min(least.value_or(*sample.cached_tokens), *sample.cached_tokens);
    return least && static_cast<double>(*least) <= template_tokens ? *least : 0;
}

std::optional<std::int64_t> granularity_of(std::span<const CacheSample> samples) {
    constexpr std::size_t kFewest = 3;
    std::set<std::int64_t> counts;
    for (const CacheSample& sample : samples)
        if (sample.cached_tokens && *sample.cached_tokens > 0 && sample.arm != "repeat")
            counts.insert(*sample.cached_tokens);
    if (counts.size() < kFewest) return std::nullopt;
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                           [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
}

std::optional<std::int64_t> least_cached_prefix_of(std::span<const CacheSample> samples) {
    std::optional<std::int64_t> least;
    for (const CacheSample& sample : samples) {
        if (sample.arm != "varied" || sample.setup || sample.cached_tokens.value_or(0) <= sample.head)
            continue;
        if (!least || sample.repeated < *least) least = sample.repeated;
    }
    return least;
}

std::uint64_t fewest_samples_to_differ(std::size_t comparisons) {
    std::uint64_t samples = 2;
    while (!can_differ(samples, samples, comparisons)) ++samples;
    return samples;
}

std::optional<std::uint64_t> samples_to_differ(const CacheLevel& level) {
    const CacheArm* const warm = find(level, "warm");
    const CacheArm* const cold = find(level, "cold");
    if (warm == nullptr || cold == nullptr) return std::nullopt;
    const auto comparisons = static_cast<std::size_t>(
        std::ranges::count_if(level.arms, [](const CacheArm& arm) { return arm.p_value.has_value(); }));
    if (can_differ(warm->n - warm->failed, cold->n - cold->failed, comparisons)) return std::nullopt;
    return fewest_samples_to_differ(comparisons);
}

CacheLevel level_of(std::span<const CacheSample> samples, std::uint64_t concurrency,
                    std::optional<std::int64_t> granularity, std::optional<double> server) {
    const std::int64_t block = std::max<std::int64_t>(1, granularity.value_or(1));
    CacheLevel level{.concurrency = concurrency};
    std::set<CellKey> cells;
    Tokens all;
    for (const CacheSample& sample : samples) {
        if (sample.ttft_s) all.add(sample, block);
        if (!sample.setup && sample.arm != "primer" && sample.arm != "varied")
            cells.insert({sample.prefix, sample.arm, sample.hit});
    }
    for (const CellKey& cell : cells) level.arms.push_back(arm_of(samples, cell, block, concurrency));
    compare_with_cold(samples, level.arms);
    const std::vector<FitPoint> points = points_of(samples);
    level.fit = fit_of(points);
    const bool no_faster =
        find(level, "warm") != nullptr && find(level, "warm")->p_value && !is_faster_than_cold(level, "warm");
    if (!no_faster) set_saving(level, points);
    level.hits = all.hits();
    level.hits.server = server;
    return level;
}

WorkingSet working_set_of(const std::map<std::uint64_t, double>& found, std::int64_t prefix_tokens,
                          std::int64_t request_tokens) {
    WorkingSet set{.prefix_tokens = prefix_tokens, .request_tokens = request_tokens, .found = found};
    for (const auto& [prefixes, share] : found) {
        if (share < kHalf) {
            set.lost = prefixes;
            break;
        }
        set.held = prefixes;
    }
    return set;
}

std::optional<std::uint64_t> next_working_set(const std::map<std::uint64_t, double>& found,
                                              std::uint64_t from, std::uint64_t most) {
    const WorkingSet set = working_set_of(found, 0, 0);
    if (found.empty()) return from;
    if (!set.lost) return set.held >= most ? std::nullopt : std::optional(std::min(most, 2 * set.held));
    if (set.held == 0 || *set.lost - set.held <= 1) return std::nullopt;
    return set.held + (*set.lost - set.held) / 2;
}

IdleTime idle_time_of(const std::map<double, double>& found) {
    IdleTime time{.found = found};
    for (const auto& [gap, share] : found) {
        if (share < kHalf) {
            time.lost_s = gap;
            break;
        }
        time.held_s = gap;
    }
    return time;
}

std::optional<double> next_idle_time(const std::map<double, double>& found, double most_s) {
    constexpr std::array kGaps{1.0, 5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0};
    const IdleTime time = idle_time_of(found);
    const double held = time.held_s.value_or(0);
    if (time.lost_s || held >= most_s) return std::nullopt;
    const auto next = std::ranges::find_if(kGaps, [held](double gap) { return gap > held; });
    return std::min(most_s, next == kGaps.end() ? 2 * held : *next);
}

void add_prices(CacheReport& report, double usd_per_h) {
    constexpr double kSecondsPerHour = 3600;
    for (CacheLevel& level : report.levels)
        for (CacheArm& arm : level.arms)
            if (arm.output_tokens_per_s)
                arm.usd_per_m_output =
                    usd_per_m_output(usd_per_h / kSecondsPerHour, *arm.output_tokens_per_s);
}

std::vector<CacheVerdict> verdicts_of(const CacheLevel& level, std::span<const CacheSample> samples,
                                      const std::string& engine) {
    std::vector<CacheVerdict> verdicts;
    const auto least = least_length_of(samples);
    std::vector<CacheSample> used;  // of prompts that are long enough for the cache
    for (const CacheSample& sample : samples)
        if (!least || sample.prefix > least->unused_prefix) used.push_back(sample);
    if (tokens_of_arm(samples, "warm").told)
        verdicts.push_back(verdict_by_tokens(level, used, engine));
    else if (level.hits.server)
        verdicts.push_back(verdict_by_counters(level, engine));
    else
        verdicts.push_back(verdict_by_times(level, engine));
    if (least) add_least_length(*least, verdicts);
    add_dynamic_head(level, samples, verdicts);
    add_contamination(samples, verdicts);
    add_response_cache(samples, verdicts);
    add_disagreement(level, verdicts);
    return verdicts;
}

}  // namespace paretoken::reports
