// The rows ceiling/{read,write,copy,triad,random_read}/…, ceiling/flops/mma_sync and
// launch/{graph_node,empty}.
#include "microbench/gpu/ceilings/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "core/random.h"
#include "microbench/gpu/ceilings/ceilings_walk.h"
#include "microbench/gpu/device/device.h"
#include "microbench/gpu/device/fill.cuh"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/device/mma.cuh"
#include "microbench/gpu/protocol.h"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr int kThreads = kWalkThreads;
constexpr int kResident = 3;  // thread blocks per multiprocessor; limits the registers per thread

std::string_view name_of(Access access) {
    switch (access) {
        case Access::strided:
            return "strided";
        case Access::shares:
            return "shares";
        case Access::staged:
            return "staged";
    }
    return "";
}

/// Returns how many thread blocks of `kernel` run at the same time. With more blocks than that, the last ones
/// would start late and run with most of the GPU idle.
template <class... Parameters>
unsigned resident_blocks(void (*kernel)(Parameters...)) {
    int multiprocessors = 0;
    int blocks = 0;
    PARETOKEN_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    PARETOKEN_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0));
    return static_cast<unsigned>(multiprocessors * std::max(1, blocks));
}

// ---- kernels

/// Calls `visit(i, load(i))` for the words of this thread.
template <Access kAccess, class Load, class Visit>
__device__ __forceinline__ void walk(std::size_t words, Load load, Visit visit) {
    walk<kAccess>(Walker{blockIdx.x, gridDim.x, threadIdx.x}, words, load, visit);
}

__device__ __forceinline__ std::uint32_t folded(uint4 v) {
    return v.x ^ v.y ^ v.z ^ v.w;
}

/// Writes the exclusive or of the values of all threads of a block to out[block].
__device__ void put_folded(std::uint32_t value, std::uint32_t* out) {
    __shared__ std::uint32_t of_warps[kThreads / kLanes];
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
        value ^= __shfl_xor_sync(0xffffffffU, value, distance);
    if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = value;
    __syncthreads();
    if (threadIdx.x != 0) return;
    std::uint32_t all = 0;
    for (const std::uint32_t of_warp : of_warps) all ^= of_warp;
    out[blockIdx.x] = all;
}

template <Access kAccess>
__global__ void __launch_bounds__(kThreads, kResident)
    read_kernel(const uint4* from, std::size_t words, std::uint32_t* out) {
    const std::uint64_t policy = evict_first_policy();
    std::uint32_t value = 0;
    walk<kAccess>(
        words, [&](std::size_t i) { return load_streamed(from + i, policy); },
        [&](std::size_t, uint4 v) { value ^= folded(v); });
    put_folded(value, out);
}

constexpr int kStages = 4;  // 16 bytes per thread each, together 32 KiB of shared memory per block

/// Each thread copies its words kStages ahead to its own slots of shared memory, and reads only its own
/// slots. Groups of copies complete in order, so that the thread waits only for the oldest one. With loads to
/// registers, the compiled code waited for several loads together.
__global__ void __launch_bounds__(kThreads, kResident)
    staged_read_kernel(const uint4* from, std::size_t words, std::uint32_t* out) {
    __shared__ uint4 stages[kStages][kThreads];
    const std::uint64_t policy = evict_first_policy();
    const EvenShares shares = EvenShares::of(static_cast<std::uint32_t>(words), gridDim.x);
    const std::uint32_t end = shares.first(blockIdx.x + 1);
    std::uint32_t at = shares.first(blockIdx.x) + threadIdx.x;
    std::uint32_t value = 0;
    const auto fetch = [&](uint4* to, std::uint32_t word) {
        if (word < end) copy_async_16_streamed(to, from + word, policy);
        commit_copies();
    };
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(&stages[stage][threadIdx.x], at + stage * kThreads);
    while (at < end) {
#pragma unroll
        for (auto& stage : stages) {
            wait_for_copies<kStages - 1>();
            uint4* const mine = &stage[threadIdx.x];
            if (at < end) value ^= folded(*mine);
            fetch(mine, at + kStages * kThreads);
            at += kThreads;
        }
    }
    wait_for_copies<0>();
    put_folded(value, out);
}

