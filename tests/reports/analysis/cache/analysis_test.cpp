#include "reports/analysis/cache/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "core/random.h"
#include "reports/analysis/cache/picture.h"
#include "reports/analysis/cache/words.h"
#include "reports/analysis/sections/sections.h"
#include "reports/files/json/cache_json.h"
#include "reports/pages/section_markdown.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSuffix = 64;
constexpr std::int64_t kBlock = 16;

/// The behaviour of a server's cache: the number of tokens of a request that it finds.
using Cache = std::function<std::int64_t(const CacheSample& sample, std::size_t index)>;

/// Samples of a server whose first token takes 5 ms and 20 µs per token that is not cached, with noise.
std::vector<CacheSample> experiment(const Cache& cache, bool told = true, std::uint64_t seed = 1,
                                    double noise = 0.03, std::int64_t rounds = 30) {
    Random random(seed);
    std::vector<CacheSample> samples;
    const auto add = [&](const std::string& arm, std::int64_t prefix, std::int64_t repeated, double hit = 0) {
        CacheSample sample{.arm = arm, .prefix = prefix, .hit = hit, .repeated = repeated};
        sample.wanted_tokens = prefix + kSuffix;
        const std::int64_t cached = cache(sample, samples.size());
        sample.prompt_tokens = sample.wanted_tokens;
        if (told) sample.cached_tokens = cached;
        sample.ttft_s = (0.005 + 20e-6 * static_cast<double>(sample.wanted_tokens - cached)) *
                        (1 + noise * random.normal());
        sample.tpot_s = 0.007;
        samples.push_back(sample);
    };
    for (std::int64_t round = 0; round < rounds; ++round) {
        for (const std::int64_t prefix : {256, 1024, 4096}) {
            add("cold", prefix, 0);
            add("primer", prefix, 0);
            add("primed", prefix, prefix);
            add("warm", prefix, prefix);
            add("dynamic-first", prefix, 0);
            add("shared", prefix, prefix / 2, 0.5);
        }
        add("varied", 4096, 5 + 113 * round);
        add("repeat", 256, 256 + kSuffix - 1);
    }
    return samples;
}

std::int64_t whole_blocks(const CacheSample& sample, std::size_t /*index*/) {
    return sample.repeated / kBlock * kBlock;
}

std::int64_t nothing(const CacheSample& /*sample*/, std::size_t /*index*/) {
    return 0;
}

std::vector<std::string> codes_of(const std::vector<CacheSample>& samples, const std::string& engine = "vllm",
                                  std::optional<double> server = std::nullopt) {
    const CacheLevel level = level_of(samples, 1, granularity_of(samples), server);
    std::vector<std::string> codes;
    for (const auto& verdict : verdicts_of(level, samples, engine)) {
        codes.push_back(verdict.code);
        EXPECT_FALSE(verdict.text.empty());
        EXPECT_FALSE(verdict.evidence.empty());
    }
    return codes;
}

const CacheArm& arm_of(const CacheLevel& level, const std::string& name, std::int64_t prefix) {
    for (const CacheArm& arm : level.arms)
        if (arm.arm == name && arm.prefix == prefix) return arm;
    ADD_FAILURE() << name << " " << prefix;
    return level.arms.front();
}

TEST(CacheLevel, has_times_hits_and_a_fit) {
    const auto samples = experiment(whole_blocks);
    const auto level = level_of(samples, 8, granularity_of(samples), 0.5);
    EXPECT_EQ(level.concurrency, 8U);
    const CacheArm& warm = arm_of(level, "warm", 1024);
    EXPECT_EQ(warm.n, 30U);
    EXPECT_NEAR(*warm.ttft_p50_s, 0.005 + 20e-6 * kSuffix, 2e-4);
    ASSERT_TRUE(warm.ttft_p50_ci95);
    EXPECT_LE(warm.ttft_p50_ci95->low, *warm.ttft_p50_s);
    EXPECT_DOUBLE_EQ(*warm.hits.expected, 1024.0 / 1088);
    EXPECT_DOUBLE_EQ(*warm.hits.usage, 1024.0 / 1088);
    EXPECT_TRUE(warm.differs);
    EXPECT_FALSE(arm_of(level, "dynamic-first", 1024).differs);
    EXPECT_EQ(level.hits.server, 0.5);
    EXPECT_DOUBLE_EQ(*level.hits.expected, *level.hits.usage);
    ASSERT_TRUE(level.fit);
    EXPECT_NEAR(level.fit->per_token_s.value, 20e-6, 1e-6);
    EXPECT_NEAR(*level.saved_ms_per_1k_cached, 20, 1);
    for (const CacheArm& arm : level.arms) EXPECT_TRUE(arm.arm != "primer" && arm.arm != "varied");
}

