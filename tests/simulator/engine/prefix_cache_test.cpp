#include "simulator/engine/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <sstream>

#include "core/random.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/tokenizer.h"
#include "tests/support/golden.h"
#include "tests/support/simple_profile.h"

namespace paretoken::sim {
namespace {

using ::testing::IsEmpty;
using Blocks = std::vector<PrefixCache::Block>;
using Names = std::vector<std::uint64_t>;

std::vector<std::uint64_t> names_of(const std::vector<int>& tokens, std::int64_t block_tokens,
                                    std::uint64_t salt = 0) {
    BlockHasher hasher(block_tokens, salt);
    std::vector<std::uint64_t> names;
    for (const int token : tokens) {
        if (const auto name = hasher.add(static_cast<std::uint64_t>(token))) names.push_back(*name);
    }
    return names;
}

/// Allocates and names the blocks for a prompt of these full blocks.
Blocks held_by(PrefixCache& cache, const Names& names, std::int64_t more = 0) {
    Blocks held;
    const std::size_t hit = cache.contiguous_hit(names);
    const auto fresh = static_cast<std::int64_t>(names.size() - hit) + more;
    EXPECT_TRUE(cache.allocate(std::span(names).first(hit), fresh, held));
    for (std::size_t i = hit; i < names.size(); ++i) cache.name(held[i], names[i]);
    return held;
}

// Names.

TEST(BlockHasher, OnlyFullBlocksHaveNames) {
    EXPECT_EQ(names_of({1, 2, 3, 4, 5, 6, 7}, 3).size(), 2U);
    EXPECT_THAT(names_of({1, 2}, 3), IsEmpty());
}

TEST(BlockHasher, ANameCoversEverythingBeforeAndTheSalt) {
    const Names plain = names_of({1, 2, 3, 4}, 2);
    const Names other_start = names_of({9, 2, 3, 4}, 2);
    const Names other_end = names_of({1, 2, 3, 5}, 2);
    const Names salted = names_of({1, 2, 3, 4}, 2, 7);
    EXPECT_NE(plain[1], other_start[1]) << "the same tokens after others";
    EXPECT_EQ(plain[0], other_end[0]);
    EXPECT_NE(plain[1], other_end[1]);
    EXPECT_NE(plain[0], salted[0]);
    EXPECT_NE(names_of({1, 2}, 2), names_of({2, 1}, 2)) << "order matters";
}

// Blocks.

TEST(PrefixCache, AHitEndsAtTheFirstBlockThatIsMissing) {
    PrefixCache cache(8);
    held_by(cache, {1, 2, 3});
    EXPECT_EQ(cache.contiguous_hit(Names{1, 2, 3, 4}), 3U);
    EXPECT_EQ(cache.contiguous_hit(Names{1, 9, 3}), 1U) << "what comes after a gap does not count";
    EXPECT_EQ(cache.contiguous_hit(Names{9, 2, 3}), 0U);
}

TEST(PrefixCache, BlocksAreSharedWhileInUseAndKeptAfterwards) {
    PrefixCache cache(8);
    Blocks first = held_by(cache, {1, 2});
    Blocks second = held_by(cache, {1, 2, 3});
    EXPECT_EQ(second[0], first[0]);
    EXPECT_EQ(second[1], first[1]);
    EXPECT_EQ(cache.idle(), 8 - 3);
    cache.release(first);
    EXPECT_THAT(first, IsEmpty());
    EXPECT_EQ(cache.idle(), 8 - 3) << "still in use by the second";
    cache.release(second);
    EXPECT_EQ(cache.idle(), 8);
    EXPECT_EQ(cache.contiguous_hit(Names{1, 2, 3}), 3U) << "idle and not forgotten";
}

TEST(PrefixCache, TheLongestIdleIsEvictedFirstAndOfASequenceItsEnd) {
    PrefixCache cache(4);
    Blocks early = held_by(cache, {1, 2});
    Blocks late = held_by(cache, {11, 12});
    cache.release(early);
    cache.release(late);  // idle, the longest first: 2, 1, 12, 11
    Blocks fresh;
    ASSERT_TRUE(cache.allocate({}, 1, fresh));
    EXPECT_EQ(cache.contiguous_hit(Names{1, 2}), 1U);
    EXPECT_EQ(cache.contiguous_hit(Names{11, 12}), 2U);
    ASSERT_TRUE(cache.allocate({}, 2, fresh));
    EXPECT_EQ(cache.contiguous_hit(Names{1}), 0U);
    EXPECT_EQ(cache.contiguous_hit(Names{11, 12}), 1U);
}

TEST(PrefixCache, AHitMakesItsBlocksTheLastToGo) {
    PrefixCache cache(4);
    Blocks a = held_by(cache, {1});
    Blocks b = held_by(cache, {2});
    cache.release(a);
    cache.release(b);
    Blocks again = held_by(cache, {1});
    cache.release(again);
    Blocks fresh;
    ASSERT_TRUE(cache.allocate({}, 3, fresh));  // the two that were never used, then 2
    EXPECT_EQ(cache.contiguous_hit(Names{1}), 1U);
    EXPECT_EQ(cache.contiguous_hit(Names{2}), 0U);
}

TEST(PrefixCache, NothingIsEvictedBeforeItsBlockIsNeeded) {
    PrefixCache cache(3);
    Blocks held = held_by(cache, {1, 2});
    cache.release(held);
    Blocks none;
    EXPECT_FALSE(cache.allocate({}, 4, none)) << "more than there are";
    EXPECT_THAT(none, IsEmpty());
    EXPECT_EQ(cache.contiguous_hit(Names{1, 2}), 2U);
}

TEST(PrefixCache, IdleBlocksOfAHitAreNotAlsoHandedOutAsFreshOnes) {
    PrefixCache cache(3);
    Blocks held = held_by(cache, {1, 2});
    cache.release(held);
    const Names names{1, 2};
    EXPECT_FALSE(cache.allocate(names, 2, held)) << "three blocks, two of them hit";
    EXPECT_EQ(cache.idle(), 3);
    EXPECT_TRUE(cache.allocate(names, 1, held));
    EXPECT_EQ(cache.idle(), 0);
}

TEST(PrefixCache, OfTwoBlocksOfOneNameOneMayGo) {
    PrefixCache cache(2);
    Blocks first;
    Blocks second;
    ASSERT_TRUE(cache.allocate({}, 1, first));
    ASSERT_TRUE(cache.allocate({}, 1, second));
    cache.name(first[0], 5);
    cache.name(second[0], 5);
    cache.release(first);
    Blocks fresh;
    ASSERT_TRUE(cache.allocate({}, 1, fresh));
    EXPECT_EQ(cache.contiguous_hit(Names{5}), 1U) << "the other one is still held";
    cache.release(second);
    ASSERT_TRUE(cache.allocate({}, 1, fresh));
    EXPECT_EQ(cache.contiguous_hit(Names{5}), 0U);
}

TEST(PrefixCache, IsForgottenOnlyWhenNothingIsInUse) {
    PrefixCache cache(2);
    Blocks held = held_by(cache, {1});
    EXPECT_FALSE(cache.forget());
    EXPECT_EQ(cache.contiguous_hit(Names{1}), 1U);
    cache.release(held);
    EXPECT_TRUE(cache.forget());
    EXPECT_EQ(cache.contiguous_hit(Names{1}), 0U);
    EXPECT_EQ(cache.idle(), 2);
}

/// A cache with the same rules in the simplest form: searches instead of links.
class SlowCache {
  public:
    explicit SlowCache(std::int64_t blocks) {
        for (std::int64_t i = 1; i <= blocks; ++i) queue_.push_back(static_cast<int>(i));
    }
    std::size_t hit(const Names& names) const {
        std::size_t n = 0;
        while (n < names.size() && find(names[n]) != 0) ++n;
        return n;
    }
    bool allocate(const Names& hit, std::size_t fresh, Blocks& held) {
        std::size_t woken = 0;
        for (const auto name : hit) woken += uses_[find(name)] == 0 ? 1 : 0;
        if (woken + fresh > queue_.size()) return false;
        for (const auto name : hit) {
            const int block = find(name);
            if (uses_[block]++ == 0) queue_.erase(std::find(queue_.begin(), queue_.end(), block));
            held.push_back(block);
        }
        for (std::size_t i = 0; i < fresh; ++i) {
            const int block = queue_.front();
            queue_.pop_front();
            std::erase_if(named_, [&](const auto& row) { return row.second == block; });
            uses_[block] = 1;
            held.push_back(block);
        }
        return true;
    }
    void name(int block, std::uint64_t name) { named_.emplace_back(name, block); }
    void release(Blocks& held) {
        for (auto b = held.rbegin(); b != held.rend(); ++b) {
            if (--uses_[*b] == 0) queue_.push_back(*b);
        }
        held.clear();
    }