/// Reads pieces of memory in the order of a table. Each lane has kInFlight loads in flight. If a piece needs
/// fewer loads per lane, the loads belong to several pieces. The entries of the table are read one round
/// ahead.
template <int kPieceWords>
__global__ void __launch_bounds__(kThreads, kResident)
    random_read_kernel(const uint4* from, const std::uint32_t* order, std::uint32_t pieces,
                       std::uint32_t* out) {
    constexpr int kLanesOfPiece = kPieceWords < kLanes ? kPieceWords : kLanes;
    constexpr int kLoads = kPieceWords / kLanesOfPiece;                   // loads of a lane for a piece
    constexpr int kPieces = kLoads < kInFlight ? kInFlight / kLoads : 1;  // pieces of a lane in a round
    constexpr int kBeside = kLanes / kLanesOfPiece;                       // pieces in one load of a warp
    static_assert(kPieces * kLoads % kInFlight == 0);
    const std::uint64_t policy = evict_first_policy();
    const std::uint32_t beside = threadIdx.x % kLanes / kLanesOfPiece;
    const uint4* const mine = from + threadIdx.x % kLanesOfPiece;
    constexpr std::uint32_t kOfWarp = kPieces * kBeside;
    const std::uint32_t step = gridDim.x * (kThreads / kLanes) * kOfWarp;
    std::uint32_t first = (blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes) * kOfWarp + beside;
    std::uint32_t next[kPieces];
    const auto read_entries = [&] {
#pragma unroll
        for (int i = 0; i < kPieces; ++i) {
            const std::uint32_t place = first + i * kBeside;
            next[i] = __ldg(order + (place < pieces ? place : 0));
        }
    };
    read_entries();
    std::uint32_t value = 0;
    // A warp continues while the first piece of its first lane exists, so that all its lanes run equally many
    // rounds.
    for (std::uint32_t ahead = first - beside; ahead < pieces; ahead += step) {
        const uint4* pieces_at[kPieces];
        bool exists[kPieces];
#pragma unroll
        for (int i = 0; i < kPieces; ++i) {
            pieces_at[i] = mine + static_cast<std::size_t>(next[i]) * kPieceWords;
            exists[i] = kOfWarp == 1 || first + i * kBeside < pieces;
        }
        first += step;
        read_entries();
#pragma unroll 1
        for (int round = 0; round < kPieces * kLoads / kInFlight; ++round) {
            uint4 loaded[kInFlight];
#pragma unroll
            for (int j = 0; j < kInFlight; ++j) {
                const int load = kPieces > 1 ? j % kLoads : round * kInFlight + j;
                loaded[j] = load_streamed(pieces_at[kPieces > 1 ? j / kLoads : 0] + load * kLanes, policy);
            }
#pragma unroll
            for (int j = 0; j < kInFlight; ++j)
                value ^= exists[kPieces > 1 ? j / kLoads : 0] ? folded(loaded[j]) : 0;
        }
    }
    put_folded(value, out);
}

__device__ __forceinline__ uint4 written_word(std::uint32_t seed, std::size_t i) {
    const auto x = static_cast<std::uint32_t>(i) * 0x9e3779b9U + seed;
    return {x, x ^ 0x85ebca6bU, x * 3U, ~x};
}

__device__ __forceinline__ void store_streamed(uint4* to, uint4 v) {
    __stcs(to, v);
}

__global__ void __launch_bounds__(kThreads, kResident)
    write_kernel(uint4* to, std::size_t words, std::uint32_t seed) {
    walk<Access::strided>(
        words, [&](std::size_t i) { return written_word(seed, i); },
        [&](std::size_t i, uint4 v) { store_streamed(to + i, v); });
}

__global__ void __launch_bounds__(kThreads, kResident)
    copy_kernel(const uint4* from, uint4* to, std::size_t words) {
    const std::uint64_t policy = evict_first_policy();
    walk<Access::strided>(
        words, [&](std::size_t i) { return load_streamed(from + i, policy); },
        [&](std::size_t i, uint4 v) { store_streamed(to + i, v); });
}

