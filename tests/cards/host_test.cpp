#include "cards/host.h"

#include <gtest/gtest.h>

namespace paretoken::cards {
namespace {

TEST(Host, NamesTheMachineItRunsOn) {
    const HostFacts facts = this_host();
    EXPECT_FALSE(facts.name.empty());
    EXPECT_FALSE(facts.cpu.empty());
    EXPECT_NE(facts.kernel.find(' '), std::string::npos);
    EXPECT_GE(facts.cores, 1u);
    EXPECT_GT(facts.memory_bytes, 1u << 20);
}

TEST(Host, FoldsTheBlanksOfTheCpuName) {
    const std::string cpu = this_host().cpu;
    EXPECT_EQ(cpu.find("  "), std::string::npos);
    EXPECT_NE(cpu.front(), ' ');
    EXPECT_NE(cpu.back(), ' ');
}

TEST(Host, IsTheSameEveryTime) {
    EXPECT_EQ(this_host(), this_host());
}

}  // namespace
}  // namespace paretoken::cards
