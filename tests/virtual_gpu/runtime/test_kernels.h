#pragma once
// Functions that launch small kernels for the tests of the runtime. The kernels and the launches are in
// test_kernels.cu, because only nvcc compiles them.
#include <driver_types.h>

#include <cstddef>

namespace paretoken::virtual_gpu::testing {

struct Shape {
    unsigned blocks = 1;
    unsigned threads = 32;   ///< per block
    std::size_t shared = 0;  ///< bytes of dynamic shared memory per block
    cudaStream_t stream = nullptr;
};

// The functions that return a cudaError_t launch a kernel and return the status of the launch.

/// to[i] = from[i], with one thread per word.
cudaError_t copy_words(const int* from, int* to, int count, cudaStream_t stream);
/// at[i] += by + the integer part of `unused`. The offsets of the kernel's parameters are 0, 8, 12 and 16
/// bytes, so that a wrong layout of the parameters is noticed.
cudaError_t add_to_words(int* at, int count, short by, double unused, cudaStream_t stream);
/// Launch a kernel that does nothing. The kernel of nothing_bounded has launch bounds of 64 threads.
cudaError_t nothing(const Shape& shape);
cudaError_t nothing_bounded(const Shape& shape);
/// Returns the host function of the kernel of nothing(), by which CUDA's functions identify the kernel.
const void* nothing_kernel();
/// Returns the host function of a kernel with 4 KiB of static shared memory.
const void* with_static_shared();
/// Writes the word after the `count` words at `at`, which is out of bounds if these end an allocation.
cudaError_t write_past(int* at, int count, cudaStream_t stream);

}  // namespace paretoken::virtual_gpu::testing
