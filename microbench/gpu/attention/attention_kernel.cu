#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/attention/paged_attention.cuh"
#include "microbench/gpu/device/machine.cuh"
#include "microbench/gpu/rows.h"
#include "microbench/rows.h"

namespace paretoken::microbench::gpu {
namespace {

/// Returns the number of blocks per multiprocessor that the registers must allow. Tiles of 8-bit formats are
/// half as large, so that a third block is needed to keep as many bytes in flight. This pays only if
/// the shared memory holds three blocks, so that GPUs before sm_90 use two.
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

/// The kernel for several query tokens per request.
template <KvFormat kFormat, int kDim>
__global__ void __launch_bounds__(kThreads, blocks_wanted<kFormat>())
    attention_decode_tokens(const __grid_constant__ AttentionCall call) {
    DeviceMachine machine;
    attention_body<kFormat, kDim, true>(machine, call);
}

}  // namespace

struct AttentionVariant {
    KvFormat format;
    std::size_t head_dim;
    bool several_tokens;
    void (*kernel)(AttentionCall);
    int stage_bytes;
    int fixed_bytes;
};

namespace {

template <KvFormat kFormat, int kDim, bool kSeveral>
constexpr AttentionVariant variant() {
    return {kFormat,
            kDim,
            kSeveral,
            kSeveral ? attention_decode_tokens<kFormat, kDim> : attention_decode<kFormat, kDim>,
            BlockMemory<kFormat, kDim>::kStageBytes,
            BlockMemory<kFormat, kDim>::kFixedBytes};
}

constexpr AttentionVariant kVariants[] = {
    variant<KvFormat::bf16, 64, false>(), variant<KvFormat::bf16, 128, false>(),
    variant<KvFormat::fp16, 64, false>(), variant<KvFormat::fp16, 128, false>(),
    variant<KvFormat::fp8, 64, false>(),  variant<KvFormat::fp8, 128, false>(),
    variant<KvFormat::int8, 64, false>(), variant<KvFormat::int8, 128, false>(),
    variant<KvFormat::bf16, 64, true>(),  variant<KvFormat::bf16, 128, true>(),
    variant<KvFormat::fp16, 64, true>(),  variant<KvFormat::fp16, 128, true>(),
    variant<KvFormat::fp8, 64, true>(),   variant<KvFormat::fp8, 128, true>(),
    variant<KvFormat::int8, 64, true>(),  variant<KvFormat::int8, 128, true>(),
};

const AttentionVariant& variant_of(const AttentionOptions& options) {
    const std::int32_t shortest = *std::min_element(options.lengths.begin(), options.lengths.end());
    if (shortest < options.q_len) {
        throw UsageError(fmt::format(
            "attention: a context of {} tokens is shorter than the {} query tokens: make it longer", shortest,
            options.q_len));
    }
    for (const AttentionVariant& v : kVariants) {
        if (v.format == options.format && v.head_dim == options.heads.head_dim &&
            v.several_tokens == (options.q_len != 1))
            return v;
    }
    throw UsageError(
        fmt::format("no attention kernel for head dimension {}: use 64 or 128", options.heads.head_dim));
}

DecodeKernelShape shape_of(const AttentionVariant& variant, const AttentionOptions& options) {
    return {.kernel = reinterpret_cast<const void*>(variant.kernel),
            .stage_bytes = variant.stage_bytes,
            .fixed_bytes = variant.fixed_bytes,
            .result_dim = variant.head_dim,
            .result_rows = static_cast<std::size_t>(kWarpTokens * options.row_tiles())};
}

}  // namespace

std::uint64_t PagedAttention::copy_bytes(const AttentionOptions& options) {
    const PoolShape pool = options.pool();
    const std::uint64_t pages =
        pages_for(options.lengths, static_cast<std::uint32_t>(options.page), options.seen_window());
    return pages * (pool.page_bytes() + pool.page_scales() * sizeof(float));
}

PagedAttention::PagedAttention(const AttentionOptions& options, std::size_t copies, std::uint64_t seed)
    : options_(options),
      variant_(variant_of(options)),
      seed_(seed),
      ring_(shape_of(variant_, options), options.lengths, page_tables(options, copies, seed),
            [&](int blocks) { return split_options(options, blocks); }),
      pool_(options.pool_pages(copies) * options.pool().page_bytes()),
      scales_(options.pool_pages(copies) * options.pool().page_scales()),
      sinks_(options.sinks ? options.heads.query_heads : 0),
      lengths_(std::span<const std::int32_t>(options.lengths)) {
    fill_codes(options.format, seed, pool_.data(), pool_.size() / bytes_of(options.format));
    fill_scales(seed, scales_);
    std::vector<float> sinks(sinks_.size());
    for (std::size_t i = 0; i < sinks.size(); ++i) sinks[i] = sink_logit(seed, i);
    sinks_.upload(sinks);
    call_ = attention_call(options, ring_.stages());
    ring_.put_into(call_);
    call_.pool = pool_.data();
    call_.scales = scales_.data();
    call_.sinks = sinks_.data();
    call_.lengths = lengths_.data();
}

void PagedAttention::launch(std::size_t copy, const std::uint16_t* q, const ResultPlace& out,
                            Stream stream) const {
    AttentionCall call = call_;
    call.q = q;
    call.out = out;
    ring_.launch(variant_.kernel, call, copy, stream);
}

void PagedAttention::spoil() {
    const PoolShape pool = options_.pool();
    const std::int32_t seen = window_begin(options_.lengths.front(), options_.seen_window()) / options_.page;
    const std::int32_t page = ring_.table(0).pages[static_cast<std::size_t>(seen)];
    std::byte* const values =
        pool_.data() + static_cast<std::uint64_t>(page) * pool.page_bytes() + pool.strides().value;
    fill_codes(options_.format, ~seed_, values, pool.page_bytes() / 2 / bytes_of(options_.format));
}

namespace {

/// Throws NotAvailable if the GPU has no room for a pool that was enlarged on purpose. Such a row is then
/// reported as not available, not as failed.
void demand_room_for(std::uint64_t pool_bytes) {
    if (pool_bytes == 0) return;
    std::size_t free = 0;
    std::size_t total = 0;
    PARETOKEN_CUDA(cudaMemGetInfo(&free, &total));
    if (pool_bytes <= free / 10 * 9) return;
    throw NotAvailable(
        fmt::format("a KV pool of {:.0f} GB needs more than the {:.1f} GB that the GPU has free",
                    static_cast<double>(pool_bytes) / 1e9, static_cast<double>(free) / 1e9));
}

/// The device memory that `prepare` allocates.
struct AttentionMemory {
    PagedAttention attention;
    DeviceBuffer<std::uint16_t> q;
    DeviceBuffer<float> out;
};

/// The decode attention kernel of a row. `plant_fault` overwrites the values of one page of the cache with
/// other numbers, so that the check must fail.
class AttentionKernel final : public GpuKernel {
  public:
    AttentionKernel(AttentionOptions options, bool plant_fault)
        : options_(std::move(options)), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override { return PagedAttention::copy_bytes(options_); }
    Work work() const override { return attention_work(options_); }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        seed_ = seed;
        memory_.reset();  // frees the old memory before new memory is allocated
        demand_room_for(options_.least_pool_bytes);
        memory_.emplace(AttentionMemory{.attention = PagedAttention(options_, copies, seed),
                                        .q = DeviceBuffer<std::uint16_t>(options_.outputs()),
                                        .out = DeviceBuffer<float>(options_.outputs())});
        if (plant_fault_) memory_->attention.spoil();
        std::vector<std::uint16_t> q(memory_->q.size());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = query_code(options_.format, seed, i);
        memory_->q.upload(q);
    }

