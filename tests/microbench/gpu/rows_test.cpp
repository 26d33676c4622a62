// The table of GPU rows: what is listed, without a GPU, for one that is made up.
#include "microbench/gpu/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <regex>
#include <set>

#include "microbench/gpu/device.h"
#include "microbench/gpu/gemm_suite.h"

namespace paretoken::microbench::gpu {
namespace {

#ifdef PARETOKEN_HAS_CUDA

DeviceFacts h200() {
    return {.name = "NVIDIA H200",
            .pci_bus_id = {},
            .capability = 90,
            .multiprocessors = 132,
            .l2_bytes = 60ULL << 20,
            .memory_bytes = 150754820096ULL,
            .shared_bytes_per_block = 232448};
}

std::vector<std::string> names_of(const GpuSettings& settings) {
    std::vector<std::string> names;
    for (const auto family :
         {ceiling_rows, weight_rows, attention_rows, mla_rows, layer_rows, prefill_rows, copy_rows}) {
        for (const GpuRow& row : family(settings, h200())) names.push_back(row.name);
    }
    // Whether this machine has the library or not.
    for (const GemmRow& row : gemm_suite(settings, h200().capability)) names.push_back(row.name);
    return names;
}

std::vector<std::string> lines_of(const std::string& command) {
    std::vector<std::string> lines;
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return lines;
    char line[1024];
    while (fgets(line, sizeof line, pipe) != nullptr) {
        lines.emplace_back(line);
        while (!lines.back().empty() && lines.back().back() == '\n') lines.back().pop_back();
    }
    pclose(pipe);
    return lines;
}

/// What a script of gpu_check says, a line each.
std::vector<std::string> said_by_gpu_check(const std::string& expression) {
    return lines_of(
        "PYTHONDONTWRITEBYTECODE=1 python3 -c \"import sys; sys.path.insert(0, '" PARETOKEN_SOURCE_DIR
        "/scripts'); from gpu import peers, stages; print(*" +
        expression + ", sep='\\n')\"");
}

TEST(GpuRows, no_two_have_one_name) {
    for (const GpuSettings& settings : {GpuSettings{}, GpuSettings{.quick = true}, GpuSettings{.full = true},
                                        GpuSettings{.verify_only = true}}) {
        const auto names = names_of(settings);
        EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
    }
}

TEST(GpuRows, the_default_suite_is_small_enough_for_three_minutes) {
    // A row takes some .4 s: .1 s of warming up, 31 replays of 5 ms, its memory and its check; half as much
    // again is left for rows that are measured twice, and the larger ones.
    constexpr double kSeconds = 0.6;
    EXPECT_LE(static_cast<double>(names_of({}).size()) * kSeconds, 180);
    EXPECT_LE(static_cast<double>(names_of({.quick = true}).size()) * kSeconds / 2, 20);
}

TEST(GpuRows, what_peers_are_held_against_is_listed) {
    const auto names = names_of({.full = true});
    const auto peers = said_by_gpu_check("peers.row_names()");
    ASSERT_GT(peers.size(), 10u);
    for (const std::string& peer : peers)
        EXPECT_NE(std::find(names.begin(), names.end(), peer), names.end()) << peer;
}

TEST(GpuRows, what_is_to_be_proven_is_in_the_default_suite) {
    const auto names = names_of({});
    const auto patterns = said_by_gpu_check("stages.PROVEN_ROWS");
    ASSERT_EQ(patterns.size(), 8u);
    for (const std::string& pattern : patterns) {
        const std::regex expression(pattern);
        EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& name) {
            return std::regex_search(name + "/backend:gpu/mode:ring", expression);
        })) << pattern;
    }
}

TEST(GpuRows, each_belongs_to_a_family_of_gpu_check_and_to_one_only) {
    std::vector<std::regex> families;
    for (const std::string& family : said_by_gpu_check("stages.FAMILIES"))
        families.emplace_back("^(" + family + ")");
    ASSERT_FALSE(families.empty());
    for (const std::string& name : names_of({.full = true})) {
        EXPECT_EQ(std::count_if(families.begin(), families.end(),
                                [&](const std::regex& family) { return std::regex_search(name, family); }),
                  1)
            << name;
    }
}

#endif

}  // namespace
}  // namespace paretoken::microbench::gpu
