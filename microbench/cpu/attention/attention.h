#pragma once
// Decode attention over a KV cache. One call attends with the queries of one new token to every cached key
// and value of one KV head, for all query heads that share this KV head.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "microbench/cpu/fetch.h"
#include "microbench/cpu/isa.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

/// int8 stores codes from −127 to 127, with one fp32 scale for K and one for V of each token and KV head.
enum class KvType { bf16, f16, int8 };
inline constexpr KvType kKvTypes[] = {KvType::bf16, KvType::f16, KvType::int8};
std::string_view name_of(KvType type);

inline constexpr std::size_t kMaxGroup = 8;
inline constexpr std::size_t kMaxHeadDim = 256;
inline constexpr std::size_t kMaxKvBlock = 128;

/// The cache of one KV head; `tokens` ≥ 1, `head_dim` and `block` are multiples of 16.
struct KvShape {
    KvType type = KvType::bf16;
    std::size_t tokens = 0;
    std::size_t head_dim = 0;
    std::size_t block = 0;  ///< tokens per block

    bool operator==(const KvShape&) const = default;
    std::size_t value_bytes() const { return type == KvType::int8 ? 1 : 2; }
    std::size_t scale_bytes() const { return type == KvType::int8 ? sizeof(float) : 0; }
    /// Returns the bytes of K, or V, of a token with its scale.
    std::size_t token_bytes() const { return head_dim * value_bytes() + scale_bytes(); }
    std::size_t blocks() const { return (tokens + block - 1) / block; }
    std::size_t half_bytes() const { return block * token_bytes(); }  ///< bytes of K, or V, of a block
    std::size_t block_bytes() const { return 2 * half_bytes(); }
    std::size_t stored_bytes() const { return blocks() * block_bytes(); }
    std::size_t bytes() const { return 2 * tokens * token_bytes(); }  ///< without padding
};

/// K or V of all tokens of one KV head, rounded to the type of the cache but not packed: [tokens, head_dim].
struct KvNumbers {
    KvType type = KvType::bf16;
    std::size_t head_dim = 0;
    std::vector<std::uint16_t> bits = {};  ///< a bf16 or f16 number, or an int8 code in the low byte
    std::vector<float> scale = {};         ///< scale per token; empty if the type has none

    float value(std::size_t token, std::size_t d) const;
};

/// Rounds `values` [tokens, head_dim] to the type: to the nearest bf16 or f16 number, or for int8 to codes
/// with the scale max |x| ÷ 127 of their token.
KvNumbers kv_numbers(KvType type, std::span<const float> values, std::size_t head_dim);

/// Packs keys and values into blocks, each of K's half and V's half:
///   bf16  K [block / 16][head_dim / 2][16 tokens][2]          V [head_dim / 16][block / 2][16 dims][2]
///   f16   K [block / 16][head_dim][16 tokens]                 V [head_dim / 16][block][16 dims]
///   int8  K [block / 16][head_dim / 4][16 tokens][4] codes with 128 added, then [block] scales;
///         V [block] scales, then [head_dim / 16][block / 4][16 dims][4] codes
/// Missing tokens of the last block are zeros.
std::vector<std::byte> packed_kv(const KvShape& shape, const KvNumbers& keys, const KvNumbers& values);

/// The queries of one group (the heads that share a KV head) in the form of the cache's type: rounded to
/// bf16, unchanged for f16, or codes −127 … 127 with a scale per head for int8.
struct Queries {
    std::size_t group = 0;
    std::size_t head_dim = 0;
    std::vector<float> values;         ///< [group, kMaxHeadDim], the exact values of the forms below
    std::vector<std::uint32_t> pairs;  ///< bf16: [group, kMaxHeadDim / 2] of two numbers
    std::vector<std::uint32_t> quads;  ///< int8: [group, kMaxHeadDim / 4] of four codes
    std::vector<float> scale;          ///< int8: [group]
    std::vector<std::int32_t> start;   ///< int8: [group] of −128 · Σ codes, as K's bytes have 128 added
};

/// `q` is [group, head_dim].
Queries queries_for(KvType type, std::span<const float> q, std::size_t group);

struct AttentionCall {
    const std::byte* kv = nullptr;
    const std::uint32_t* pages =
        nullptr;  ///< block i lies at kv + pages[i] · block_bytes; null means that the blocks are in order
    KvShape shape;
    const Queries* q = nullptr;
    float* out = nullptr;  ///< [group, head_dim]
    Fetch fetch = Fetch::none;
};
using Attention = void (*)(const AttentionCall&);

/// Returns whether there is a kernel for these heads: 1 to kMaxGroup query heads per KV head, and a head_dim
/// that is a multiple of 16 and at most kMaxHeadDim.
bool attention_takes(const HeadShape& heads);

/// Returns the kernel for `group` query heads per KV head, of the best instruction set up to `isa` that has
/// one. Throws UsageError if `group` is 0 or above kMaxGroup.
Attention attention_for(KvType type, Isa isa, std::size_t group);

/// Computes the attention in fp64 from the same numbers: [group, head_dim].
std::vector<double> attention_reference(const KvShape& shape, const KvNumbers& keys, const KvNumbers& values,
                                        const Queries& q);

/// Returns the largest relative L2 error of a correct kernel. Probabilities may be rounded to bf16 for a bf16
/// cache, to 14-bit integers for int8, and are fp32 for f16.
constexpr double attention_bound(KvType type) {
    return type == KvType::bf16 ? 3e-3 : 6e-4;
}

}  // namespace paretoken::microbench
