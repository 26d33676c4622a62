#include "microbench/cpu/sampling.h"

#include <gtest/gtest.h>

#include "microbench/cpu/ceilings.h"

namespace paretoken::microbench {
namespace {

TEST(Sampling, every_action_has_a_time_for_every_round_that_was_kept) {
    PinnedThreads threads({0, 0});
    std::vector<std::size_t> calls(2);
    std::vector<std::size_t> last(2);
    const Action actions[] = {[&](std::size_t thread, std::size_t round) {
                                  calls[thread] += 1;
                                  last[thread] = round;
                              },
                              [](std::size_t, std::size_t) {}};
    const Rounds rounds = timed_rounds(threads, actions, {.seconds = 0.01, .least_rounds = 20});
    ASSERT_EQ(rounds.seconds.size(), 2u);
    EXPECT_EQ(rounds.seconds[0].size(), rounds.seconds[1].size());
    EXPECT_GE(rounds.seconds[0].size(), 20u);
    EXPECT_EQ(rounds.first + rounds.seconds[0].size(), last[0] + 1);
    EXPECT_EQ(calls[0], calls[1]);
    for (const double took : rounds.seconds[0]) EXPECT_GT(took, 0);
}

TEST(Sampling, one_lucky_window_does_not_make_a_variant_the_fastest) {
    const auto windows = [](double took) {
        return std::vector<PairedWindow>(9, {.kernel_s = took, .kernel_bytes = 1e6});
    };
    auto lucky = windows(2e-4);
    lucky[0].kernel_s = 1e-6;
    EXPECT_EQ(fastest({windows(1.5e-4), windows(1e-4), lucky}), 1u);
}

TEST(Sampling, reads_count_the_bytes_of_all_threads) {
    PinnedThreads threads({0, 0});
    ReadMemory memory({.total_bytes = 16 << 20, .threads = 2, .seed = 1});
    threads.run([&](std::size_t thread) { memory.prepare(thread); });
    const auto variants = read_variants(best_isa());
    for (const auto& windows :
         sample_reads(threads, memory, variants, {.seconds = 0.01, .least_rounds = 8})) {
        for (const PairedWindow& window : windows) {
            EXPECT_EQ(window.kernel_bytes, 2.0 * static_cast<double>(memory.window(0, 0).size));
        }
    }
    for (const auto& walks : sample_walks(threads, memory, variants, {.seconds = 0.01, .least_rounds = 2})) {
        for (const PairedWindow& walk : walks) EXPECT_EQ(walk.kernel_bytes, 16 << 20);
    }
}

TEST(Sampling, reads_of_a_size_have_windows_of_that_size_over_all_threads) {
    for (const std::uint64_t size : {128u << 10, 1u << 20}) {
        ReadMemory memory({.total_bytes = 16 << 20, .threads = 2, .seed = 1, .window_bytes = size});
        memory.prepare(0);
        memory.prepare(1);
        EXPECT_EQ(memory.window_count(), (16u << 20) / size);
        EXPECT_EQ(memory.window(0, 0).size + memory.window(1, 0).size, size);
    }
}

TEST(Sampling, random_reads_count_the_bytes_of_their_pages) {
    PinnedThreads threads({0});
    ReadMemory memory({.total_bytes = 16 << 20, .threads = 1, .seed = 1, .page_bytes = 4096});
    threads.run([&](std::size_t thread) { memory.prepare(thread); });
    const Window window = memory.window(0, 1);
    EXPECT_EQ(window.page_size, 4096u);
    EXPECT_EQ(window.pages.size(), window.size / 4096);
    const auto variants = read_variants(best_isa());
    for (const auto& windows : sample_reads(threads, memory, variants, {.seconds = 0.01, .least_rounds = 8}))
        for (const PairedWindow& read : windows)
            EXPECT_EQ(read.kernel_bytes, static_cast<double>(window.size));
}

}  // namespace
}  // namespace paretoken::microbench
