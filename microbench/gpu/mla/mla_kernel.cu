#include <fmt/format.h>

#include <memory>

#include "microbench/collect.h"
#include "microbench/gpu/attention/paged.cuh"
#include "microbench/gpu/device/machine.cuh"
#include "microbench/gpu/mla/mla.h"
#include "microbench/gpu/mla/mla_attention.cuh"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

__global__ void __launch_bounds__(kThreads, 2) mla_decode(const __grid_constant__ MlaCall call) {
    DeviceMachine machine;
    mla_body(machine, call);
}

std::uint64_t numbers_per_copy(const MlaOptions& options) {
    return pages_for(options.lengths, static_cast<std::uint32_t>(options.page)) *
           static_cast<std::uint64_t>(options.page) * kMlaRow;
}

DecodeRing mla_ring(const MlaOptions& options, std::size_t copies, std::uint64_t seed) {
    const DecodeKernelShape kernel{reinterpret_cast<const void*>(mla_decode), kMlaStageBytes, kMlaFixedBytes,
                                   static_cast<std::size_t>(kMlaValue)};
    return DecodeRing(
        kernel, options.lengths,
        page_tables(options.lengths, static_cast<std::uint32_t>(options.page), copies, options.order, seed),
        [&](int blocks) { return split_options(options, blocks); });
}

struct MlaMemory {
    MlaAttention attention;
    DeviceBuffer<std::uint16_t> q;
    DeviceBuffer<float> out;
};

/// The decode kernel of latent attention of a row. `plant_fault` overwrites one page of the cache with other
/// numbers, so that the check must fail.
class MlaKernel final : public GpuKernel {
  public:
    MlaKernel(MlaOptions options, bool plant_fault)
        : options_(std::move(options)), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override { return MlaAttention::copy_bytes(options_); }
    Work work() const override { return mla_work(options_); }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        seed_ = seed;
        memory_.reset();  // frees the old memory before new memory is allocated
        memory_.emplace(MlaMemory{.attention = MlaAttention(options_, copies, seed),
                                  .q = DeviceBuffer<std::uint16_t>(options_.queries()),
                                  .out = DeviceBuffer<float>(options_.outputs())});
        if (plant_fault_) memory_->attention.spoil();
        std::vector<std::uint16_t> q(memory_->q.size());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = query_code(KvFormat::bf16, seed, i);
        memory_->q.upload(q);
    }

    std::optional<std::string> check(Stream stream) override {
        std::vector<float> out;
        const auto launch_poisoned = [&] {
            memory_->attention.poison(stream);
            launch(0, stream);
        };
        if (auto wrong = same_twice(memory_->out, launch_poisoned, stream, out)) return wrong;
        const auto size = static_cast<std::size_t>(options_.heads) * kMlaValue;
        for (const std::size_t request : requests_to_check(options_, seed_)) {
            const auto reference =
                mla_reference(options_, memory_->attention.ring().table(0), request, seed_);
            const double error = relative_l2(std::span(out).subspan(request * size, size), reference);
            if (!(error <= attention_bound(KvFormat::bf16))) {
                return fmt::format("request {}: relative error {:.1e} > {:.0e}", request, error,
                                   attention_bound(KvFormat::bf16));
            }
        }
        return std::nullopt;
    }

    void launch(std::size_t copy, Stream stream) override {
        memory_->attention.launch(copy, memory_->q.data(), memory_->out.data(), stream);
    }

  private:
    MlaOptions options_;
    bool plant_fault_;
    std::optional<MlaMemory> memory_;
    std::uint64_t seed_ = 0;
};

}  // namespace

MlaAttention::MlaAttention(const MlaOptions& options, std::size_t copies, std::uint64_t seed)
    : options_(options),
      seed_(seed),
      ring_(mla_ring(options, copies, seed)),
      pool_(numbers_per_copy(options) * copies),
      call_(mla_call(options, ring_.stages())) {
    fill_codes(KvFormat::bf16, seed, pool_.data(), pool_.size());
    ring_.put_into(call_);
    call_.pool = pool_.data();
}

std::uint64_t MlaAttention::copy_bytes(const MlaOptions& options) {
    return numbers_per_copy(options) * sizeof(std::uint16_t);
}

void MlaAttention::launch(std::size_t copy, const std::uint16_t* q, float* out, Stream stream) const {
    MlaCall call = call_;
    call.q = q;
    call.out = out;
    ring_.launch(mla_decode, call, copy, stream);
}

void MlaAttention::spoil() {
    const auto page_numbers = static_cast<std::uint64_t>(options_.page) * kMlaRow;
    const auto page = static_cast<std::uint64_t>(ring_.table(0).pages.front());
    fill_codes(KvFormat::bf16, ~seed_, pool_.data() + page * page_numbers, page_numbers);
}

std::vector<GpuRow> mla_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<GpuRow> rows;
    for (const MlaOptions& options : mla_suite(row_set(settings))) {
        rows.push_back({name_of(options), [options, fault = settings.plant_fault] {
                            return std::make_unique<MlaKernel>(options, fault);
                        }});
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
