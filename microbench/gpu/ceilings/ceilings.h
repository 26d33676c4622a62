#pragma once
// What memory, tensor cores and launches give at best: the denominators of every other row.
#include <cstdint>
#include <memory>

#include "microbench/gpu/device/kernel.h"

namespace paretoken::microbench::gpu {

/// shares: each thread block walks one contiguous part; strided: all walk the same front; staged: parts as
/// with shares, but through shared memory, so that loads are under way all the time.
enum class Access { strided, shares, staged };

/// Reads `bytes` (a multiple of 16) per launch.
std::unique_ptr<GpuKernel> read_ceiling(std::uint64_t bytes, Access access);

}  // namespace paretoken::microbench::gpu
