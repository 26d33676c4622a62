#pragma once
// Decode attention as something to be timed; its rows are in rows.h. Compiles without CUDA, links with it.
#include <memory>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

/// `plant_fault`: the values of one page are others than the reference has.
std::unique_ptr<GpuKernel> attention_kernel(const AttentionOptions& options, bool plant_fault = false);
std::unique_ptr<GpuKernel> mla_kernel(const MlaOptions& options, bool plant_fault = false);

}  // namespace paretoken::microbench::gpu
