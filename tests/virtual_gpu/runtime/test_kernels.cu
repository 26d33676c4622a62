#include "tests/virtual_gpu/runtime/test_kernels.h"

#include <cuda_runtime.h>

namespace paretoken::virtual_gpu::testing {
namespace {

constexpr unsigned kThreads = 64;

__global__ void copy_kernel(const int* from, int* to, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) to[i] = from[i];
}

__global__ void add_kernel(int* at, int count, short by, double unused) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) at[i] += by + static_cast<int>(unused);
}

__global__ void empty_kernel() {}

__global__ void __launch_bounds__(64) bounded_kernel() {}

__global__ void shared_kernel(int* at) {
    __shared__ int words[1024];
    words[threadIdx.x] = at[threadIdx.x];
    __syncthreads();
    at[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

__global__ void past_kernel(int* at, int count) {
    at[count] = 1;
}

unsigned blocks_for(int count) {
    return (static_cast<unsigned>(count) + kThreads - 1) / kThreads;
}

/// The status of this launch; the error of an earlier call is removed first.
template <class Launch>
cudaError_t status_of(const Launch& launch) {
    cudaGetLastError();
    launch();
    return cudaGetLastError();
}

}  // namespace

cudaError_t copy_words(const int* from, int* to, int count, cudaStream_t stream) {
    return status_of([&] { copy_kernel<<<blocks_for(count), kThreads, 0, stream>>>(from, to, count); });
}

cudaError_t add_to_words(int* at, int count, short by, double unused, cudaStream_t stream) {
    return status_of([&] { add_kernel<<<blocks_for(count), kThreads, 0, stream>>>(at, count, by, unused); });
}

cudaError_t nothing(const Shape& shape) {
    return status_of([&] { empty_kernel<<<shape.blocks, shape.threads, shape.shared, shape.stream>>>(); });
}

cudaError_t nothing_bounded(const Shape& shape) {
    return status_of([&] { bounded_kernel<<<shape.blocks, shape.threads, shape.shared, shape.stream>>>(); });
}

const void* nothing_kernel() {
    return reinterpret_cast<const void*>(empty_kernel);
}

const void* with_static_shared() {
    return reinterpret_cast<const void*>(shared_kernel);
}

cudaError_t write_past(int* at, int count, cudaStream_t stream) {
    return status_of([&] { past_kernel<<<1, 1, 0, stream>>>(at, count); });
}

}  // namespace paretoken::virtual_gpu::testing
