#include "microbench/gpu/weights/weights_stream.cuh"

#include <algorithm>

#include "core/random.h"
#include "microbench/gpu/device/fill.cuh"
#include "microbench/gpu/weights/weights_reference.h"

namespace paretoken::microbench::gpu {
namespace {

struct ReferenceCall {
    WeightsShape shape;
    const std::int32_t* experts = nullptr;  ///< [entries], or null for a single matrix
    std::size_t entries = 1;
    const std::uint32_t* words = nullptr;
    const std::uint32_t* scales = nullptr;
    const std::uint16_t* x = nullptr;
    double* y = nullptr;  ///< [entries, batch, rows]
    int batch = 0;
};

/// Computes each output in fp64 with one warp, element by element. It shares only the layout of the weights
/// with the fast kernels.
__global__ void reference_kernel(const ReferenceCall call) {
    const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
    if (warp >= call.entries * call.shape.rows * static_cast<std::size_t>(call.batch)) return;
    const std::size_t row = warp % call.shape.rows;
    const std::size_t column = warp / call.shape.rows;  // numbered consecutively over all entries
    const std::size_t expert =
        call.experts != nullptr ? call.experts[column / static_cast<std::size_t>(call.batch)] : 0;
    const std::uint32_t* const words = call.words + expert * call.shape.words();
    const std::uint32_t* const scales = call.scales + expert * call.shape.scale_words();
    double sum = 0;
    for (std::size_t k = threadIdx.x % kLanes; k < call.shape.k; k += kLanes) {
        const std::uint16_t x = call.x[column * call.shape.k + k];
        sum += weight_at(call.shape, words, scales, row, k) *
               (is_bf16(call.shape.format) ? value_of_bf16(x) : value_of_fp16(x));
    }
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffU, sum, distance);
    if (threadIdx.x % kLanes == 0) call.y[warp] = sum;
}

/// Flips a bit in one word per thread. A single word is not enough, because the weights in it may be
/// multiplied by numbers near zero.
__global__ void flip_bit(std::uint32_t* words, std::uint32_t bit) {
    words[threadIdx.x] ^= bit;
}

/// Sets the shared memory of a multiprocessor to the needs of `blocks` thread blocks of a kernel. The rest
/// remains for L1, which caches x.
void leave_l1(const void* kernel, int blocks, int shared_bytes) {
    constexpr int kReserved = 1024;  // bytes that the system reserves per thread block
    int available = 0;
    PARETOKEN_CUDA(cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    const int wanted = blocks * (shared_bytes + kReserved);
    const int percent = std::min(100, (100 * wanted + available - 1) / available);
    PARETOKEN_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

/// Returns the numbers 0 … count − 1 in random order. The matrices of a list therefore lie anywhere among
/// those of all copies, so that no launch finds its matrices in a cache.
std::vector<std::int32_t> random_order(std::size_t count, std::uint64_t seed) {
    std::vector<std::int32_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::int32_t>(i);
    Random random(seed);
    for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
    return order;
}

}  // namespace

std::optional<WeightsVariant> variant_for(WeightFormat format, Decode decode, int batch, bool experts) {
    std::optional<WeightsVariant> best;
    for (const auto variants :
         {weights_variants_16_bits(), weights_variants_8_bits(), weights_variants_4_bits()}) {
        for (const WeightsVariant& variant : variants) {
            if (variant.format != format || variant.decode != decode || variant.experts != experts) continue;
            if (variant.most_batch < batch) continue;
            if (!best || variant.most_batch < best->most_batch) best = variant;
        }
    }
    return best;
}

Residency StreamedMatrix::residency() const {
    const auto kernel = reinterpret_cast<const void*>(variant.kernel);
    PARETOKEN_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
    int multiprocessors = 0;
    int per_multiprocessor = 0;
    PARETOKEN_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    PARETOKEN_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_multiprocessor, kernel, kWeightThreads, static_cast<std::size_t>(variant.shared_bytes)));
    return {static_cast<std::size_t>(multiprocessors),
            static_cast<std::size_t>(std::max(1, per_multiprocessor))};
}

Work work_of(const StreamedMatrix& matrix) {
    const auto entries = static_cast<double>(matrix.entries);
    const Work one = product_work(matrix.variant.format, static_cast<double>(matrix.rows),
                                  static_cast<double>(matrix.k), matrix.batch);
    return {entries * one.read_bytes, entries * one.written_bytes, entries * one.flops};
}

WeightStream::WeightStream(const StreamedMatrix& matrix, std::size_t copies, std::uint64_t seed)
    : matrix_(matrix),
      shape_(matrix.shape()),
      words_(copies * matrix.entries * shape_.words()),
      scales_(copies * matrix.entries * shape_.scale_words()),
      lists_(random_order(copies * matrix.entries, seed)) {
    fill(words_, RandomCodes{shape_.format, seed});
    fill(scales_, RandomScales{shape_.format, seed + 1});
    configure();
}

