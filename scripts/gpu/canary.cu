// Programs with a known fault or a known size, which the tools must report before their silence means
// anything:
//   canary oob      writes past an allocation (compute-sanitizer memcheck)
//   canary race     two warps write one shared word (compute-sanitizer racecheck)
//   canary read N   reads N MiB once, cold (ncu dram__bytes_read.sum)
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

__global__ void write_past_the_end(int* at, int size) {
    at[size + threadIdx.x] = 1;
}

__global__ void race(int* out) {
    __shared__ volatile int word;  // else the compiler leaves it out, and with it the race
    word = static_cast<int>(threadIdx.x);
    *out = word;
}

__global__ void canary_read(const uint4* at, size_t count, unsigned* out) {
    unsigned sum = 0;
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        sum += at[i].x ^ at[i].y ^ at[i].z ^ at[i].w;
    }
    if (sum == 0x12345678U) *out = sum;
}

int ended(const char* what) {
    const cudaError_t status = cudaDeviceSynchronize();
    std::printf("%s: %s\n", what, cudaGetErrorString(status));
    return status == cudaSuccess ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    const size_t bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1) << 20;
    unsigned char* memory = nullptr;
    if (cudaMalloc(&memory, bytes + 512) != cudaSuccess) return ended("no memory");
    auto* const words = reinterpret_cast<int*>(memory);
    if (std::strcmp(what, "oob") == 0) {
        write_past_the_end<<<1, 32>>>(words, static_cast<int>((bytes + 512) / sizeof(int)));
    } else if (std::strcmp(what, "race") == 0) {
        race<<<1, 64>>>(words);
    } else if (std::strcmp(what, "read") == 0) {
        cudaMemset(memory, 0x5a, bytes);
        unsigned char* other = nullptr;  // pushes what was written out of the caches
        if (cudaMalloc(&other, size_t{256} << 20) == cudaSuccess) cudaMemset(other, 1, size_t{256} << 20);
        canary_read<<<1024, 256>>>(reinterpret_cast<const uint4*>(memory), bytes / sizeof(uint4),
                                   reinterpret_cast<unsigned*>(memory + bytes));
    } else {
        std::fprintf(stderr, "usage: canary oob|race|read MIB\n");
        return 2;
    }
    return ended(what);
}