    std::optional<std::string> check(Stream stream) override {
        std::vector<float> out;
        const auto launch_poisoned = [&] {
            memory_->attention.poison(stream);
            launch(0, stream);
        };
        if (auto wrong = same_twice(memory_->out, launch_poisoned, stream, out)) return wrong;
        const PageTable& table = memory_->attention.ring().table(0);
        for (const auto& [request, head] : pairs_to_check(options_, seed_)) {
            const double error = attention_error(options_, out, table, request, head, seed_);
            if (!(error <= attention_bound(options_.format))) {
                return fmt::format("request {}, KV head {}: relative error {:.1e} > {:.0e}", request, head,
                                   error, attention_bound(options_.format));
            }
        }
        return std::nullopt;
    }

    void launch(std::size_t copy, Stream stream) override {
        memory_->attention.launch(copy, memory_->q.data(), {.wide = memory_->out.data()}, stream);
    }

  private:
    AttentionOptions options_;
    bool plant_fault_;
    std::optional<AttentionMemory> memory_;
    std::uint64_t seed_ = 0;
};

}  // namespace

std::vector<GpuRow> attention_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<GpuRow> rows;
    for (const AttentionOptions& options : attention_suite(row_set(settings))) {
        rows.push_back({name_of(options), [options, fault = settings.plant_fault] {
                            return std::make_unique<AttentionKernel>(options, fault);
                        }});
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
