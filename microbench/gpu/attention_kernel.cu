#include "microbench/gpu/attention_kernel.h"

#include <fmt/format.h>

#include "microbench/collect.h"
#include "microbench/gpu/attention_machine.cuh"
#include "microbench/gpu/paged.cuh"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

/// Blocks per multiprocessor that registers must leave room for. 8-bit tiles are half as large, so a third
/// block keeps as many bytes under way, where shared memory holds three.
template <KvFormat kFormat>
constexpr int blocks_wanted() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return 2;
#else
    return bytes_of(kFormat) == 2 ? 2 : 3;
#endif
}

template <KvFormat kFormat, int kDim>
__global__ void __launch_bounds__(kThreads, blocks_wanted<kFormat>())
    attention_decode(const __grid_constant__ AttentionCall call) {
    DeviceMachine machine;
    attention_body<kFormat, kDim>(machine, call);
}

struct Variant {
    KvFormat format;
    std::size_t head_dim;
    void (*kernel)(AttentionCall);
    int stage_bytes;
    int fixed_bytes;
};

template <KvFormat kFormat, int kDim>
constexpr Variant variant() {
    return {kFormat, kDim, attention_decode<kFormat, kDim>, BlockMemory<kFormat, kDim>::kStageBytes,
            BlockMemory<kFormat, kDim>::kFixedBytes};
}

constexpr Variant kVariants[] = {
    variant<KvFormat::bf16, 64>(),  variant<KvFormat::bf16, 128>(), variant<KvFormat::fp16, 64>(),
    variant<KvFormat::fp16, 128>(), variant<KvFormat::fp8, 64>(),   variant<KvFormat::fp8, 128>(),
    variant<KvFormat::int8, 64>(),  variant<KvFormat::int8, 128>(),
};

const Variant& variant_of(const AttentionOptions& options) {
    for (const Variant& v : kVariants) {
        if (v.format == options.format && v.head_dim == options.heads.head_dim) return v;
    }
    throw UsageError(
        fmt::format("no attention kernel for head dimension {}: use 64 or 128", options.heads.head_dim));
}

/// What `prepare` builds.
struct AttentionMemory {
    std::vector<PageTable> tables;
    LaunchShape shape;
    DevicePageTables pages;
    DevicePlan plan;
    DeviceBuffer<std::byte> pool;
    DeviceBuffer<float> scales;
    DeviceBuffer<std::uint16_t> q;
    DeviceBuffer<float> sinks;
    DeviceBuffer<float> out;
};

std::vector<PageTable> tables_of(const AttentionOptions& options, std::size_t copies, std::uint64_t seed) {
    return page_tables(options.lengths, static_cast<std::uint32_t>(options.page), copies, options.order, seed,
                       options.window);
}

class AttentionKernel final : public GpuKernel {
  public:
    AttentionKernel(AttentionOptions options, bool plant_fault)
        : options_(std::move(options)), plant_fault_(plant_fault), variant_(variant_of(options_)) {}

    std::uint64_t copy_bytes() const override {
        const PoolShape pool = options_.pool();
        return pages_for(options_.lengths, pool.page, options_.window) *
               (pool.page_bytes() + pool.page_scales() * sizeof(float));
    }
    Work work() const override { return attention_work(options_); }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        seed_ = seed;
        const PoolShape pool = options_.pool();
        const std::uint64_t pages = pages_for(options_.lengths, pool.page, options_.window) * copies;
        const auto tables = tables_of(options_, copies, seed);
        const LaunchShape shape = launch_shape(reinterpret_cast<const void*>(variant_.kernel),
                                               variant_.stage_bytes, variant_.fixed_bytes);
        const SplitPlan plan = split_plan(options_.lengths, split_options(options_, shape.blocks));
        memory_.reset();  // before more is asked for
        memory_.emplace(
            AttentionMemory{.tables = tables,
                            .shape = shape,
                            .pages = DevicePageTables(tables),
                            .plan = DevicePlan(plan, options_.heads.head_dim),
                            .pool = DeviceBuffer<std::byte>(pages * pool.page_bytes()),
                            .scales = DeviceBuffer<float>(pages * pool.page_scales()),
                            .q = DeviceBuffer<std::uint16_t>(options_.outputs()),
                            .sinks = DeviceBuffer<float>(options_.sinks ? options_.heads.query_heads : 0),
                            .out = DeviceBuffer<float>(options_.outputs())});
        fill(seed);
        call_ = attention_call(options_, shape.stages);
        memory_->plan.put_into(call_);
        call_.pool = memory_->pool.data();
        call_.scales = memory_->scales.data();
        call_.q = memory_->q.data();
        call_.sinks = memory_->sinks.data();
        call_.first_page = memory_->pages.first();
        call_.out = memory_->out.data();
    }

    std::optional<std::string> check(Stream stream) override {
        std::vector<float> out;
        const auto launch_poisoned = [&] {
            memory_->plan.poison(stream);
            launch(0, stream);
        };
        if (auto wrong = same_twice(memory_->out, launch_poisoned, stream, out)) return wrong;
        const std::size_t size = options_.heads.group() * options_.heads.head_dim;
        for (const auto& [request, head] : pairs_to_check(options_, seed_)) {
            const auto reference =
                attention_reference(options_, memory_->tables.front(), request, head, seed_);
            const std::size_t at = (request * options_.heads.kv_heads + head) * size;
            const double error = relative_l2(std::span(out).subspan(at, size), reference);
            if (!(error <= attention_bound(options_.format))) {
                return fmt::format("request {}, KV head {}: relative error {:.1e} > {:.0e}", request, head,
                                   error, attention_bound(options_.format));
            }
        }
        return std::nullopt;
    }

    void launch(std::size_t copy, Stream stream) override {
        call_.pages = memory_->pages.pages(copy);
        variant_.kernel<<<memory_->plan.pieces(), kThreads, memory_->shape.shared_bytes, stream>>>(call_);
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    void fill(std::uint64_t seed) {
        AttentionMemory& memory = *memory_;
        fill_codes(options_.format, seed, memory.pool.data(), memory.pool.size() / bytes_of(options_.format));
        fill_scales(seed, memory.scales);
        if (plant_fault_) {
            const PoolShape pool = options_.pool();
            const std::int32_t seen = window_begin(options_.lengths.front(), options_.window) / options_.page;
            const std::int32_t page = memory.tables.front().pages[static_cast<std::size_t>(seen)];
            std::byte* const values = memory.pool.data() +
                                      static_cast<std::uint64_t>(page) * pool.page_bytes() +
                                      pool.strides().value;
            fill_codes(options_.format, ~seed, values, pool.page_bytes() / 2 / bytes_of(options_.format));
        }
        std::vector<std::uint16_t> q(memory.q.size());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = query_code(options_.format, seed, i);
        memory.q.upload(q);
        std::vector<float> sinks(memory.sinks.size());
        for (std::size_t i = 0; i < sinks.size(); ++i) sinks[i] = sink_logit(seed, i);
        memory.sinks.upload(sinks);
    }

    AttentionOptions options_;
    bool plant_fault_;
    const Variant& variant_;
    std::optional<AttentionMemory> memory_;
    AttentionCall call_;
    std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<GpuKernel> attention_kernel(const AttentionOptions& options, bool plant_fault) {
    return std::make_unique<AttentionKernel>(options, plant_fault);
}

std::vector<GpuRow> attention_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<GpuRow> rows;
    for (const AttentionOptions& options : attention_suite(row_set(settings))) {
        rows.push_back({name_of(options), [options, fault = settings.plant_fault] {
                            return attention_kernel(options, fault);
                        }});
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
