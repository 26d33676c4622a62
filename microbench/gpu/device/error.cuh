#pragma once
// Turns CUDA status codes into RuntimeErrors that name the failed call, the file and the line.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <string_view>

#include "core/error.h"

namespace paretoken::microbench::gpu {

inline void require(cudaError_t status, const char* what, const char* file, int line) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // clears the error, so that the check after the next launch does not report it again
    const std::string_view path = file;
    throw RuntimeError(fmt::format("{}: {} ({}, {}:{})", what, cudaGetErrorString(status),
                                   cudaGetErrorName(status), path.substr(path.rfind('/') + 1), line));
}

}  // namespace paretoken::microbench::gpu

/// PARETOKEN_CUDA(cudaMemcpy(…)) throws unless the call succeeds.
#define PARETOKEN_CUDA(call) ::paretoken::microbench::gpu::require((call), #call, __FILE__, __LINE__)
/// Placed after a kernel launch, it throws if CUDA refused the launch.
#define PARETOKEN_CUDA_LAUNCHED() PARETOKEN_CUDA(cudaGetLastError())
