#include "microbench/cpu/attention/attention_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/cpu/pages.h"
#include "microbench/cpu/ring.h"

namespace paretoken::microbench {
namespace {

constexpr std::size_t kDistinct = 2;  // KV heads with different numbers; the ring repeats them

/// One KV head of one sequence and its queries.
struct Head {
    Queries q;
    std::vector<double> reference = {};  // [group, head_dim]
};

std::vector<float> random_floats(std::size_t count, Random& random) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random.normal());
    return values;
}

class AttentionKernel final : public Kernel {
  public:
    AttentionKernel(const AttentionOptions& options, const StreamOptions& stream);

    void prepare(std::size_t thread) override;
    std::optional<std::string> check(std::size_t thread) override;
    std::size_t window_count() const override { return parts_.front().ring.window_count(); }
    Window window(std::size_t thread, std::size_t index) const override {
        const Part& part = parts_[thread];
        const Window window = part.ring.window(index);
        return random_order_ ? part.order.permuted(window, part.ring.first_copy()) : window;
    }
    std::size_t variant_count() const override { return std::size(kFetches); }
    void choose(std::size_t variant) override { fetch_ = kFetches[variant]; }
    std::size_t prefetch_bytes() const override { return distance_of(fetch_); }
    void run(std::size_t thread, std::size_t index) override;
    double run_cached(std::size_t thread) override;

  private:
    struct Part {
        Ring ring;
        PageOrder order;         // empty: blocks of a cache are in order
        std::vector<float> out;  // [kDistinct, group, head_dim]
    };

    void add_head(Random& random);
    void scatter(Part& part);
    double flops_of(std::size_t tokens) const {
        return 4.0 * static_cast<double>(tokens * shape_.head_dim * group_);
    }
    void compute(Part& part, std::size_t head, const std::byte* kv, const KvShape& shape, Fetch fetch);
    void run_first_copy(Part& part, Fetch fetch);

    KvShape shape_;
    std::size_t group_;
    std::uint64_t seed_;
    bool random_order_;
    bool plant_fault_;
    Attention attention_;
    Fetch fetch_ = Fetch::none;
    std::vector<Head> heads_;
    std::vector<Piece> pieces_;
    std::vector<std::byte> caches_;
    std::vector<Part> parts_;
};

AttentionKernel::AttentionKernel(const AttentionOptions& options, const StreamOptions& stream)
    : shape_{options.type, options.context, options.heads.head_dim, options.block},
      group_(options.heads.group()),
      seed_(stream.seed),
      random_order_(options.random_order),
      plant_fault_(stream.plant_fault),
      attention_(attention_for(options.type, stream.isa, options.heads.group())) {
    Random random(derived_seed(stream.seed, "attention"));
    for (std::size_t i = 0; i < kDistinct; ++i) add_head(random);
    for (std::size_t i = 0; i < stream.threads; ++i) {
        parts_.push_back({Ring(pieces_, stream.working_set_bytes / stream.threads), {}, {}});
    }
}

void AttentionKernel::add_head(Random& random) {
    const std::size_t count = shape_.tokens * shape_.head_dim;
    const auto random_numbers = [&] {
        return kv_numbers(shape_.type, random_floats(count, random), shape_.head_dim);
    };
    const KvNumbers keys = random_numbers();
    const KvNumbers values = random_numbers();
    Head head{.q = queries_for(shape_.type, random_floats(group_ * shape_.head_dim, random), group_)};
    head.reference = attention_reference(shape_, keys, values, head.q);
    heads_.push_back(std::move(head));
    const auto kv = packed_kv(shape_, keys, values);
    caches_.insert(caches_.end(), kv.begin(), kv.end());
    pieces_.push_back(
        {.size = shape_.stored_bytes(), .bytes = shape_.bytes(), .flops = flops_of(shape_.tokens)});
}