TEST(CacheLevel, saves_as_much_as_the_last_tokens_of_the_longest_prompt_take) {
    auto samples = experiment(whole_blocks);
    for (CacheSample& sample : samples) {
        const auto uncached = static_cast<double>(*sample.prompt_tokens - *sample.cached_tokens);
        *sample.ttft_s += 2e-8 * uncached * uncached;
    }
    const auto level = level_of(samples, 8, granularity_of(samples), std::nullopt);
    ASSERT_TRUE(level.fit && level.fit->per_token2_s);
    constexpr double kLongest = 4096 + kSuffix;
    EXPECT_EQ(level.saved_prompt_tokens, kLongest);
    const double expected = 20 + 2e-8 * 1e6 * (2 * kLongest - 1000);  // ms for 1,000 tokens
    EXPECT_NEAR(*level.saved_ms_per_1k_cached, expected, .05 * expected);
    EXPECT_LT(level.saved_ms_per_1k_cached_ci95->low, *level.saved_ms_per_1k_cached);
    EXPECT_GT(level.saved_ms_per_1k_cached_ci95->low, 1e6 * level.fit->per_token_s.value);
    EXPECT_THAT(cache_console({.levels = {level}}), HasSubstr("of 4160 tokens, the longest"));
}

TEST(CacheLevel, counts_failures_apart) {
    auto samples = experiment(whole_blocks);
    samples[0].ttft_s.reset();
    const auto level = level_of(samples, 1, kBlock, std::nullopt);
    EXPECT_EQ(arm_of(level, "cold", 256).failed, 1U);
    EXPECT_EQ(arm_of(level, "cold", 256).n, 30U);
}

TEST(CacheGranularity, is_what_cached_counts_have_in_common) {
    EXPECT_EQ(granularity_of(experiment(whole_blocks)), kBlock);
    EXPECT_EQ(granularity_of(experiment([](const auto& sample, auto) { return sample.repeated; })), 1);
    EXPECT_FALSE(granularity_of(experiment(nothing)));
    EXPECT_FALSE(granularity_of(experiment(whole_blocks, false)));
}

TEST(CacheLeastPrefix, is_the_shortest_beginning_of_which_something_was_reused) {
    const auto samples = experiment(
        [](const auto& sample, auto) { return sample.repeated >= 1024 ? sample.repeated / 128 * 128 : 0; });
    EXPECT_EQ(least_cached_prefix_of(samples), 5 + 113 * 10);
    EXPECT_FALSE(least_cached_prefix_of(experiment(nothing)));
}

TEST(CacheVerdicts, say_that_it_works_and_what_a_changing_head_costs) {
    EXPECT_THAT(codes_of(experiment(whole_blocks)), ::testing::ElementsAre("works", "dynamic_head"));
}

TEST(CacheVerdicts, claim_no_saving_where_warm_prompts_take_as_long_as_cold_ones) {
    auto samples = experiment(nothing, false);
    for (CacheSample& sample : samples) sample.prompt_tokens.reset();
    const auto verdict = [&](double ratio) {
        const CacheLevel level = level_of(samples, 1, std::nullopt, ratio);
        EXPECT_FALSE(level.saved_ms_per_1k_cached);
        EXPECT_THAT(cache_console({.levels = {level}}), HasSubstr("No saving was measured"));
        return verdicts_of(level, samples, "vllm").front();
    };
    EXPECT_EQ(verdict(1.12).code, "unknown") << "more cached tokens than prompt tokens";
    EXPECT_THAT(verdict(1.12).text, HasSubstr("no saving was measured"));
    EXPECT_EQ(verdict(0.9).code, "no_effect") << "longer prompts take longer";
    EXPECT_THAT(verdict(0.9).text, HasSubstr("the server computes them again"));
    for (CacheSample& sample : samples) sample.ttft_s = 0.2 + 0.001 * static_cast<double>(sample.head % 7);
    EXPECT_EQ(verdict(0.9).code, "works") << "all prompts take as long, so that no saving can be seen";
    EXPECT_THAT(verdict(0.9).text, HasSubstr("no saving was measured"));
}

