#include "microbench/gpu/attention/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/random.h"
#include "microbench/gpu/attention/paged.h"

namespace paretoken::microbench::gpu {
namespace {

std::int32_t tokens_of(const SplitPlan& plan, std::size_t piece) {
    std::int32_t sum = 0;
    for (std::int32_t i = plan.first[piece]; i < plan.first[piece + 1]; ++i) {
        sum += plan.segments[static_cast<std::size_t>(i)].last -
               plan.segments[static_cast<std::size_t>(i)].first;
    }
    return sum;
}

/// Expects that each token inside the window lies in exactly one segment, and that the fields of each segment
/// that describe its sequence are right.
void expect_complete(const std::vector<std::int32_t>& lengths, const SplitOptions& options) {
    const SplitPlan plan = split_plan(lengths, options);
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Segment>> by_sequence;
    for (const Segment& s : plan.segments) by_sequence[{s.request, s.head}].push_back(s);
    ASSERT_EQ(by_sequence.size(), lengths.size() * static_cast<std::size_t>(options.heads));
    ASSERT_EQ(plan.sequences, static_cast<std::int32_t>(by_sequence.size()));
    for (const auto& [sequence, segments] : by_sequence) {
        const std::int32_t length = lengths[static_cast<std::size_t>(sequence.first)];
        const std::int32_t begin = window_begin(length, options.window);
        EXPECT_EQ(segments.front().first, begin);
        EXPECT_EQ(segments.back().last, length);
        for (std::size_t i = 0; i < segments.size(); ++i) {
            EXPECT_LT(segments[i].first, segments[i].last);
            EXPECT_EQ(segments[i].partials, std::ssize(segments));
            EXPECT_EQ(segments[i].begin, segments.front().partial);
            EXPECT_EQ(segments[i].partial, segments.front().partial + static_cast<std::int32_t>(i));
            EXPECT_EQ(segments[i].sequence, sequence.first * options.heads + sequence.second);
            if (i == 0) continue;
            EXPECT_EQ(segments[i].first, segments[i - 1].last);
            EXPECT_EQ((segments[i].first - begin / 16 * 16) % options.tile, 0);
        }
    }
    EXPECT_EQ(plan.first.front(), 0);
    EXPECT_EQ(plan.first.back(), std::ssize(plan.segments));
}

TEST(SplitPlan, every_token_is_read_once_whatever_the_lengths) {
    for (const std::int32_t page : {16, 32, 64}) {
        const std::vector<std::int32_t> ragged = {1,  15, 16, 17,  page - 1, page, page + 1,
                                                  63, 64, 65, 255, 256,      257};
        for (const std::int32_t blocks : {1, 2, 7, 132, 264}) {
            for (const std::int32_t window : {0, 1, 16, 100, 128}) {
                expect_complete(ragged, {.heads = 3, .window = window, .blocks = blocks});
            }
        }
    }
}

TEST(SplitPlan, random_batches_are_complete) {
    Random random(5);
    for (int turn = 0; turn < 200; ++turn) {
        std::vector<std::int32_t> lengths(1 + random.below(40));
        for (auto& length : lengths) length = 1 + static_cast<std::int32_t>(random.below(3000));
        expect_complete(lengths,
                        {.heads = 1 + static_cast<std::int32_t>(random.below(8)),
                         .window = random.below(2) == 0 ? 0 : static_cast<std::int32_t>(random.below(500)),
                         .blocks = 1 + static_cast<std::int32_t>(random.below(300))});
    }
}

TEST(SplitPlan, pieces_differ_by_less_than_a_tile_on_either_side) {
    for (const std::int32_t blocks : {13, 132, 264}) {
        const std::vector<std::int32_t> lengths = {8192, 100, 4097, 70000, 33, 12345};
        const SplitPlan plan = split_plan(lengths, {.heads = 8, .blocks = blocks});
        const double mean = 8.0 * std::accumulate(lengths.begin(), lengths.end(), 0) / blocks;
        ASSERT_EQ(plan.pieces(), static_cast<std::size_t>(blocks));
        for (std::size_t piece = 0; piece < plan.pieces(); ++piece) {
            EXPECT_NEAR(tokens_of(plan, piece), mean, 65) << piece;
        }
    }
}

TEST(SplitPlan, short_batches_get_fewer_pieces_rather_than_short_ones) {
    const SplitPlan plan = split_plan(std::vector<std::int32_t>{1000}, {.heads = 1, .blocks = 264});
    EXPECT_EQ(plan.pieces(), 3U);
    for (std::size_t piece = 0; piece < 3; ++piece) EXPECT_GE(tokens_of(plan, piece), 256);
    EXPECT_EQ(split_plan(std::vector<std::int32_t>{1}, {.blocks = 264}).pieces(), 1U);
}

TEST(SplitPlan, a_sequence_that_one_piece_reads_whole_needs_no_combining) {
    const SplitPlan plan = split_plan(std::vector<std::int32_t>(64, 512), {.heads = 1, .blocks = 64});
    for (const Segment& segment : plan.segments) EXPECT_EQ(segment.partials, 1);
    EXPECT_EQ(plan.segments.size(), 64U);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