std::size_t WeightStream::first_matrix(std::size_t copy) const {
    return matrix_.variant.experts ? static_cast<std::size_t>(list(copy).front()) : copy;
}

std::vector<std::int32_t> WeightStream::list(std::size_t copy) const {
    return lists_.download(copy * matrix_.entries, matrix_.entries);
}

void WeightStream::configure() {
    const Residency residency = matrix_.residency();
    leave_l1(reinterpret_cast<const void*>(matrix_.variant.kernel),
             static_cast<int>(residency.per_multiprocessor), matrix_.variant.shared_bytes);
    const auto stacked = static_cast<std::size_t>(shape_.stacked);
    blocks_ = static_cast<unsigned>(thread_blocks_for(shape_, matrix_.entries, residency));
    partials_ = DeviceBuffer<float>(2 * blocks_ * stacked * static_cast<std::size_t>(matrix_.batch) *
                                    shape_.unit_rows());
    arrivals_ = DeviceBuffer<std::int32_t>(matrix_.entries * shape_.row_blocks());
    arrivals_.fill(0);
    call_ = {.partials = partials_.data(),
             .arrivals = arrivals_.data(),
             .rows = static_cast<int>(matrix_.rows),
             .batch = matrix_.batch,
             .steps = static_cast<int>(shape_.steps()),
             .division = StackDivision::of(shape_, matrix_.entries, blocks_),
             .experts = {.entries = static_cast<int>(matrix_.entries),
                         .stacks = static_cast<int>(shape_.row_blocks() / stacked),
                         .words = static_cast<std::uint32_t>(shape_.words() / 4),
                         .scales = static_cast<std::uint32_t>(shape_.scale_words())}};
}

void WeightStream::launch(std::size_t copy, const std::uint16_t* x, float* y, Stream stream) const {
    WeightsCall call = call_;
    const std::size_t first = matrix_.variant.experts ? 0 : copy;
    call.weights = reinterpret_cast<const Words*>(words_.data() + first * shape_.words());
    call.scales = scales_.data() + first * shape_.scale_words();
    call.x = x;
    call.y = y;
    call.experts.of_entries = lists_.data() + copy * matrix_.entries;
    start(call, stream);
}

void WeightStream::launch_by(const std::int32_t* of_entries, const std::uint16_t* x, float* y,
                             Stream stream) const {
    WeightsCall call = call_;
    call.weights = reinterpret_cast<const Words*>(words_.data());
    call.scales = scales_.data();
    call.x = x;
    call.y = y;
    call.experts.of_entries = of_entries;
    start(call, stream);
}

void WeightStream::start(const WeightsCall& call, Stream stream) const {
    matrix_.variant
        .kernel<<<blocks_, kWeightThreads, static_cast<std::size_t>(matrix_.variant.shared_bytes), stream>>>(
            call);
    PARETOKEN_CUDA_LAUNCHED();
}

std::vector<double> WeightStream::reference(std::size_t copy, const std::uint16_t* x, Stream stream) const {
    const DeviceBuffer<double> y(matrix_.rows * matrix_.columns());
    const std::size_t first = matrix_.variant.experts ? 0 : copy;
    const ReferenceCall call{
        .shape = shape_,
        .experts = matrix_.variant.experts ? lists_.data() + copy * matrix_.entries : nullptr,
        .entries = matrix_.entries,
        .words = words_.data() + first * shape_.words(),
        .scales = scales_.data() + first * shape_.scale_words(),
        .x = x,
        .y = y.data(),
        .batch = matrix_.batch};
    constexpr unsigned kThreads = 256;
    reference_kernel<<<static_cast<unsigned>((y.size() * kLanes + kThreads - 1) / kThreads), kThreads, 0,
                       stream>>>(call);
    PARETOKEN_CUDA_LAUNCHED();
    PARETOKEN_CUDA(cudaStreamSynchronize(stream));
    return y.download();
}

void WeightStream::spoil(std::size_t copy, Stream stream) {
    flip_bit<<<1, kLanes, 0, stream>>>(
        words_.data() + first_matrix(copy) * shape_.words(),
        placed_code(shape_.format, traits_of(shape_.format).weighty_bit, 0, 0));
    PARETOKEN_CUDA_LAUNCHED();
}

std::vector<double> WeightStream::dequantised_copy(std::size_t copy) const {
    const std::vector<std::int32_t> matrices =
        matrix_.variant.experts ? list(copy) : std::vector{static_cast<std::int32_t>(copy)};
    std::vector<double> all;
    for (const std::int32_t matrix : matrices) {
        const auto at = static_cast<std::size_t>(matrix);
        const std::vector<std::uint32_t> words = words_.download(at * shape_.words(), shape_.words());
        const std::vector<std::uint32_t> scales =
            scales_.download(at * shape_.scale_words(), shape_.scale_words());
        const std::vector<double> one = dequantised(shape_, span_of(words), span_of(scales));
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

}  // namespace paretoken::microbench::gpu