struct TwoWords {
    uint4 a;
    uint4 b;
};
/// a + 3·b in integers, so that the result is exact. A GPU moves integers as fast as floats.
__device__ __forceinline__ uint4 triad_of(TwoWords v) {
    return {v.a.x + 3 * v.b.x, v.a.y + 3 * v.b.y, v.a.z + 3 * v.b.z, v.a.w + 3 * v.b.w};
}
__global__ void __launch_bounds__(kThreads, kResident)
    triad_kernel(const uint4* a, const uint4* b, uint4* to, std::size_t words) {
    const std::uint64_t policy = evict_first_policy();
    walk<Access::strided>(
        words,
        [&](std::size_t i) {
            return TwoWords{load_streamed(a + i, policy), load_streamed(b + i, policy)};
        },
        [&](std::size_t i, TwoWords v) { store_streamed(to + i, triad_of(v)); });
}

constexpr int kMmaChains = 8;  // independent accumulators of each warp
constexpr int kMmaRounds = 512;
constexpr int kMmaThreads = 256;

/// Repeats C += A·B. The lanes load A and B from memory, so that the compiler cannot leave out a round.
__global__ void __launch_bounds__(kMmaThreads)
    mma_kernel(const uint4* a_of_lanes, const uint2* b_of_lanes, float* out) {
    const int lane = static_cast<int>(threadIdx.x % kLanes);
    const uint4 a4 = a_of_lanes[lane];
    const uint2 b2 = b_of_lanes[lane];
    const std::uint32_t a[4] = {a4.x, a4.y, a4.z, a4.w};
    float sums[kMmaChains][4];
#pragma unroll
    for (int chain = 0; chain < kMmaChains; ++chain) {  // equal initial sums would be computed only once
        for (float& sum : sums[chain]) sum = static_cast<float>(chain);
    }
    for (int round = 0; round < kMmaRounds; ++round) {
#pragma unroll
        for (int chain = 0; chain < kMmaChains; ++chain) mma<Bf16>(sums[chain], a, b2.x, b2.y);
    }
    float sum = 0;
#pragma unroll
    for (int chain = 0; chain < kMmaChains; ++chain)
        sum += sums[chain][0] + sums[chain][1] + sums[chain][2] + sums[chain][3];
    out[blockIdx.x * kMmaThreads + threadIdx.x] = sum;
}

__global__ void empty_kernel() {}

// ---- checks: they share no code with the loops of the timed kernels

__global__ void fold_reference(const uint4* from, std::size_t words, std::uint32_t* out) {
    std::uint32_t value = 0;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
         i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        value ^= folded(from[i]);
    }
    atomicXor(out, value);
}

enum class Expected { written, copied, triad };

__device__ bool same(uint4 a, uint4 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

__global__ void count_differences(Expected expected, const uint4* a, const uint4* b, const uint4* result,
                                  std::size_t words, std::uint32_t seed, unsigned long long* count) {
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
         i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        const uint4 want = expected == Expected::written  ? written_word(seed, i)
                           : expected == Expected::copied ? a[i]
                                                          : triad_of({a[i], b[i]});
        if (!same(want, result[i])) atomicAdd(count, 1ULL);
    }
}

// ---- rows

std::uint32_t fold_of(const std::vector<std::uint32_t>& values) {
    return std::accumulate(values.begin(), values.end(), 0U,
                           [](std::uint32_t a, std::uint32_t b) { return a ^ b; });
}

