#pragma once
// A ring of paged caches on the device: one pool, one page table per copy, and the plan and buffers that all
// launches of a decode kernel share.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/attention/split.h"
#include "microbench/gpu/device/error.cuh"
#include "microbench/gpu/device/memory.cuh"

namespace paretoken::microbench::gpu {

/// The page tables of all copies in device memory, one after the other.
class DevicePageTables {
  public:
    explicit DevicePageTables(const std::vector<PageTable>& tables)
        : per_copy_(tables.front().pages.size()),
          first_(std::span<const std::int32_t>(tables.front().first)) {
        std::vector<std::int32_t> all;
        for (const PageTable& table : tables) all.insert(all.end(), table.pages.begin(), table.pages.end());
        pages_ = DeviceBuffer<std::int32_t>(std::span<const std::int32_t>(all));
    }
    const std::int32_t* pages(std::size_t copy) const { return pages_.data() + copy * per_copy_; }
    const std::int32_t* first() const { return first_.data(); }

  private:
    std::size_t per_copy_;
    DeviceBuffer<std::int32_t> pages_;
    DeviceBuffer<std::int32_t> first_;
};

/// A plan in device memory, with the buffers of its partial results and its counters.
class DevicePlan {
  public:
    /// A partial result has `rows` rows of `head_dim` numbers.
    DevicePlan(const SplitPlan& plan, std::size_t rows, std::size_t head_dim)
        : pieces_(plan.pieces()),
          segments_(std::span<const Segment>(plan.segments)),
          first_(std::span<const std::int32_t>(plan.first)),
          out_(static_cast<std::size_t>(plan.partials) * rows * head_dim),
          lse_(static_cast<std::size_t>(plan.partials) * rows),
          counters_(static_cast<std::size_t>(plan.sequences)) {
        counters_.fill(0);
    }

    unsigned pieces() const { return static_cast<unsigned>(pieces_); }
    void poison(cudaStream_t stream) {
        out_.fill(0xff, stream);
        lse_.fill(0xff, stream);
    }
    /// Sets the pointers to the plan and its buffers in an AttentionCall or MlaCall.
    template <class Call>
    void put_into(Call& call) const {
        call.segments = segments_.data();
        call.first_segment = first_.data();
        call.partial_out = out_.data();
        call.partial_lse = lse_.data();
        call.counters = counters_.data();
    }

  private:
    std::size_t pieces_;
    DeviceBuffer<Segment> segments_;
    DeviceBuffer<std::int32_t> first_;
    DeviceBuffer<float> out_;
    DeviceBuffer<float> lse_;
    DeviceBuffer<std::int32_t> counters_;
};

/// The launch parameters of a kernel on this device.
struct LaunchShape {
    int stages = 2;
    int blocks = 1;  ///< number of blocks that run at the same time on the whole device
    std::size_t shared_bytes = 0;
};

/// Returns the number of stages that keeps the most bytes in flight on a multiprocessor, and the number of
/// blocks that fit then. Throws RuntimeError if not even two stages fit.
LaunchShape launch_shape(const void* kernel, int stage_bytes, int fixed_bytes);

/// A decode kernel, the shared memory that it needs, and the shape of its partial results.
struct DecodeKernelShape {
    const void* kernel = nullptr;
    int stage_bytes = 0;
    int fixed_bytes = 0;
    std::size_t result_dim = 0;             ///< numbers in a row of a partial result
    std::size_t result_rows = kWarpTokens;  ///< rows of a partial result
};

/// A ring of caches of the same sequences, without their contents. Each copy has its own page table in one
/// pool. All copies share the plan and the launch shape.
class DecodeRing {
  public:
    /// `split_for(blocks)` returns the options that divide the work among `blocks` thread blocks.
    template <class SplitFor>
    DecodeRing(const DecodeKernelShape& kernel, std::span<const std::int32_t> lengths,
               std::vector<PageTable> tables, const SplitFor& split_for)
        : tables_(std::move(tables)),
          shape_(launch_shape(kernel.kernel, kernel.stage_bytes, kernel.fixed_bytes)),
          pages_(tables_),
          plan_(split_plan(lengths, split_for(shape_.blocks)), kernel.result_rows, kernel.result_dim) {}

    const PageTable& table(std::size_t copy) const { return tables_[copy]; }
    const DevicePageTables& pages() const { return pages_; }
    int stages() const { return shape_.stages; }
    void poison(cudaStream_t stream) { plan_.poison(stream); }

    /// Sets the fields of an AttentionCall or MlaCall that all launches share.
    template <class Call>
    void put_into(Call& call) const {
        plan_.put_into(call);
        call.first_page = pages_.first();
    }
    template <class Call>
    void launch(void (*kernel)(Call), Call call, std::size_t copy, cudaStream_t stream) const {
        call.pages = pages_.pages(copy);
        kernel<<<plan_.pieces(), kThreads, shape_.shared_bytes, stream>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    std::vector<PageTable> tables_;
    LaunchShape shape_;
    DevicePageTables pages_;
    DevicePlan plan_;
};

/// Fill memory with the codes and the scales of paged.h.
void fill_codes(KvFormat format, std::uint64_t seed, void* at, std::uint64_t count);
void fill_scales(std::uint64_t seed, const DeviceBuffer<float>& scales);

/// Runs `launch` twice and overwrites the results with NaN before each launch. Returns nothing if both
/// launches gave the same bits and all results are finite; `result` then holds the results. Otherwise it
/// returns the error.
template <class Launch>
std::optional<std::string> same_twice(DeviceBuffer<float>& out, const Launch& launch, cudaStream_t stream,
                                      std::vector<float>& result) {
    std::vector<float> second;
    for (std::vector<float>* results : {&result, &second}) {
        out.fill(0xff, stream);
        launch();
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        *results = out.download();
    }
    if (std::memcmp(result.data(), second.data(), out.bytes()) != 0)
        return "the same inputs gave different bits";
    const auto unwritten =
        std::find_if(result.begin(), result.end(), [](float x) { return !std::isfinite(x); });
    if (unwritten == result.end()) return std::nullopt;
    return fmt::format("output {} was not written or is not finite", unwritten - result.begin());
}

}  // namespace paretoken::microbench::gpu