TEST(CacheVerdicts, say_that_it_is_off) {
    EXPECT_THAT(codes_of(experiment(nothing)), ::testing::ElementsAre("off"));
    EXPECT_THAT(codes_of(experiment(nothing, false)), ::testing::ElementsAre("off"))
        << "told by the times alone";
    EXPECT_THAT(codes_of(experiment(nothing, false), "vllm", 0.0), ::testing::ElementsAre("off"));
}

/// An experiment with prefixes of one length only.
std::vector<CacheSample> of_length(std::int64_t prefix, const Cache& cache) {
    std::vector<CacheSample> samples = experiment(cache);
    std::erase_if(samples, [&](const CacheSample& sample) {
        return sample.prefix != prefix || sample.arm == "repeat" || sample.arm == "varied";
    });
    return samples;
}

TEST(CacheVerdicts, say_that_it_works_if_every_request_finds_the_whole_blocks_of_its_prefix) {
    const auto large_blocks = [](const CacheSample& sample, std::size_t) {
        return sample.repeated / 160 * 160;  // 160 of 256, which is less than 80 %
    };
    const auto samples = of_length(256, large_blocks);
    EXPECT_EQ(codes_of(samples).front(), "works");
    const CacheLevel level = level_of(samples, 1, std::nullopt, std::nullopt);
    EXPECT_THAT(verdicts_of(level, samples, "vllm").front().evidence, HasSubstr("whole blocks"));
    const auto first_tokens = [](const CacheSample& sample, std::size_t) {
        return std::min<std::int64_t>(sample.repeated, 16);
    };
    EXPECT_EQ(codes_of(of_length(4096, first_tokens)).front(), "off") << "much less than the whole blocks";
}

TEST(CacheVerdicts, ask_for_longer_prefixes_if_one_block_may_be_longer) {
    const auto samples = of_length(256, nothing);
    EXPECT_EQ(codes_of(samples).front(), "unknown");
    const CacheLevel level = level_of(samples, 1, std::nullopt, std::nullopt);
    EXPECT_THAT(verdicts_of(level, samples, "vllm").front().text,
                HasSubstr("Use longer prefixes (--prefix)"));
    EXPECT_EQ(codes_of(of_length(1024, nothing)).front(), "off");
}

TEST(CacheVerdicts, say_what_requests_found_that_were_sent_to_a_slot) {
    const auto by_slot = [](const CacheSample& sample, std::size_t index) {
        return index / 3 % 2 == 0 ? sample.repeated : std::int64_t{0};
    };
    auto samples = experiment(by_slot);
    const auto evidence = [&] {
        const CacheLevel level = level_of(samples, 1, 1, std::nullopt);
        const auto verdicts = verdicts_of(level, samples, "llamacpp");
        EXPECT_EQ(verdicts.front().code, "per_slot");
        return verdicts.front().evidence;
    };
    EXPECT_THAT(evidence(), ::testing::Not(::testing::HasSubstr("id_slot")));
    for (std::size_t i = 0, count = samples.size(); i < count; ++i) {
        CacheSample pinned = samples[i];
        if (pinned.arm != "warm") continue;
        pinned.arm = "pinned";
        pinned.cached_tokens = pinned.repeated;
        samples.push_back(pinned);
    }
    EXPECT_THAT(evidence(), ::testing::HasSubstr("100 % (warm with id_slot)"));
}

TEST(CacheVerdicts, are_told_by_the_times_where_nobody_counts) {
    EXPECT_THAT(codes_of(experiment(whole_blocks, false)), ::testing::ElementsAre("works", "dynamic_head"));
    auto samples = experiment(nothing, false);
    Random random(1);
    for (auto& sample : samples) sample.ttft_s = std::exp(random.normal());
    EXPECT_THAT(codes_of(samples), ::testing::ElementsAre("unknown"));
}

