#pragma once
// Fills device memory with random numbers that are legal for their format. The memory is not filled with
// zeros, because a GPU moves zeros faster. The value of an element is a function of the seed and of the
// element's index.
#include <cuda_runtime.h>

#include <cstdint>

#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/formats/random_words.h"

namespace paretoken::microbench::gpu {

struct RandomCodes {
    WeightFormat format;
    std::uint64_t seed;
    __device__ std::uint32_t operator()(std::size_t i) const {
        return random_code_word(format, random_bits_at(seed, i));
    }
};
struct RandomScales {
    WeightFormat format;
    std::uint64_t seed;
    __device__ std::uint32_t operator()(std::size_t i) const {
        return random_scale_word(format, random_bits_at(seed, i));
    }
};
struct RandomActivations {
    bool bf16;
    std::uint64_t seed;
    __device__ std::uint16_t operator()(std::size_t i) const {
        const auto bits = static_cast<std::uint32_t>(random_bits_at(seed, i));
        return bf16 ? random_bf16_of(bits) : random_fp16_of(bits);
    }
};
struct RandomWords {
    std::uint64_t seed;
    __device__ std::uint32_t operator()(std::size_t i) const {
        return static_cast<std::uint32_t>(random_bits_at(seed, i));
    }
};

template <class Value, class Generate>
__global__ void fill_kernel(Value* to, std::size_t count, Generate generate) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        to[i] = generate(i);
    }
}

/// Sets element i of the buffer to generate(i), on the default stream.
template <class Value, class Generate>
void fill(const DeviceBuffer<Value>& buffer, Generate generate) {
    if (buffer.size() == 0) return;
    fill_kernel<<<2048, 256>>>(buffer.data(), buffer.size(), generate);
    PARETOKEN_CUDA_LAUNCHED();
}

}  // namespace paretoken::microbench::gpu
