// Tests the table of GPU rows without a GPU: which rows are listed for assumed properties of a GPU.
#include "microbench/gpu/rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <regex>
#include <set>

#include "microbench/gpu/device/device.h"
#include "microbench/gpu/gemm/gemm_suite.h"
#include "microbench/gpu/protocol.h"
#include "tests/support/paths.h"

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
    // The suite is used directly, so that these rows do not depend on whether this machine has the library.
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

/// Returns the items of a Python expression over the modules of scripts/gpu, one in each line.
std::vector<std::string> said_by_gpu_check(const std::string& expression) {
    return lines_of("PYTHONDONTWRITEBYTECODE=1 python3 -c \"import sys; sys.path.insert(0, '" +
                    paretoken::paths::source_dir() + "/scripts'); from gpu import peers, stages; print(*" +
                    expression + ", sep='\\n')\"");
}

TEST(GpuRows, no_two_have_one_name) {
    for (const GpuSettings& settings : {GpuSettings{}, GpuSettings{.quick = true}, GpuSettings{.full = true},
                                        GpuSettings{.verify_only = true}}) {
        const auto names = names_of(settings);
        EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
    }
}

// ---- the duration of a suite, from the protocol and from measured or assumed times of the other steps

/// Returns the seconds that the host needs for the fp64 references in the check of a row: the mean of the
/// family, measured on one core of an AMD EPYC. The time of layers is an estimate from their attention.
double reference_seconds(const std::string& name) {
    const std::pair<const char*, double> kMeasured[] = {
        {"attention/", .4}, {"mla/", .6}, {"prefill/attention/", 1.2}, {"layer/", .6}};
    for (const auto& [family, seconds] : kMeasured) {
        if (name.starts_with(family)) return seconds;
    }
    return 0;
}

/// Returns whether the arithmetic of a row lowers the clocks, so that it is warmed up until its times are
/// steady.
bool settles(const std::string& name) {
    return name.starts_with("ceiling/flops/") || name.starts_with("prefill/") ||
           (name.starts_with("gemm_lib/") && name.ends_with("batch:256"));
}

double replay_seconds(const Protocol& p, int count) {
    return p.replay_s * (count + p.uncounted_replays);
}

double row_seconds(const std::string& name, const Protocol& p) {
    constexpr double kPrepared = .03;  // seconds to allocate 4 GiB, fill it with random numbers, and free it
    constexpr double kChecked = .05;   // seconds of the check on the GPU, in fp64
    constexpr double kAsked = .03;     // seconds to ask the driver twice
    constexpr double kAgain = .1;      // fraction of the rows that are measured twice
    constexpr int kSteps = 2;          // steps until a row is steady
    const double reference_s = reference_seconds(name);
    double seconds = kPrepared + kChecked + kAsked + reference_s;
    seconds += reference_s > .1 ? p.first_warm_up_s : p.waking_s;  // the GPU idles during a long check
    seconds += p.warm_up_s + replay_seconds(p, p.replays) * (1 + kAgain);
    seconds += p.replay_s * p.watched_replays + p.probe_s * (p.probe_replays + p.uncounted_replays);
    if (settles(name)) seconds += kSteps * p.settling_step_s;
    constexpr int kParts = 15;  // parts of a layer: 9 of a dense layer, up to 15 of a routed one
    if (name.starts_with("layer/")) seconds += kParts * replay_seconds(p, p.part_replays) / 2;
    return seconds;
}

/// Returns the seconds that one process needs before its first row.
double start_seconds(const Protocol& p) {
    constexpr double kContext = 1;   // seconds to create the CUDA context
    constexpr double kPoint = .035;  // seconds per point to allocate memory and capture a thousand launches
    constexpr int kWays = 3;
    double seconds = kContext + p.first_warm_up_s;
    for (const std::uint64_t bytes : kCurveSizes) {
        const int ways = bytes < kWaysDifferFrom ? 1 : kWays;
        seconds += ways * (kPoint + p.waking_s + replay_seconds(p, p.ceiling_replays));
    }
    return seconds;
}

double suite_seconds(const GpuSettings& settings, std::size_t processes) {
    const Protocol protocol = protocol_of(settings);
    double seconds = static_cast<double>(processes) * start_seconds(protocol);
    for (const std::string& name : names_of(settings)) seconds += row_seconds(name, protocol);
    return seconds;
}

TEST(GpuRows, the_default_suite_is_small_enough_for_three_minutes) {
    const std::size_t families = said_by_gpu_check("stages.FAMILIES").size();
    ASSERT_GT(families, 4u);
    EXPECT_LE(suite_seconds({}, families), 180) << "scripts/gpu_check runs one process for each family";
    EXPECT_LE(suite_seconds({}, 1), 170);
    EXPECT_LE(suite_seconds({.quick = true}, 1), 20);
    RecordProperty("seconds", std::to_string(suite_seconds({}, families)));
    fmt::print("estimated: {:.0f} s with {} processes, {:.0f} s with one, {:.0f} s for --quick\n",
               suite_seconds({}, families), families, suite_seconds({}, 1),
               suite_seconds({.quick = true}, 1));
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
