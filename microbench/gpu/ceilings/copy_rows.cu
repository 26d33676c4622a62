// The rows copy/{h2d,d2h}/mib:N/memory:{pinned,pageable}. They measure the cost of moving a KV cache or
// weights between host and GPU with the GPU's copy engines, in one direction at a time.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "microbench/gpu/device/device.h"
#include "microbench/gpu/device/fill.cuh"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

enum class Direction { to_device, to_host };
enum class HostMemory { pinned, pageable };

struct FreePinned {
    void operator()(void* at) const { cudaFreeHost(at); }
};

/// 32-bit words of host memory, not initialised.
class HostBuffer {
  public:
    HostBuffer() = default;
    HostBuffer(HostMemory memory, std::size_t size) {
        if (memory == HostMemory::pageable) {
            pageable_ = std::make_unique_for_overwrite<std::uint32_t[]>(size);
            return;
        }
        void* at = nullptr;
        const cudaError_t status = cudaMallocHost(&at, size * sizeof(std::uint32_t));
        if (status == cudaErrorMemoryAllocation) {
            cudaGetLastError();  // clears the error; the CUDA context stays usable
            throw RuntimeError(fmt::format(
                "the host has no {} MiB of memory to pin: use a smaller size, or end other programs",
                size * sizeof(std::uint32_t) >> 20));
        }
        PARETOKEN_CUDA(status);
        pinned_.reset(static_cast<std::uint32_t*>(at));
    }
    std::uint32_t* data() const { return pinned_ ? pinned_.get() : pageable_.get(); }

  private:
    std::unique_ptr<std::uint32_t, FreePinned> pinned_;
    std::unique_ptr<std::uint32_t[]> pageable_;
};

std::uint32_t word_at(std::uint64_t seed, std::size_t place) {
    return static_cast<std::uint32_t>(random_bits_at(seed, place));
}

__global__ void count_wrong(const std::uint32_t* words, std::size_t count, std::uint64_t seed,
                            unsigned long long* wrong) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        if (words[i] != static_cast<std::uint32_t>(random_bits_at(seed, i))) atomicAdd(wrong, 1ULL);
    }
}

class CopyKernel : public GpuKernel {
  public:
    CopyKernel(Direction direction, HostMemory memory, std::uint64_t bytes, bool plant_fault)
        : direction_(direction), memory_(memory), words_(bytes / 4), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override { return 0; }
    Work work() const override {
        const auto bytes = static_cast<double>(words_ * 4);
        return direction_ == Direction::to_device ? Work{.written_bytes = bytes} : Work{.read_bytes = bytes};
    }
    void prepare(std::size_t, std::uint64_t seed) override {
        seed_ = seed;
        host_ = HostBuffer(memory_, words_);
        device_ = DeviceBuffer<std::uint32_t>(words_);
        for (std::size_t i = 0; i < words_; ++i) host_.data()[i] = word_at(seed, i);
        fill(device_, RandomWords{seed});
    }
    std::optional<std::string> check(Stream stream) override {
        const std::size_t wrong =
            direction_ == Direction::to_device ? wrong_on_device(stream) : wrong_on_host(stream);
        if (wrong == 0) return std::nullopt;
        return fmt::format("{} of {} words are wrong", wrong, words_);
    }
    void launch(std::size_t, Stream stream) override {
        if (direction_ == Direction::to_device) {
            PARETOKEN_CUDA(
                cudaMemcpyAsync(device_.data(), host_.data(), words_ * 4, cudaMemcpyHostToDevice, stream));
        } else {
            PARETOKEN_CUDA(
                cudaMemcpyAsync(host_.data(), device_.data(), words_ * 4, cudaMemcpyDeviceToHost, stream));
        }
    }

  private:
    std::size_t wrong_on_device(Stream stream) {
        const DeviceBuffer<unsigned long long> wrong(1);
        PARETOKEN_CUDA(cudaMemsetAsync(wrong.data(), 0, wrong.bytes(), stream));
        device_.fill(0xa5, stream);
        if (plant_fault_) host_.data()[words_ / 2] ^= 1;
        launch(0, stream);
        count_wrong<<<1024, 256, 0, stream>>>(device_.data(), words_, seed_, wrong.data());
        PARETOKEN_CUDA_LAUNCHED();
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        return wrong.download().front();
    }
    std::size_t wrong_on_host(Stream stream) {
        for (std::size_t i = 0; i < words_; ++i) host_.data()[i] = 0xa5a5a5a5U;
        if (plant_fault_) PARETOKEN_CUDA(cudaMemsetAsync(device_.data() + words_ / 2, 0xa5, 4, stream));
        launch(0, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < words_; ++i) wrong += host_.data()[i] != word_at(seed_, i) ? 1 : 0;
        return wrong;
    }

    Direction direction_;
    HostMemory memory_;
    std::size_t words_;
    bool plant_fault_;
    std::uint64_t seed_ = 0;
    HostBuffer host_;
    DeviceBuffer<std::uint32_t> device_;
};

}  // namespace

std::vector<GpuRow> copy_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<std::uint64_t> mebibytes{1, 16, 256};
    if (settings.verify_only) mebibytes = {1};
    if (settings.quick) mebibytes = {256};
    if (settings.full) mebibytes = {1, 4, 16, 64, 256, 1024};
    // One size for comparison is enough, because the driver copies pageable memory twice at every size.
    constexpr std::uint64_t kPageable = 64;
    std::vector<GpuRow> rows;
    for (const auto& [direction, name] :
         {std::pair{Direction::to_device, "h2d"}, std::pair{Direction::to_host, "d2h"}}) {
        const auto add = [&, direction = direction, name = name](HostMemory memory, std::uint64_t mib) {
            const char* const kind = memory == HostMemory::pinned ? "pinned" : "pageable";
            rows.push_back({fmt::format("copy/{}/mib:{}/memory:{}", name, mib, kind),
                            [=, fault = settings.plant_fault] {
                                return std::make_unique<CopyKernel>(direction, memory, mib << 20, fault);
                            },
                            Launching::stream});
        };
        for (const std::uint64_t mib : mebibytes) add(HostMemory::pinned, mib);
        if (!settings.quick) add(HostMemory::pageable, settings.verify_only ? 1 : kPageable);
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
