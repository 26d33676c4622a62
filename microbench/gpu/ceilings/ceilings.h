#pragma once
// Kernels that are made to reach the highest speed of memory, tensor cores and launches. The results of all
// other rows are compared with theirs.
#include <cstdint>
#include <memory>

#include "microbench/gpu/device/kernel.h"

namespace paretoken::microbench::gpu {

/// How a read kernel divides the memory. With `shares` each thread block reads one contiguous part. With
/// `strided` all blocks together read one contiguous region after the other. `staged` divides like `shares`,
/// but copies through shared memory, so that loads are always in flight.
enum class Access { strided, shares, staged };

/// Returns a kernel whose launch reads this many bytes of device memory once. `bytes` is a multiple of 16.
std::unique_ptr<GpuKernel> read_ceiling(std::uint64_t bytes, Access access);

}  // namespace paretoken::microbench::gpu