TEST(CacheVerdicts, are_told_by_eight_samples_with_noise_if_longer_prompts_surely_take_longer) {
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
        EXPECT_THAT(codes_of(experiment(nothing, false, seed, .1, 8)), ::testing::ElementsAre("off")) << seed;
        EXPECT_EQ(codes_of(experiment(whole_blocks, false, seed, .1, 8)).front(), "works") << seed;
    }
}

TEST(CacheVerdicts, ask_for_more_samples_if_longer_prompts_surely_take_longer) {
    const auto arm = [](const char* name, std::int64_t prefix, double p50, double half) {
        return CacheArm{.arm = name,
                        .prefix = prefix,
                        .n = 8,
                        .ttft_p50_s = p50,
                        .ttft_p50_ci95 = Interval{p50 - half, p50 + half}};
    };
    CacheLevel level{
        .arms = {arm("cold", 512, .1, .01), arm("cold", 2048, .2, .01), arm("warm", 2048, .16, .02)}};
    const auto text = [&] { return verdicts_of(level, {}, "vllm").front().text; };
    EXPECT_THAT(text(), HasSubstr("Use more samples (--samples 3"));
    level.arms[0].ttft_p50_ci95 = Interval{.05, .25};
    EXPECT_THAT(text(), HasSubstr("Use longer prefixes (--prefix), or make"));
}

TEST(CacheVerdicts, name_no_cause_if_the_samples_are_too_few_to_show_any_difference) {
    EXPECT_EQ(fewest_samples_to_differ(6), 6U);
    EXPECT_EQ(fewest_samples_to_differ(31), 8U);
    for (const bool told : {true, false}) {
        const auto samples = experiment(whole_blocks, told, 1, .01, 5);
        const CacheLevel level = level_of(samples, 1, kBlock, std::nullopt);
        const auto verdicts = verdicts_of(level, samples, "vllm");
        EXPECT_THAT(verdicts.front().text,
                    HasSubstr("5 samples of each arm are too few to show any difference"));
        EXPECT_THAT(verdicts.front().text, HasSubstr("Use more samples (--samples 7)"));
        EXPECT_THAT(verdicts.front().text, ::testing::Not(HasSubstr("too short")));
        EXPECT_THAT(findings_of(level),
                    ::testing::Contains(HasSubstr("the samples are too few to show any")));
    }
    const auto enough = experiment(whole_blocks, false, 1, .01, 8);
    EXPECT_EQ(samples_to_differ(level_of(enough, 1, kBlock, std::nullopt)), std::nullopt);
}

TEST(CacheVerdicts, tell_thrashing_from_replicas) {
    // A prefix that is repeated immediately is found; one that returns a round later has been evicted.
    const auto thrashing = [](const auto& sample, auto) {
        return sample.arm == "primed" ? sample.repeated : std::int64_t{0};
    };
    EXPECT_EQ(codes_of(experiment(thrashing)).front(), "thrashing");
    // Half of the requests go to the replica that does not hold the prefix.
    const auto replicas = [](const auto& sample, std::size_t index) {
        return index / 3 % 2 == 0 ? sample.repeated : std::int64_t{0};
    };
    EXPECT_EQ(codes_of(experiment(replicas)).front(), "partly");
    EXPECT_EQ(codes_of(experiment(replicas), "llamacpp").front(), "per_slot");
    // With two replicas in strict turns, a prefix that was just sent is always at the other replica, and one
    // that returns later is soon at both.
    const auto in_turns = [](const auto& sample, auto) {
        return sample.arm == "primed" ? std::int64_t{0} : sample.repeated;
    };
    EXPECT_EQ(codes_of(experiment(in_turns)).front(), "partly");
}

