#include <fmt/format.h>

#include "microbench/collect.h"
#include "microbench/gpu/attention/attention_prefill.h"
#include "microbench/gpu/attention/paged.cuh"
#include "microbench/gpu/device/machine.cuh"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

template <KvFormat kFormat, int kDim>
__global__ void __launch_bounds__(kThreads, 2) attention_prefill(const __grid_constant__ PrefillCall call) {
    DeviceMachine machine;
    prefill_body<kFormat, kDim>(machine, call);
}

struct Variant {
    KvFormat format;
    std::size_t head_dim;
    void (*kernel)(PrefillCall);
    int shared_bytes;
};

template <KvFormat kFormat, int kDim>
constexpr Variant variant() {
    return {kFormat, kDim, attention_prefill<kFormat, kDim>,
            PrefillBlock<kFormat, kDim, DeviceMachine>::kSharedBytes};
}

constexpr Variant kVariants[] = {variant<KvFormat::bf16, 64>(), variant<KvFormat::bf16, 128>(),
                                 variant<KvFormat::fp16, 64>(), variant<KvFormat::fp16, 128>()};

const Variant& variant_of(const PrefillOptions& options) {
    for (const Variant& v : kVariants) {
        if (v.format == options.format && v.head_dim == options.heads.head_dim) return v;
    }
    throw UsageError(
        fmt::format("no prefill kernel for {} with head dimension {}: use bf16 or fp16, 64 or 128",
                    name_of(options.format), options.heads.head_dim));
}

class PrefillKernel final : public GpuKernel {
  public:
    PrefillKernel(PrefillOptions options, bool plant_fault)
        : options_(std::move(options)), plant_fault_(plant_fault), variant_(variant_of(options_)) {}

    std::uint64_t copy_bytes() const override { return 0; }
    Work work() const override { return prefill_work(options_); }

    void prepare(std::size_t, std::uint64_t seed) override {
        seed_ = seed;
        q_ = DeviceBuffer<std::uint16_t>(options_.queries());
        k_ = DeviceBuffer<std::uint16_t>(options_.keys());
        v_ = DeviceBuffer<std::uint16_t>(options_.keys());
        out_ = DeviceBuffer<float>(options_.queries());
        fill_codes(options_.format, prefill_seed(PrefillOperand::q, seed), q_.data(), q_.size());
        fill_codes(options_.format, prefill_seed(PrefillOperand::k, seed), k_.data(), k_.size());
        fill_codes(options_.format, prefill_seed(PrefillOperand::v, seed), v_.data(), v_.size());
        // The first query sees only the first token, so that this token's values are its result.
        if (plant_fault_) fill_codes(options_.format, ~seed, v_.data(), options_.heads.head_dim);
        call_ = prefill_call(options_);
        call_.q = q_.data();
        call_.k = k_.data();
        call_.v = v_.data();
        call_.out = out_.data();
        PARETOKEN_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant_.kernel),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            variant_.shared_bytes));
    }

    std::optional<std::string> check(Stream stream) override {
        std::vector<float> out;
        if (auto wrong = same_twice(
                out_, [&] { launch(0, stream); }, stream, out))
            return wrong;
        for (const PrefillPlace& place : places_to_check(options_, seed_)) {
            const auto reference = prefill_reference(options_, place.request, place.query, place.head, seed_);
            const double error = relative_l2(
                std::span(out).subspan(result_place(options_, place), reference.size()), reference);
            if (!(error <= attention_bound(options_.format))) {
                return fmt::format("request {}, query {}, head {}: relative error {:.1e} > {:.0e}",
                                   place.request, place.query, place.head, error,
                                   attention_bound(options_.format));
            }
        }
        return std::nullopt;
    }

    void launch(std::size_t, Stream stream) override {
        variant_
            .kernel<<<options_.blocks(), kThreads, static_cast<std::size_t>(variant_.shared_bytes), stream>>>(
                call_);
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    PrefillOptions options_;
    bool plant_fault_;
    const Variant& variant_;
    DeviceBuffer<std::uint16_t> q_;
    DeviceBuffer<std::uint16_t> k_;
    DeviceBuffer<std::uint16_t> v_;
    DeviceBuffer<float> out_;
    PrefillCall call_;
    std::uint64_t seed_ = 0;
};

}  // namespace

std::vector<GpuRow> prefill_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<GpuRow> rows;
    for (const PrefillOptions& options : prefill_suite(row_set(settings))) {
        rows.push_back({name_of(options), [options, fault = settings.plant_fault] {
                            return std::make_unique<PrefillKernel>(options, fault);
                        }});
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