  private:
    int find(std::uint64_t name) const {
        for (const auto& [n, block] : named_) {
            if (n == name) return block;
        }
        return 0;
    }
    std::deque<int> queue_;
    std::map<int, int> uses_;
    std::vector<std::pair<std::uint64_t, int>> named_;  ///< named blocks in the order of naming
};

TEST(PrefixCache, DoesWhatASlowOneDoesForRandomSequences) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        Random random(seed);
        const auto blocks = static_cast<std::int64_t>(4 + random.below(20));
        PrefixCache cache(blocks);
        SlowCache slow(blocks);
        std::vector<std::pair<Blocks, Blocks>> held;
        for (int round = 0; round < 400; ++round) {
            if (!held.empty() && random.below(2) == 0) {
                const std::size_t which = random.below(held.size());
                cache.release(held[which].first);
                slow.release(held[which].second);
                held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
                continue;
            }
            std::vector<int> tokens;
            for (std::uint64_t i = 0; i < 1 + random.below(5); ++i)
                tokens.push_back(static_cast<int>(random.below(2)));
            const Names names = names_of(tokens, 1);
            // Sometimes the last block is computed again although it is cached, which makes a second one.
            std::size_t hit = cache.contiguous_hit(names);
            ASSERT_EQ(hit, slow.hit(names));
            if (hit == names.size() && random.below(2) == 0) --hit;
            const Names found(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(hit));
            std::pair<Blocks, Blocks> own;
            const bool taken =
                cache.allocate(found, static_cast<std::int64_t>(names.size() - hit), own.first);
            ASSERT_EQ(taken, slow.allocate(found, names.size() - hit, own.second));
            if (!taken) continue;
            ASSERT_EQ(own.first, own.second);
            for (std::size_t i = hit; i < names.size(); ++i) {
                cache.name(own.first[i], names[i]);
                slow.name(own.second[i], names[i]);
            }
            held.push_back(own);
        }
    }
}