TEST(CacheVerdicts, tell_a_minimum_length_of_prompts_from_replicas_and_evictions) {
    for (const auto& [least, below, from] :
         {std::tuple{1024, "of 320 tokens or less", "prompts of 1088 tokens or more"},
          std::tuple{3000, "of 1088 tokens or less", "prompts of 4160 tokens or more"}}) {
        const auto samples = experiment([least = least](const CacheSample& sample, std::size_t index) {
            return sample.wanted_tokens < least ? 0 : whole_blocks(sample, index);
        });
        EXPECT_THAT(codes_of(samples), ::testing::ElementsAre("works", "minimum_length", "dynamic_head"));
        const CacheLevel level = level_of(samples, 1, kBlock, std::nullopt);
        const auto verdicts = verdicts_of(level, samples, "vllm");
        EXPECT_THAT(verdicts[0].evidence, HasSubstr("100 % (warm)"));
        EXPECT_THAT(verdicts[1].text, ::testing::AllOf(HasSubstr(below), HasSubstr(from)));
        EXPECT_THAT(verdicts[1].evidence, HasSubstr("and at least 80 % from"));
    }
    const auto only_long_ones_later = [](const CacheSample& sample, std::size_t) {
        return sample.arm == "primed" || sample.prefix < 4096 ? sample.repeated : std::int64_t{0};
    };
    EXPECT_THAT(codes_of(experiment(only_long_ones_later)),
                ::testing::Not(::testing::Contains("minimum_length")));
}

TEST(CacheVerdicts, find_a_cold_arm_that_is_not_cold) {
    const auto used_before = [](const auto& sample, auto) { return sample.wanted_tokens / 16 * 16 - 16; };
    EXPECT_THAT(codes_of(experiment(used_before)), ::testing::Contains("contaminated"));
}

TEST(CacheVerdicts, leave_out_the_head_that_a_chat_template_puts_before_every_prompt) {
    auto samples = experiment([](const auto& sample, auto) { return sample.repeated + 24; });
    EXPECT_EQ(head_of(samples, 31), 24);
    EXPECT_EQ(head_of(samples, 20), 0) << "more than the template has";
    for (auto& sample : samples) sample.head = 24;
    EXPECT_THAT(codes_of(samples), ::testing::ElementsAre("works", "dynamic_head"));
    const auto level = level_of(samples, 1, 1, std::nullopt);
    EXPECT_DOUBLE_EQ(*arm_of(level, "cold", 256).hits.expected, 24.0 / 320);
    EXPECT_EQ(least_cached_prefix_of(samples), 5);
}

TEST(CacheVerdicts, find_a_proxy_that_repeats_whole_answers) {
    auto samples = experiment(whole_blocks);
    for (auto& sample : samples)
        if (sample.arm == "repeat") sample.tpot_s = 0.0001;
    EXPECT_THAT(codes_of(samples), ::testing::Contains("response_cache"));
}

TEST(CacheVerdicts, find_accounts_that_differ) {
    EXPECT_THAT(codes_of(experiment(whole_blocks), "vllm", 0.9), ::testing::Contains("disagree"));
    const auto samples = experiment(whole_blocks);
    const auto level = level_of(samples, 1, kBlock, std::nullopt);
    EXPECT_THAT(codes_of(samples, "vllm", *level.hits.usage + 0.01),
                ::testing::Not(::testing::Contains("disagree")));
}

TEST(CacheVerdicts, are_off_and_no_arm_differs_in_nine_of_ten_experiments_without_a_cache) {
    int clean = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto samples = experiment(nothing, true, seed);
        const auto level = level_of(samples, 1, std::nullopt, std::nullopt);
        bool differs = false;
        for (const CacheArm& arm : level.arms) differs |= arm.differs;
        clean += differs ? 0 : 1;
    }
    EXPECT_GE(clean, 90);
}

TEST(WorkingSet, is_bracketed_by_doubling_and_then_halving) {
    for (const std::uint64_t capacity : {0U, 1U, 5U, 16U, 23U, 64U, 100U}) {
        std::map<std::uint64_t, double> found;
        while (const auto prefixes = next_working_set(found, 1, 64)) {
            ASSERT_TRUE(found.emplace(*prefixes, *prefixes <= capacity ? 1.0 : 0.0).second) << *prefixes;
            ASSERT_LE(found.size(), 14U);
        }
        const WorkingSet set = working_set_of(found, 1024, 1104);
        EXPECT_EQ(set.held, std::min<std::uint64_t>(capacity, 64));
        if (capacity < 64) {
            EXPECT_EQ(set.lost, capacity + 1);
        } else {
            EXPECT_FALSE(set.lost);
        }
    }
}

