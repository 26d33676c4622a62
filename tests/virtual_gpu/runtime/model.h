#pragma once
// Which GPU is imitated: its limits, how much it has of everything, how fast it is taken to be. Pure. Limits
// are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability"); speeds are
// nobody's promise, but of the size of a large GPU's, so that what is computed from modelled times comes out
// plausible.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/virtual_gpu/launch.h"

namespace paretoken::virtual_gpu {

/// Of a compute capability.
struct Limits {
    int capability = 0;  ///< 90 for 9.0
    std::size_t shared_per_multiprocessor = 0;
    std::size_t shared_per_block = 0;  ///< opt-in
    int threads_per_multiprocessor = 0;
    int blocks_per_multiprocessor = 0;

    bool operator==(const Limits&) const = default;
};

constexpr std::size_t kSharedWithoutAsking = 48 << 10;
constexpr std::size_t kSharedReserved = 1 << 10;  ///< of each resident block, since sm_80
constexpr unsigned kMostThreads = 1024;

/// UsageError: not known; names those that are.
const Limits& limits_of(int capability);

struct Speeds {
    double memory_bytes_per_s = 4.3e12;
    double flops_per_s = 6e14;  ///< of matrix instructions
    double copy_bytes_per_s = 50e9;
    double launch_s = 2.2e-6;  ///< a kernel takes at least this
    double node_s = 1.4e-6;    ///< the same in a graph
    double copy_s = 5e-6;      ///< before a copy's first byte

    bool operator==(const Speeds&) const = default;
};

struct Settings {
    int capability = 90;
    int multiprocessors = 4;  ///< few: grids that fill the GPU stay small
    std::size_t memory_bytes = 2'000'000'000;
    std::size_t l2_bytes = 1 << 20;
    bool lazy = true;  ///< a stream's work waits until somebody waits for that stream
    std::uint64_t seed = 1;
    /// Of one kernel in one shape of launch, so many are run in graphs; later ones only take the time that
    /// the last one took. For measuring loops, whose results nobody reads. 0: all are run.
    std::uint64_t graph_runs = 0;
    bool check_races = true;
    bool check_initialised = true;
    Speeds speeds = {};

    bool operator==(const Settings&) const = default;
    std::string name() const;  ///< "virtual GPU (sm_90)"
};

/// "sm:90,multiprocessors:4,memory:2G,l2:1M,order:eager,seed:3,graph_runs:2,races:off,initialised:off", every
/// field optional. UsageError says which is wrong and what there is.
Settings settings_of(std::string_view text);

/// Blocks that run at once on a multiprocessor. Registers are not in PTX: 64 per thread are assumed, of which
/// a multiprocessor has for 1024 threads.
int resident_blocks(const Limits& limits, int threads, std::size_t shared_bytes);

/// Seconds of a launch that takes at least `least_s`: bound by its distinct bytes or its matrix instructions.
double launch_seconds(const Speeds& speeds, const LaunchReport& report, double least_s);

}  // namespace paretoken::virtual_gpu
