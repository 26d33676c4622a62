#pragma once
// Code that the attention kernels of all instruction sets share: the positions of a block's parts, the
// prefetches during the work on them, the running softmax, and the tables of kernels.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "microbench/cpu/attention/attention.h"

namespace paretoken::microbench {

inline constexpr std::size_t kTile = 16;  // tokens of K, or dims of V, that are stored side by side
inline constexpr float kLowest = -1e30F;  // "no maximum yet": finite, so that differences stay numbers
/// Kernels compute 2^x for max(x, kLowestExponent), so that the result stays a normal number.
inline constexpr float kLowestExponent = -126.F;
/// The power series of 2^f up to f^6; the next term is below 2e-7 for |f| ≤ 1/2.
inline constexpr float kExp2[] = {1.F,           .693147181F,   .240226507F,   .0555041087F,
                                  .00961812911F, .00133335581F, .000154035304F};

struct AttentionVariant {
    KvType type;
    Isa isa;
    std::size_t group;  // 0: any
    Attention run;
};
std::span<const AttentionVariant> avx2_attentions();
std::span<const AttentionVariant> avx512_attentions();

/// Returns a table of one kernel for each type and each group from 1 to kMaxGroup. `Kernels` is a class
/// whose static member template kAttention<type, group> is the kernel.
template <class Kernels>
constexpr auto attention_table(Isa isa) {
    std::array<AttentionVariant, std::size(kKvTypes) * kMaxGroup> table{};
    std::size_t at = 0;
    const auto add = [&]<KvType kType, std::size_t... kLess>(std::index_sequence<kLess...>) {
        ((table[at++] = {kType, isa, kLess + 1,
                         Kernels::template kAttention<kType, static_cast<int>(kLess) + 1>}),
         ...);
    };
    add.template operator()<KvType::bf16>(std::make_index_sequence<kMaxGroup>());
    add.template operator()<KvType::f16>(std::make_index_sequence<kMaxGroup>());
    add.template operator()<KvType::int8>(std::make_index_sequence<kMaxGroup>());
    return table;
}

/// The scores of one block and its weights (for int8 times V's scales), in the form that a kernel reads:
/// floats (`weight`), pairs of bf16 (`pairs`), or integers in two limbs (`quads`, see kLimbBits). Each head
/// has room for kMaxKvBlock tokens, so that addresses differ by constants.
struct BlockScores {
    alignas(64) float score[kMaxGroup * kMaxKvBlock];
    alignas(64) float weight[kMaxGroup * kMaxKvBlock];
    alignas(64) std::uint32_t pairs[kMaxGroup * kMaxKvBlock / 2];
    alignas(
        64) std::uint32_t quads[2 * kMaxGroup * kMaxKvBlock / 4];  // per head the high, then the low limbs
    float unit[kMaxGroup];                                         // value of a low limb of 1
};

/// The weights for int8 are probabilities times V's scales, as integers up to kMostWeight in two limbs of
/// seven bits, so that 16 bits hold two products of a limb and a code.
inline constexpr int kLimbBits = 7;
inline constexpr float kMostWeight = (1 << 2 * kLimbBits) - 1;

/// Returns the factor by which weights are multiplied before they are rounded to integers, so that `largest`
/// (the largest weight) becomes kMostWeight. Returns 0 if `largest` is almost 0.
inline float weight_factor(float largest) {
    return largest > 1e-30F ? kMostWeight / largest : 0;
}

struct Softmax {
    float maximum = kLowest;
    float sum = 0;
};

/// Returns the factor by which a dot product q·k is multiplied to give a score. Scores are exponents of two:
/// exp(s / √d) = 2^(s · log2 e / √d) for s = q·k.
inline float score_scale(std::size_t head_dim) {
    return std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(head_dim));
}

/// The distances in bytes from the cache line that is read to the lines that are prefetched into L2 (`far`)
/// and into L1 (`near`). With a distance of 0, no further line is prefetched.
struct FetchFrom {
    std::ptrdiff_t far = 0;
    std::ptrdiff_t near = 0;

    // Always inlined: g++ treats a function that only prefetches as one without effect and drops its calls.
    __attribute__((always_inline)) void fetch(const std::byte* line) const {
        __builtin_prefetch(line + far, 0, 2);
        __builtin_prefetch(line + near);
    }
};

/// The positions of the parts of one block, and the prefetches to make while its keys and values are read.
struct BlockView {
    const std::byte* keys = nullptr;
    const std::byte* key_scales = nullptr;  // floats
    const std::byte* values = nullptr;
    const std::byte* value_scales = nullptr;  // floats
    std::size_t tokens = 0;
    FetchFrom with_keys;
    FetchFrom with_values;
};

/// Returns the bytes from the half of a block that is read to the one to prefetch: the first that is used at
/// least kAheadInL1 bytes later; 0 if there is none. Half 2i is K of block i, half 2i + 1 its V.
inline std::ptrdiff_t to_coming_half(const AttentionCall& call, std::size_t half) {
    const std::size_t bytes = call.shape.half_bytes();
    const std::size_t to = half + (kAheadInL1 + bytes - 1) / bytes;
    if (to / 2 >= call.shape.blocks()) return 0;
    const auto place = [&](std::size_t n) {
        return static_cast<std::ptrdiff_t>((std::size_t{call.pages[n / 2]} * 2 + n % 2) * bytes);
    };
    return place(to) - place(half);
}

inline FetchFrom fetch_from(const AttentionCall& call, std::size_t half) {
    if (call.fetch == Fetch::none) return {};
    if (call.pages == nullptr)
        return call.fetch == Fetch::l1 ? FetchFrom{.far = 0, .near = kAheadInL1}
                                       : FetchFrom{.far = kFarAhead, .near = kNearAhead};
    const std::ptrdiff_t coming = to_coming_half(call, half);
    return call.fetch == Fetch::l1 ? FetchFrom{.far = 0, .near = coming}
                                   : FetchFrom{.far = coming, .near = 0};
}

inline BlockView block_view(const AttentionCall& call, std::size_t index) {
    const KvShape& shape = call.shape;
    const std::size_t page = call.pages == nullptr ? index : call.pages[index];
    const std::byte* const keys = call.kv + page * shape.block_bytes();
    const std::byte* const values = keys + shape.half_bytes();
    const std::size_t scales = shape.block * shape.scale_bytes();
    return {.keys = keys,
            .key_scales = values - scales,
            .values = values + scales,
            .value_scales = values,
            .tokens = std::min(shape.block, shape.tokens - index * shape.block),
            .with_keys = fetch_from(call, 2 * index),
            .with_values = fetch_from(call, 2 * index + 1)};
}

constexpr std::size_t pairs_up(std::size_t tokens) {
    return (tokens + 1) / 2;
}
constexpr std::size_t quads_up(std::size_t tokens) {
    return (tokens + 3) / 4;
}

}  // namespace paretoken::microbench