TEST(CachePages, tell_verdicts_levels_and_blocks) {
    const auto samples = experiment(whole_blocks);
    CacheReport report{.target = "http://<script>", .model = "m|x", .engine = "vllm"};
    report.levels = {level_of(samples, 1, kBlock, 0.4)};
    report.granularity_tokens = kBlock;
    report.least_cached_prefix = 118;
    report.verdicts = verdicts_of(report.levels.front(), samples, "vllm");
    const std::string console = cache_console(report);
    EXPECT_THAT(console, HasSubstr("works: Prefix caching works"));
    EXPECT_THAT(console, HasSubstr("1 request in flight."));
    EXPECT_THAT(console, HasSubstr("blocks of 16 tokens"));
    EXPECT_THAT(console, HasSubstr("in prompts of 4160"));
    EXPECT_THAT(console, HasSubstr("has 118 tokens"));
    const std::string markdown = markdown_of(cache_section(picture_of({{}, report}), "cache"), 1);
    EXPECT_THAT(markdown, HasSubstr("- **works**:"));
    EXPECT_THAT(markdown, ::testing::Not(HasSubstr("<script>")));
    EXPECT_THAT(markdown, HasSubstr("| 4096 | warm |"));
    const std::string json = cache_json(report);
    EXPECT_THAT(json, HasSubstr(R"("schema": "paretoken/cache/1")"));
    EXPECT_THAT(json, HasSubstr(R"("granularity_tokens": 16)"));
    EXPECT_THAT(json, HasSubstr(R"("code": "dynamic_head")"));
}

TEST(IdleTime, IsTriedInLongerAndLongerStepsUntilAPrefixIsLost) {
    const auto tried = [](double kept_s, double most_s) {
        std::map<double, double> found;
        while (const auto next = next_idle_time(found, most_s)) {
            EXPECT_FALSE(found.contains(*next));
            found[*next] = *next <= kept_s ? .98 : 0;
        }
        return idle_time_of(found);
    };
    const IdleTime minute = tried(60, 600);
    EXPECT_EQ(minute.held_s, 30);
    EXPECT_EQ(minute.lost_s, 120);
    EXPECT_EQ(minute.found.size(), 4U) << "nothing is tried beyond the first loss";
    const IdleTime kept = tried(1e9, 600);
    EXPECT_EQ(kept.held_s, 600);
    EXPECT_FALSE(kept.lost_s.has_value());
    EXPECT_EQ(tried(1e9, 45).held_s, 45) << "the most that was asked for is tried as well";
    const IdleTime none = tried(0, 600);
    EXPECT_FALSE(none.held_s.has_value());
    EXPECT_EQ(none.lost_s, 1);
    EXPECT_EQ(tried(1e9, 4 * 3600).held_s, 4 * 3600);
}

TEST(CachePrices, FollowFromTheRateThatEachArmWouldHave) {
    std::vector<CacheSample> samples = experiment(whole_blocks);
    for (CacheSample& sample : samples) {
        sample.e2e_s = *sample.ttft_s + 15 * *sample.tpot_s;
        sample.output_tokens = 16;
    }
    CacheReport report;
    report.levels.push_back(level_of(samples, 4, kBlock, std::nullopt));
    report.price = "$3.60/h";
    add_prices(report, 3.6);
    const auto arm = [&](const std::string& name) {
        return *std::find_if(report.levels[0].arms.begin(), report.levels[0].arms.end(),
                             [&](const CacheArm& a) { return a.arm == name && a.prefix == 4096; });
    };
    const double cold_s = .005 + 20e-6 * (4096 + kSuffix) + 15 * .007;
    EXPECT_NEAR(arm("cold").output_tokens_per_s.value(), 4 * 16 / cold_s, .02 * 4 * 16 / cold_s);
    EXPECT_GT(arm("warm").output_tokens_per_s.value(), arm("cold").output_tokens_per_s.value());
    EXPECT_NEAR(arm("warm").usd_per_m_output.value() * arm("warm").output_tokens_per_s.value(), 1000, 1e-6)
        << "$0.001 per second";
    EXPECT_THAT(cache_console(report), HasSubstr("per million); if all were warm, "));
    EXPECT_THAT(cache_json(report), HasSubstr("\"usd_per_m_output\""));
}

}  // namespace
}  // namespace paretoken::reports
