#pragma once
// The model of the GPU that is imitated: its limits, its sizes and its speeds. The functions are pure. The
// limits are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability"). The
// speeds are not those of a real GPU, but of the same magnitude as those of a large GPU, so that results that
// are computed from modelled times are plausible.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/virtual_gpu/launch.h"

namespace paretoken::virtual_gpu {

/// The limits of a compute capability.
struct Limits {
    int capability = 0;                         ///< 90 for compute capability 9.0
    std::size_t shared_per_multiprocessor = 0;  ///< bytes
    std::size_t shared_per_block = 0;           ///< bytes; the limit after an opt-in
    int threads_per_multiprocessor = 0;
    int blocks_per_multiprocessor = 0;

    bool operator==(const Limits&) const = default;
};

constexpr std::size_t kSharedWithoutAsking = 48 << 10;  ///< bytes per block without an opt-in
constexpr std::size_t kSharedReserved = 1 << 10;  ///< bytes that CUDA needs per resident block, since sm_80
constexpr unsigned kMostThreads = 1024;           ///< threads per block

/// Returns the limits of a compute capability × 10. Throws a UsageError that lists the known capabilities if
/// this one is not known.
const Limits& limits_of(int capability);

/// The speeds from which the duration of work is modelled.
struct Speeds {
    double memory_bytes_per_s = 4.3e12;
    double flops_per_s = 6e14;       ///< of matrix instructions
    double copy_bytes_per_s = 50e9;  ///< between host and device
    double launch_s = 2.2e-6;        ///< minimum time of a kernel outside of graphs
    double node_s = 1.4e-6;          ///< minimum time of a kernel in a graph
    double copy_s = 5e-6;            ///< time before the first byte of a copy

    bool operator==(const Speeds&) const = default;
};

struct Settings {
    int capability = 90;      ///< compute capability × 10
    int multiprocessors = 4;  ///< few, so that grids that fill the GPU are small
    std::size_t memory_bytes = 2'000'000'000;
    std::size_t l2_bytes = 1 << 20;
    bool lazy = true;        ///< the work of a stream is not done before the program waits for that stream
    std::uint64_t seed = 1;  ///< determines the order of thread blocks and of their warps
    /// How many launches of equal work (kernel, shape and parameters that are not pointers) are executed in
    /// graphs. Later ones are not executed; they take the modelled time of the last one that was. This is for
    /// measuring loops whose results are not read. 0: all launches are executed.
    std::uint64_t graph_runs = 0;
    bool check_races = true;
    bool check_initialised = true;
    Speeds speeds = {};

    bool operator==(const Settings&) const = default;
    std::string name() const;  ///< "virtual GPU (sm_90)"
};

/// Parses settings such as "sm:90,memory:2G". Every field is optional. The fields, with examples of their
/// values, are sm:90, multiprocessors:4, memory:2G, l2:1M, order:eager, seed:3, graph_runs:2, races:off and
/// initialised:off. Throws a UsageError that names the wrong field and the permitted values.
Settings settings_of(std::string_view text);

/// Number of blocks of this many threads and bytes of shared memory that run at once on a multiprocessor. PTX
/// does not state the number of registers: 64 per thread are assumed, so that the 65536 registers of a
/// multiprocessor suffice for 1024 threads.
int resident_blocks(const Limits& limits, int threads, std::size_t shared_bytes);

/// The modelled time of a launch in seconds: the largest of `least_s`, the time to move its distinct bytes
/// and the time of its matrix instructions.
double launch_seconds(const Speeds& speeds, const LaunchReport& report, double least_s);

}  // namespace paretoken::virtual_gpu