void AttentionKernel::prepare(std::size_t thread) {
    Part& part = parts_[thread];
    part.ring.fill(caches_);
    if (random_order_) {
        part.order = PageOrder(part.ring, shape_.block_bytes(), derived_seed(seed_, "pages", thread));
        scatter(part);
    }
    part.out.assign(kDistinct * group_ * shape_.head_dim, 0);
    if (!plant_fault_) return;
    // One token of a random cache would not show in the softmax, so all values of the first block are
    // changed.
    const std::size_t page = random_order_ ? part.order.pages().front() : 0;
    std::byte* const values = part.ring.first_copy() + page * shape_.block_bytes() + shape_.block_bytes() / 2;
    for (std::size_t i = 1; i < shape_.block_bytes() / 2; i += 2) values[i] ^= std::byte{0x80};
}

/// Moves every block to its page.
void AttentionKernel::scatter(Part& part) {
    const std::size_t size = shape_.block_bytes();
    std::byte* const begin = part.ring.first_copy();
    const auto pages = part.order.pages();
    for (std::size_t slot = 0; slot < pages.size(); ++slot)
        std::memcpy(begin + pages[slot] * size, caches_.data() + slot * size % caches_.size(), size);
}

/// Computes one head. `kv` is the position of the cache if its blocks were in order.
void AttentionKernel::compute(Part& part, std::size_t head, const std::byte* kv, const KvShape& shape,
                              Fetch fetch) {
    float* const out = part.out.data() + head * group_ * shape_.head_dim;
    const std::byte* const begin = part.ring.first_copy();
    const std::uint32_t* pages = nullptr;
    if (random_order_)
        pages = part.order.of(static_cast<std::size_t>(kv - begin), shape.stored_bytes()).data();
    attention_({.kv = random_order_ ? begin : kv,
                .pages = pages,
                .shape = shape,
                .q = &heads_[head].q,
                .out = out,
                .fetch = fetch});
}

void AttentionKernel::run(std::size_t thread, std::size_t index) {
    Part& part = parts_[thread];
    part.ring.for_each(
        index, [&](std::size_t head, const std::byte* at) { compute(part, head, at, shape_, fetch_); });
}

double AttentionKernel::run_cached(std::size_t thread) {
    Part& part = parts_[thread];
    KvShape shape = shape_;
    const std::size_t blocks = std::max<std::size_t>(kCachedBytes / shape.block_bytes(), 1);
    shape.tokens = std::min(shape.tokens, blocks * shape.block);
    compute(part, 0, part.ring.first_copy(), shape, fetch_);
    return flops_of(shape.tokens);
}

void AttentionKernel::run_first_copy(Part& part, Fetch fetch) {
    std::fill(part.out.begin(), part.out.end(), std::numeric_limits<float>::quiet_NaN());
    const std::byte* at = part.ring.first_copy();
    for (std::size_t i = 0; i < part.ring.pieces_of_first_copy(); ++i, at += shape_.stored_bytes()) {
        compute(part, i, at, shape_, fetch);
    }
}

std::optional<std::string> AttentionKernel::check(std::size_t thread) {
    Part& part = parts_[thread];
    run_first_copy(part, fetch_);
    const std::vector<float> first = part.out;
    for (const Fetch fetch : kFetches) {  // a prefetch changes no result
        run_first_copy(part, fetch);
        if (std::memcmp(first.data(), part.out.data(), first.size() * sizeof(float)) != 0)
            return "the same inputs gave different bits";
    }
    for (std::size_t i = 0; i < part.ring.pieces_of_first_copy(); ++i) {
        const std::size_t size = group_ * shape_.head_dim;
        const double error = relative_l2(std::span(part.out).subspan(i * size, size), heads_[i].reference);
        if (!(error <= attention_bound(shape_.type))) {
            return fmt::format("head {}: relative error {:.1e} > {:.0e}", i, error,
                               attention_bound(shape_.type));
        }
    }
    return std::nullopt;
}

}  // namespace

std::unique_ptr<Kernel> attention_kernel(const AttentionOptions& options, const StreamOptions& stream) {
    return std::make_unique<AttentionKernel>(options, stream);
}

}  // namespace paretoken::microbench
