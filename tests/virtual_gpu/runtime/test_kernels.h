#pragma once
// Small kernels for the tests of the runtime, and functions that launch them. The launches are in a .cu file
// because only nvcc compiles them.
#include <driver_types.h>

#include <cstddef>

namespace paretoken::virtual_gpu::testing {

struct Shape {
    unsigned blocks = 1;
    unsigned threads = 32;
    std::size_t shared = 0;
    cudaStream_t stream = nullptr;
};

/// to[i] = from[i], with one thread per word. The functions return the status of the launch.
cudaError_t copy_words(const int* from, int* to, int count, cudaStream_t stream);
/// at[i] += by. The offsets of the kernel's parameters are 0, 8, 12 and 16.
cudaError_t add_to_words(int* at, int count, short by, double unused, cudaStream_t stream);
/// Launches a kernel that does nothing. The kernel of nothing_bounded has launch bounds of 64 threads.
cudaError_t nothing(const Shape& shape);
cudaError_t nothing_bounded(const Shape& shape);
const void* nothing_kernel();
/// A kernel with 4 KiB of static shared memory.
const void* with_static_shared();
/// Writes the word after `count` words.
cudaError_t write_past(int* at, int count, cudaStream_t stream);

}  // namespace paretoken::virtual_gpu::testing