/// Mooncake's published synthetic trace (Apache-2.0), hash_ids of 512 tokens each, written as runs: "79+72"
/// is 79, 80, … 150.
TEST(PrefixCache, FindsInMooncakesTraceWhatIsToBeFound) {
    PrefixCache cache(200'000);  // more blocks than the trace has
    std::istringstream lines(paretoken::testing::golden("traces/mooncake_synthetic.txt"));
    double blocks = 0;
    double hit_blocks = 0;
    double tokens = 0;
    double hit_tokens = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::int64_t length = 0;
        words >> length;
        Names names;
        for (std::string run; words >> run;) {
            const auto plus = run.find('+');
            const std::uint64_t first = std::stoull(run);
            const std::uint64_t count = plus == std::string::npos ? 1 : std::stoull(run.substr(plus + 1));
            for (std::uint64_t i = 0; i < count; ++i) names.push_back(first + i);
        }
        const std::size_t hit = cache.contiguous_hit(names);
        Blocks held = held_by(cache, names);
        cache.release(held);
        blocks += static_cast<double>(names.size());
        hit_blocks += static_cast<double>(hit);
        tokens += static_cast<double>(length);
        hit_tokens +=
            static_cast<double>(std::min<std::int64_t>(length, static_cast<std::int64_t>(hit) * 512));
    }
    EXPECT_EQ(blocks, 121877);
    EXPECT_NEAR(hit_blocks / blocks, .6396, .00005);
    EXPECT_NEAR(hit_tokens / tokens, .6512, .00005);
}

// In the engine.

constexpr TimePoint kBegin{std::chrono::seconds(1000)};

/// Returns a profile with blocks of 4; a step takes 1 ms, and 1 ms more per token.
Profile small_profile(std::int64_t blocks) {
    Profile profile = paretoken::testing::simple_profile();
    profile.block_tokens = 4;
    profile.blocks = blocks;
    return profile;
}

constexpr std::uint64_t kAnswerSeed = 17;
constexpr std::int64_t kVocabulary = 5000;

std::vector<int> answer_tokens(std::int64_t count) {
    std::vector<int> tokens;
    for (std::int64_t k = 0; k < count; ++k)
        tokens.push_back(token_id_of(answer_word(kAnswerSeed, k), kVocabulary));
    return tokens;
}

EngineRequest request_of(std::uint64_t id, const std::vector<int>& prompt, std::int64_t output) {
    auto identity = std::make_shared<TokenIdentity>(TokenIdentity{.blocks = names_of(prompt, 4),
                                                                  .rest = BlockHasher(4),
                                                                  .answer_seed = kAnswerSeed,
                                                                  .vocabulary = kVocabulary});
    for (const int token : prompt) identity->rest.add(static_cast<std::uint64_t>(token));
    return {.id = id,
            .prompt_tokens = static_cast<std::int64_t>(prompt.size()),
            .output_tokens = output,
            .identity = identity};
}