/// Base of the read kernels. It holds the memory that is read, and one result word per thread block. The
/// results keep the compiler from leaving out the loads.
class ReadKernel : public GpuKernel {
  public:
    ReadKernel(std::uint64_t bytes, unsigned blocks, bool plant_fault)
        : bytes_(bytes), blocks_(blocks), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override { return bytes_; }
    Work work() const override { return {.read_bytes = static_cast<double>(bytes_)}; }
    void prepare(std::size_t copies, std::uint64_t seed) override {
        memory_ = DeviceBuffer<std::uint32_t>(copies * bytes_ / 4);
        out_ = DeviceBuffer<std::uint32_t>(blocks_);
        fill(memory_, RandomWords{seed});
    }
    std::optional<std::string> check(Stream stream) override {
        const DeviceBuffer<std::uint32_t> reference(1);
        PARETOKEN_CUDA(cudaMemsetAsync(reference.data(), plant_fault_ ? 1 : 0, 4, stream));
        fold_reference<<<1024, 256, 0, stream>>>(copy(0), words(), reference.data());
        PARETOKEN_CUDA_LAUNCHED();
        out_.fill(0xff, stream);
        launch(0, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        if (fold_of(out_.download()) != reference.download().front()) return "not every word was read";
        return std::nullopt;
    }

  protected:
    const uint4* copy(std::size_t index) const {
        return reinterpret_cast<const uint4*>(memory_.data() + index * (bytes_ / 4));
    }
    std::size_t words() const { return bytes_ / 16; }
    std::uint32_t* out() const { return out_.data(); }
    unsigned blocks() const { return blocks_; }

  private:
    std::uint64_t bytes_;
    unsigned blocks_;
    bool plant_fault_;
    DeviceBuffer<std::uint32_t> memory_;
    DeviceBuffer<std::uint32_t> out_;
};

class SequentialRead : public ReadKernel {
  public:
    SequentialRead(std::uint64_t bytes, Access access, bool plant_fault)
        : ReadKernel(bytes, resident_blocks(kernel_for(access)), plant_fault), kernel_(kernel_for(access)) {}
    void launch(std::size_t index, Stream stream) override {
        kernel_<<<blocks(), kThreads, 0, stream>>>(copy(index), words(), out());
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    using Read = void (*)(const uint4*, std::size_t, std::uint32_t*);
    static Read kernel_for(Access access) {
        switch (access) {
            case Access::strided:
                return read_kernel<Access::strided>;
            case Access::shares:
                return read_kernel<Access::shares>;
            case Access::staged:
                break;
        }
        return staged_read_kernel;
    }
    Read kernel_;
};

class RandomRead : public ReadKernel {
  public:
    RandomRead(std::uint64_t bytes, std::uint32_t piece, bool plant_fault)
        : ReadKernel(bytes / piece * piece, resident_blocks(kernel_for(piece)), plant_fault),
          kernel_(kernel_for(piece)),
          pieces_(static_cast<std::uint32_t>(bytes / piece)) {}
    void prepare(std::size_t copies, std::uint64_t seed) override {
        ReadKernel::prepare(copies, seed);
        std::vector<std::uint32_t> order(pieces_);
        std::iota(order.begin(), order.end(), 0U);
        Random random(seed);
        for (std::uint32_t i = pieces_; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        order_ = DeviceBuffer<std::uint32_t>(order);
    }
    void launch(std::size_t index, Stream stream) override {
        kernel_<<<blocks(), kThreads, 0, stream>>>(copy(index), order_.data(), pieces_, out());
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    using Read = void (*)(const uint4*, const std::uint32_t*, std::uint32_t, std::uint32_t*);
    static Read kernel_for(std::uint32_t piece) {
        switch (piece) {
            case 256:
                return random_read_kernel<256 / 16>;
            case 1024:
                return random_read_kernel<1024 / 16>;
            case 4096:
                return random_read_kernel<4096 / 16>;
            default:
                assert(piece == 32768);
                return random_read_kernel<32768 / 16>;
        }
    }

    Read kernel_;
    std::uint32_t pieces_;
    DeviceBuffer<std::uint32_t> order_;
};

/// The write, copy and triad kernels. They use one to three arrays of equal size and write the last one.
class ArrayKernel : public GpuKernel {
  public:
    ArrayKernel(Expected expected, std::uint64_t bytes, bool plant_fault)
        : expected_(expected), bytes_(bytes), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override { return bytes_ * static_cast<std::uint64_t>(arrays()); }
    Work work() const override {
        return {.read_bytes = static_cast<double>(bytes_) * (arrays() - 1),
                .written_bytes = static_cast<double>(bytes_)};
    }
    void prepare(std::size_t copies, std::uint64_t seed) override {
        memory_ = DeviceBuffer<std::uint32_t>(copies * copy_bytes() / 4);
        fill(memory_, RandomWords{seed});
    }
    std::optional<std::string> check(Stream stream) override {
        const DeviceBuffer<unsigned long long> differences(1);
        PARETOKEN_CUDA(cudaMemsetAsync(differences.data(), 0, 8, stream));
        PARETOKEN_CUDA(cudaMemsetAsync(result(0), 0xa5, bytes_, stream));
        launch(0, stream);
        if (plant_fault_) PARETOKEN_CUDA(cudaMemsetAsync(result(0), 0, 1, stream));
        count_differences<<<1024, 256, 0, stream>>>(expected_, array(0, 0), array(0, 1), result(0), words(),
                                                    kSeed, differences.data());
        PARETOKEN_CUDA_LAUNCHED();
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        const auto wrong = differences.download().front();
        if (wrong != 0) return fmt::format("{} of {} words are wrong", wrong, words());
        return std::nullopt;
    }
    void launch(std::size_t copy, Stream stream) override {
        const unsigned blocks = blocks_;
        switch (expected_) {
            case Expected::written:
                write_kernel<<<blocks, kThreads, 0, stream>>>(result(copy), words(), kSeed);
                break;
            case Expected::copied:
                copy_kernel<<<blocks, kThreads, 0, stream>>>(array(copy, 0), result(copy), words());
                break;
            case Expected::triad:
                triad_kernel<<<blocks, kThreads, 0, stream>>>(array(copy, 0), array(copy, 1), result(copy),
                                                              words());
                break;
        }
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    static constexpr std::uint32_t kSeed = 0x1234567;
    int arrays() const { return expected_ == Expected::written ? 1 : expected_ == Expected::copied ? 2 : 3; }
    std::size_t words() const { return bytes_ / 16; }
    const uint4* array(std::size_t copy, std::size_t index) const {
        const std::size_t last = static_cast<std::size_t>(arrays()) - 1;
        return reinterpret_cast<const uint4*>(memory_.data() +
                                              (copy * copy_bytes() + std::min(index, last) * bytes_) / 4);
    }
    uint4* result(std::size_t copy) const {
        return const_cast<uint4*>(array(copy, static_cast<std::size_t>(arrays()) - 1));
    }

    Expected expected_;
    std::uint64_t bytes_;
    bool plant_fault_;
    unsigned blocks_ = expected_ == Expected::written  ? resident_blocks(write_kernel)
                       : expected_ == Expected::copied ? resident_blocks(copy_kernel)
                                                       : resident_blocks(triad_kernel);
    DeviceBuffer<std::uint32_t> memory_;
};

class MmaFlops : public GpuKernel {
  public:
    explicit MmaFlops(bool plant_fault) : plant_fault_(plant_fault) {
        PARETOKEN_CUDA(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0));
    }
    std::uint64_t copy_bytes() const override { return 0; }
    Work work() const override {
        const double mmas = static_cast<double>(blocks()) * (kMmaThreads / kLanes) * kMmaChains * kMmaRounds;
        return {.flops = mmas * 2 * kMmaM * kMmaN * kMmaK};
    }
    void prepare(std::size_t, std::uint64_t seed) override {
        // The elements are ±1 and ±0.5, so that every sum over the rounds is exact in fp32.
        Random random(seed);
        const auto operand = [&](std::size_t lanes_times_registers) {
            std::vector<std::uint32_t> registers(lanes_times_registers);
            for (std::uint32_t& r : registers) {
                const auto value = [&] {
                    return static_cast<std::uint32_t>(0x3f00 | (random() & 1) << 7 | (random() & 1) << 15);
                };
                r = value() | value() << 16;
            }
            return registers;
        };
        a_ = operand(kLanes * 4);
        b_ = operand(kLanes * 2);
        device_a_ = DeviceBuffer<std::uint32_t>(a_);
        device_b_ = DeviceBuffer<std::uint32_t>(b_);
        out_ = DeviceBuffer<float>(static_cast<std::size_t>(blocks()) * kMmaThreads);
    }
    std::optional<std::string> check(Stream stream) override {
        out_.fill(0xff, stream);
        launch(0, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        const std::vector<float> sums = out_.download();
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const double want = expected(static_cast<int>(i % kLanes)) + (plant_fault_ ? 1 : 0);
            if (static_cast<double>(sums[i]) != want)
                return fmt::format("sum {} instead of {}", sums[i], want);
        }
        return std::nullopt;
    }
    void launch(std::size_t, Stream stream) override {
        mma_kernel<<<blocks(), kMmaThreads, 0, stream>>>(reinterpret_cast<const uint4*>(device_a_.data()),
                                                         reinterpret_cast<const uint2*>(device_b_.data()),
                                                         out_.data());
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    unsigned blocks() const { return static_cast<unsigned>(multiprocessors_) * 4; }
    static double half_of(const std::vector<std::uint32_t>& registers, int per_lane, int lane, int element) {
        return value_of_bf16(registers[static_cast<std::size_t>(lane * per_lane + element / 2)] >>
                                 (16 * (element % 2)) &
                             0xffff);
    }
    /// The expected result of one lane: the sum over its four registers of all chains.
    double expected(int lane) const {
        double a[kMmaM][kMmaK] = {};
        double b[kMmaK][kMmaN] = {};
        for (int l = 0; l < kLanes; ++l) {
            for (int e = 0; e < kAElements; ++e)
                a[a_element(l, e).row][a_element(l, e).column] = half_of(a_, 4, l, e);
            for (int e = 0; e < kBElements; ++e)
                b[b_element(l, e).row][b_element(l, e).column] = half_of(b_, 2, l, e);
        }
        double sum = 0;
        for (int e = 0; e < kCElements; ++e) {
            const Element at = c_element(lane, e);
            for (int k = 0; k < kMmaK; ++k) sum += a[at.row][k] * b[k][at.column];
        }
        constexpr int kBegun = kMmaChains * (kMmaChains - 1) / 2 * kCElements;
        return sum * kMmaChains * kMmaRounds + kBegun;
    }

    bool plant_fault_;
    int multiprocessors_ = 0;
    std::vector<std::uint32_t> a_;
    std::vector<std::uint32_t> b_;
    DeviceBuffer<std::uint32_t> device_a_;
    DeviceBuffer<std::uint32_t> device_b_;
    DeviceBuffer<float> out_;
};

class EmptyLaunch : public GpuKernel {
  public:
    std::uint64_t copy_bytes() const override { return 0; }
    Work work() const override { return {}; }
    void prepare(std::size_t, std::uint64_t) override {}
    std::optional<std::string> check(Stream) override { return std::nullopt; }
    void launch(std::size_t, Stream stream) override {
        empty_kernel<<<1, 32, 0, stream>>>();
        PARETOKEN_CUDA_LAUNCHED();
    }
};

}  // namespace

std::unique_ptr<GpuKernel> read_ceiling(std::uint64_t bytes, Access access) {
    return std::make_unique<SequentialRead>(bytes, access, false);
}

std::vector<GpuRow> ceiling_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<GpuRow> rows;
    const bool fault = settings.plant_fault;
    // This size is no multiple of the words of a thread block, so that the check covers the remainders.
    std::vector<std::uint64_t> sizes{(1ULL << 20) + 16 * 333};
    if (!settings.verify_only) {
        sizes = {4ULL << 20, 16ULL << 20, 64ULL << 20, 256ULL << 20, 1024ULL << 20};
        if (settings.quick) sizes = {16ULL << 20, 256ULL << 20};
    }
    for (const std::uint64_t bytes : sizes) {
        for (const Access access : {Access::strided, Access::shares, Access::staged}) {
            if (access == Access::staged && bytes < kWaysDifferFrom && !settings.verify_only) continue;
            rows.push_back({fmt::format("ceiling/read/mib:{}/access:{}", bytes >> 20, name_of(access)),
                            [=] { return std::make_unique<SequentialRead>(bytes, access, fault); }});
        }
    }
    const std::uint64_t large = sizes.back() > (256ULL << 20) ? 256ULL << 20 : sizes.back();
    constexpr std::pair<Expected, const char*> kArrays[] = {
        {Expected::written, "write"}, {Expected::copied, "copy"}, {Expected::triad, "triad"}};
    for (const auto& [expected, name] : kArrays) {
        rows.push_back({fmt::format("ceiling/{}/mib:{}", name, large >> 20), [=, expected = expected] {
                            return std::make_unique<ArrayKernel>(expected, large, fault);
                        }});
    }
    for (const std::uint32_t piece : {256U, 1024U, 4096U, 32768U}) {
        if (settings.quick && piece != 4096) continue;
        rows.push_back({fmt::format("ceiling/random_read/mib:{}/piece:{}", large >> 20, piece),
                        [=] { return std::make_unique<RandomRead>(large, piece, fault); }});
    }
    rows.push_back({"ceiling/flops/mma_sync/w:bf16", [=] { return std::make_unique<MmaFlops>(fault); }});
    if (settings.plant_fault) return rows;  // an empty launch has no output that could be wrong
    rows.push_back({"launch/graph_node", [] { return std::make_unique<EmptyLaunch>(); }});
    rows.push_back({"launch/empty", [] { return std::make_unique<EmptyLaunch>(); }, Launching::stream});
    return rows;
}

}  // namespace paretoken::microbench::gpu
