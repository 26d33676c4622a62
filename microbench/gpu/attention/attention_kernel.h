#pragma once
// Creates the decode attention kernels of single rows, for grouped-query attention and for latent attention
// (MLA). This header compiles without CUDA, but the functions need it.
#include <memory>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

/// `plant_fault` overwrites the values of one page of the cache (for MLA the whole page) with other numbers,
/// so that the check must fail.
std::unique_ptr<GpuKernel> attention_kernel(const AttentionOptions& options, bool plant_fault = false);
std::unique_ptr<GpuKernel> mla_kernel(const MlaOptions& options, bool plant_fault = false);

}  // namespace paretoken::microbench::gpu