std::vector<int> counting(int from, int count) {
    std::vector<int> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(from + i);
    return tokens;
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Outcome {
    std::map<std::uint64_t, std::int64_t> cached;
    TimePoint end = kBegin;
};

Outcome run_with_cache(Engine& engine) {
    Outcome run;
    while (engine.begin_step()) {
        const Step& step = engine.end_step();
        for (const Admission& admission : step.admitted) run.cached[admission.id] = admission.cached_tokens;
        run.end = step.end;
    }
    return run;
}

TEST(EngineWithPrefixCache, ARepeatedPromptIsComputedFromItsLastFullBlockThatLeavesATokenOver) {
    const auto engine = engine_of(small_profile(100), 0);
    engine->submit(request_of(1, counting(0, 8), 1), kBegin);
    EXPECT_EQ(run_with_cache(*engine).end - kBegin, std::chrono::milliseconds(9));
    engine->submit(request_of(2, counting(0, 8), 1), kBegin + std::chrono::seconds(1));
    const Outcome run = run_with_cache(*engine);
    EXPECT_EQ(run.cached.at(2), 4) << "8 would leave nothing to compute the first token from";
    EXPECT_EQ(run.end - kBegin, std::chrono::milliseconds(1000 + 1 + 4));
    engine->submit(request_of(3, counting(0, 9), 1), kBegin + std::chrono::seconds(2));
    EXPECT_EQ(run_with_cache(*engine).cached.at(3), 8);
    EXPECT_EQ(engine->state().prefix_queries, 8U + 8 + 9);
    EXPECT_EQ(engine->state().prefix_hits, 4U + 8);
}

TEST(EngineWithPrefixCache, APartOfABlockIsNeverFound) {
    const auto engine = engine_of(small_profile(100), 0);
    engine->submit(request_of(1, counting(0, 7), 1), kBegin);
    run_with_cache(*engine);
    engine->submit(request_of(2, counting(0, 30), 1), kBegin + std::chrono::seconds(1));
    EXPECT_EQ(run_with_cache(*engine).cached.at(2), 4);
}

TEST(EngineWithPrefixCache, RequestsOfOneStepShareWhatItComputes) {
    const auto engine = engine_of(small_profile(100), 0);
    engine->submit(request_of(1, counting(0, 9), 1), kBegin);
    engine->submit(request_of(2, counting(0, 9), 1), kBegin);
    engine->begin_step();
    EXPECT_EQ(engine->state().blocks_used, 3 + 1);
    const Outcome run = run_with_cache(*engine);
    EXPECT_EQ(run.cached.at(2), 8);
    EXPECT_EQ(run.end - kBegin, std::chrono::milliseconds(1 + 9 + 1));
}

TEST(EngineWithPrefixCache, TheAnswerIsFoundAsPartOfTheNextPrompt) {
    const auto engine = engine_of(small_profile(100), 0);
    engine->submit(request_of(1, counting(0, 6), 8), kBegin);
    run_with_cache(*engine);
    // 6 + 8 tokens; the last one was emitted and never computed: three full blocks of 13.
    const std::vector<int> next = joined(joined(counting(0, 6), answer_tokens(8)), counting(900, 5));
    engine->submit(request_of(2, next, 1), kBegin + std::chrono::seconds(1));
    EXPECT_EQ(run_with_cache(*engine).cached.at(2), 12);
    const std::vector<int> other = joined(counting(0, 6), counting(900, 13));
    engine->submit(request_of(3, other, 1), kBegin + std::chrono::seconds(2));
    EXPECT_EQ(run_with_cache(*engine).cached.at(3), 4);
}

TEST(EngineWithPrefixCache, ATokenThatWasEmittedLastFillsNoBlock) {
    const auto engine = engine_of(small_profile(100), 0);
    engine->submit(request_of(1, counting(0, 6), 2), kBegin);  // 8 tokens, 7 of them computed
    run_with_cache(*engine);
    engine->submit(request_of(2, joined(joined(counting(0, 6), answer_tokens(2)), {1, 2, 3}), 1),
                   kBegin + std::chrono::seconds(1));
    EXPECT_EQ(run_with_cache(*engine).cached.at(2), 4);
}

TEST(EngineWithPrefixCache, APreemptedRequestFindsItsOwnBlocksAgain) {
    // Like the case without names: 2 is preempted for the third block, and its first block is still cached
    // when it is admitted again, so that only the rest is computed.
    const auto engine = engine_of(small_profile(4), 0);
    engine->submit(request_of(1, counting(0, 4), 8), kBegin);
    engine->submit(request_of(2, counting(100, 4), 6), kBegin);
    std::int64_t tokens = 0;
    while (engine->begin_step()) tokens += engine->end_step().work.tokens;
    EXPECT_EQ(engine->state().preemptions, 1U);
    EXPECT_EQ(engine->state().blocks_used, 0);
    // Each computes its prompt and all but its last answer token. The preemption dropped 4 + 4 tokens of
    // 2; its two blocks were idle, and 1 took the one that ends the sequence.
    EXPECT_EQ(tokens, (4 + 7) + (4 + 5) + 4);
    EXPECT_EQ(engine->state().prefix_hits, 0U) << "only first admissions are counted";
}

TEST(EngineWithPrefixCache, WithoutRoomTheOldestPrefixIsEvicted) {
    const auto engine = engine_of(small_profile(4), 0);
    const auto at = [](int second) { return kBegin + std::chrono::seconds(second); };
    engine->submit(request_of(1, counting(0, 8), 1), at(0));
    run_with_cache(*engine);
    engine->submit(request_of(2, counting(100, 12), 1), at(1));  // two unused blocks and the end of 1
    run_with_cache(*engine);
    engine->submit(request_of(3, counting(0, 12), 1), at(2));
    EXPECT_EQ(run_with_cache(*engine).cached.at(3), 4);
}

TEST(EngineWithPrefixCache, DisplacedBlocksComeBackFromTheHostsMemory) {
    Profile profile = small_profile(4);
    profile.kv_bytes_per_token = 1000;
    profile.kv_bytes_per_s = 1e12;
    profile.kv_offload_bytes = 8 * 4 * 1000;  // eight blocks
    profile.kv_offload_bytes_per_s = 1000e3;  // one token takes 1 ms, as long as computing it
    const auto engine = engine_of(profile, 0);
    const auto at = [](int second) { return kBegin + std::chrono::seconds(second); };
    engine->submit(request_of(1, counting(0, 8), 1), at(0));
    run_with_cache(*engine);
    engine->submit(request_of(2, counting(100, 15), 1), at(1));  // displaces both blocks of 1
    run_with_cache(*engine);
    engine->submit(request_of(3, counting(0, 12), 1), at(2));
    const Outcome run = run_with_cache(*engine);
    EXPECT_EQ(run.cached.at(3), 8);
    // Four tokens are computed in 1 + 4 ms, while eight are copied in 8 ms.
    EXPECT_EQ(run.end - at(2), std::chrono::milliseconds(8));
    EXPECT_TRUE(engine->reset_prefix_cache());
    engine->submit(request_of(6, counting(0, 12), 1), at(4));
    EXPECT_EQ(run_with_cache(*engine).cached.at(6), 0) << "a reset empties the host's memory too";
}

TEST(EngineWithPrefixCache, AFasterLinkThanTheComputationCostsNoTime) {
    Profile profile = small_profile(4);
    profile.kv_bytes_per_token = 1000;
    profile.kv_bytes_per_s = 1e12;
    profile.kv_offload_bytes = 1e9;
    const auto engine = engine_of(profile, 0);
    const auto at = [](int second) { return kBegin + std::chrono::seconds(second); };
    engine->submit(request_of(1, counting(0, 8), 1), at(0));
    run_with_cache(*engine);
    engine->submit(request_of(2, counting(100, 15), 1), at(1));
    run_with_cache(*engine);
    engine->submit(request_of(3, counting(0, 12), 1), at(2));
    EXPECT_EQ(run_with_cache(*engine).end - at(2), std::chrono::milliseconds(1 + 4));
}

TEST(EngineWithPrefixCache, CanBeSwitchedOff) {
    Profile profile = small_profile(100);
    profile.prefix_cache = 0;
    const auto engine = engine_of(profile, 0);
    engine->submit(request_of(1, counting(0, 8), 1), kBegin);
    engine->submit(request_of(2, counting(0, 8), 1), kBegin + std::chrono::seconds(1));
    EXPECT_EQ(run_with_cache(*engine).cached.at(2), 0);
    EXPECT_EQ(engine->state().prefix_queries, 0U);
}

TEST(EngineWithPrefixCache, IsEmptyAfterAReset) {
    const auto engine = engine_of(small_profile(100), 0);
    engine->submit(request_of(1, counting(0, 8), 2), kBegin);
    engine->begin_step();
    EXPECT_FALSE(engine->reset_prefix_cache()) << "a block is in use";
    run_with_cache(*engine);
    EXPECT_TRUE(engine->reset_prefix_cache());
    engine->submit(request_of(2, counting(0, 8), 1), kBegin + std::chrono::seconds(1));
    EXPECT_EQ(run_with_cache(*engine).cached.at(2), 0);
}

}  // namespace
}  // namespace paretoken::sim
