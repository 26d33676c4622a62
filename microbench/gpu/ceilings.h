#pragma once
// What memory, tensor cores and launches give at best: the denominators of every other row.
#include <cstdint>
#include <memory>

#include "microbench/gpu/kernel.h"

namespace paretoken::microbench::gpu {

/// shares: each thread block walks one contiguous part; strided: all walk the same front.
enum class Access { strided, shares };

/// Reads `bytes` (a multiple of 16) per launch.
std::unique_ptr<GpuKernel> read_ceiling(std::uint64_t bytes, Access access);

}  // namespace paretoken::microbench::gpu
