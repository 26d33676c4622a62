#pragma once
// CUDA's status codes as RuntimeErrors that say what was tried and where.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include "core/error.h"

namespace paretoken::microbench::gpu {

inline void require(cudaError_t status, const char* what, const char* file, int line) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // said here, and not again by the next launch
    throw RuntimeError(fmt::format("{}: {} ({}, {}:{})", what, cudaGetErrorString(status),
                                   cudaGetErrorName(status), file, line));
}

}  // namespace paretoken::microbench::gpu

/// PARETOKEN_CUDA(cudaMemcpy(…)): throws unless it succeeds.
#define PARETOKEN_CUDA(call) ::paretoken::microbench::gpu::require((call), #call, __FILE__, __LINE__)
/// After a kernel launch: throws when it was refused.
#define PARETOKEN_CUDA_LAUNCHED() PARETOKEN_CUDA(cudaGetLastError())
