#include "tests/virtual_gpu/runtime/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::virtual_gpu {
namespace {

TEST(KernelNames, do_not_depend_on_where_a_source_lies) {
    const std::string here = "_ZN3gpu44_GLOBAL__N__e22a9996_11_ceilings_cu_2f8b286e12empty_kernelEv";
    const std::string there = "_ZN3gpu44_GLOBAL__N__00000000_11_ceilings_cu_1234567812empty_kernelEv";
    const std::string other = "_ZN3gpu44_GLOBAL__N__e22a9996_11_weighing_cu_2f8b286e12empty_kernelEv";
    EXPECT_EQ(settled_name(here), settled_name(there));
    EXPECT_NE(settled_name(here), settled_name(other));
    EXPECT_NE(settled_name(here),
              settled_name("_ZN3gpu44_GLOBAL__N__e22a9996_11_ceilings_cu_2f8b286e12other_kernelEv"));
    EXPECT_EQ(settled_name("_Z5plainv"), "_Z5plainv");
    EXPECT_EQ(settled_name("_GLOBAL__N_"), "_GLOBAL__N_");
}

TEST(KernelNames, are_read_without_the_projects_namespaces) {
    EXPECT_EQ(
        readable_name(
            "_ZN9paretoken10microbench3gpu44_GLOBAL__N__e22a9996_11_ceilings_cu_2f8b286e12empty_kernelEv"),
        "empty_kernel()");
    EXPECT_EQ(readable_name("plain"), "plain");
}

TEST(KernelNames, are_those_of_a_files_entries) {
    EXPECT_THAT(entries_of(".visible .entry _Z1av(\n.param .u64 x)\n{ }\n.entry _Z1bi()\n"),
                ::testing::ElementsAre("_Z1av", "_Z1bi"));
    EXPECT_THAT(entries_of(""), ::testing::IsEmpty());
}

}  // namespace
}  // namespace paretoken::virtual_gpu
