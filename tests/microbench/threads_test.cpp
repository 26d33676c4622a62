#include "microbench/threads.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace paretoken::microbench {
namespace {

TEST(PinnedThreads, every_thread_does_the_work_once_per_call) {
    PinnedThreads threads({0, 0, 0});
    std::vector<int> calls(3);
    for (int i = 0; i < 50; ++i) threads.run([&](std::size_t thread) { ++calls[thread]; });
    EXPECT_EQ(calls, (std::vector<int>{50, 50, 50}));
}

TEST(PinnedThreads, the_barrier_keeps_threads_in_step_even_when_they_share_a_cpu) {
    PinnedThreads threads({0, 0, 0, 0});
    SpinBarrier barrier(4);
    std::vector<int> step(4);
    std::atomic<bool> together = true;
    threads.run([&](std::size_t thread) {
        for (int i = 0; i < 200; ++i) {
            step[thread] = i;
            barrier.wait();
            for (const int other : step) together = together && other == i;
            barrier.wait();
        }
    });
    EXPECT_TRUE(together);
}

TEST(PinnedThreads, an_exception_comes_out_and_the_threads_go_on_serving) {
    PinnedThreads threads({0, 0});
    EXPECT_THROW(threads.run([](std::size_t thread) {
        if (thread == 1) throw std::runtime_error("out of memory");
    }),
                 std::runtime_error);
    int calls = 0;
    threads.run([&](std::size_t thread) { calls += thread == 0; });
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace paretoken::microbench
