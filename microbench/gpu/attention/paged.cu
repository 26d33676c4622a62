#include "microbench/gpu/attention/paged.cuh"

#include "microbench/gpu/device/fill.cuh"

namespace paretoken::microbench::gpu {
namespace {

struct CodeAt {
    KvFormat format;
    std::uint64_t seed;
    __device__ std::uint16_t operator()(std::size_t i) const { return random_code(format, seed, i); }
};
struct ScaleAt {
    std::uint64_t seed;
    __device__ float operator()(std::size_t i) const { return random_scale(seed, i); }
};

int attribute_of(cudaDeviceAttr attribute) {
    int device = 0;
    int value = 0;
    PARETOKEN_CUDA(cudaGetDevice(&device));
    PARETOKEN_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
    return value;
}

}  // namespace

void fill_codes(KvFormat format, std::uint64_t seed, void* at, std::uint64_t count) {
    if (bytes_of(format) == 2) {
        fill_kernel<<<2048, 256>>>(static_cast<std::uint16_t*>(at), count, CodeAt{format, seed});
    } else {
        fill_kernel<<<2048, 256>>>(static_cast<std::uint8_t*>(at), count, CodeAt{format, seed});
    }
    PARETOKEN_CUDA_LAUNCHED();
}

void fill_scales(std::uint64_t seed, const DeviceBuffer<float>& scales) {
    fill(scales, ScaleAt{seed});
}

LaunchShape launch_shape(const void* kernel, int stage_bytes, int fixed_bytes) {
    const int most_shared = attribute_of(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const int multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    PARETOKEN_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    LaunchShape best;
    int best_under_way = 0;
    for (int stages = 2; stages <= kMaxStages; ++stages) {
        const int bytes = stages * stage_bytes + fixed_bytes;
        if (bytes > most_shared) break;
        PARETOKEN_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        int blocks = 0;
        PARETOKEN_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads,
                                                                     static_cast<std::size_t>(bytes)));
        const int under_way = blocks * (stages - 1) * stage_bytes;
        if (under_way <= best_under_way) continue;
        best_under_way = under_way;
        best = {stages, blocks * multiprocessors, static_cast<std::size_t>(bytes)};
    }
    if (best_under_way == 0) {
        throw RuntimeError(fmt::format(
            "this GPU has {} bytes of shared memory per block, which cannot hold two stages of {} bytes",
            most_shared, stage_bytes));
    }
    PARETOKEN_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(best.shared_bytes)));
    return best;
}

}  // namespace paretoken::microbench::gpu
