#include "microbench/cpu/machine.h"

#include <gtest/gtest.h>

#include <set>

namespace paretoken::microbench {
namespace {

TEST(Machine, lists_of_cpus_are_read_as_sysfs_writes_them) {
    EXPECT_EQ(cpu_list_of("0"), std::vector<int>{0});
    EXPECT_EQ(cpu_list_of("0-3"), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(cpu_list_of("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
    EXPECT_EQ(cpu_list_of("5,7-8\n"), (std::vector<int>{5, 7, 8}));
    EXPECT_TRUE(cpu_list_of("").empty());
    EXPECT_EQ(cpu_list_of("1,x"), std::vector<int>{1});
}

TEST(Machine, there_is_a_cpu_to_measure_on_and_none_comes_twice) {
    const auto cpus = measuring_cpus();
    ASSERT_FALSE(cpus.empty());
    EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()).size(), cpus.size());
}

TEST(Machine, a_shared_cache_counts_once) {
    const auto cpus = measuring_cpus();
    const auto once = last_level_cache_bytes({cpus.front()});
    EXPECT_EQ(last_level_cache_bytes({cpus.front(), cpus.front()}), once);
    EXPECT_LE(last_level_cache_bytes(cpus), once * cpus.size());
}

TEST(Machine, some_memory_is_available) {
    EXPECT_GT(available_memory_bytes().value_or(0), 64u << 20);
}

}  // namespace
}  // namespace paretoken::microbench
