#pragma once
// Decode attention over a KV cache: one new token's queries against every cached key and value of one KV
// head, the query heads that share it together, block after block with an online softmax. K and V of a block
// lie packed, in the order one linear walk needs them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "microbench/cpu/isa.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

enum class KvType { bf16, f16 };
std::string_view name_of(KvType type);
float float_of(KvType type, std::uint16_t bits);

inline constexpr std::size_t kMaxGroup = 8;
inline constexpr std::size_t kMaxHeadDim = 256;
inline constexpr std::size_t kMaxKvBlock = 128;

/// The cache of one KV head of one sequence. tokens ≥ 1, head_dim and block multiples of 16.
struct KvShape {
    KvType type = KvType::bf16;
    std::size_t tokens = 0;
    std::size_t head_dim = 0;
    std::size_t block = 0;  ///< tokens

    bool operator==(const KvShape&) const = default;
    std::size_t blocks() const { return (tokens + block - 1) / block; }
    std::size_t block_bytes() const { return 2 * block * head_dim * sizeof(std::uint16_t); }
    std::size_t stored_bytes() const { return blocks() * block_bytes(); }
    std::size_t bytes() const { return 2 * tokens * head_dim * sizeof(std::uint16_t); }  ///< without padding
};

/// Keys and values [tokens, head_dim] → blocks, each of
///   K: [block / 16][head_dim / 2][16 tokens][2] for bf16, [block / 16][head_dim][16 tokens] for f16
///   V: [head_dim / 16][block / 2][16 dims][2] for bf16, [head_dim / 16][block][16 dims] for f16
/// with zeros where the last block has no token.
std::vector<std::byte> packed_kv(const KvShape& shape, std::span<const std::uint16_t> keys,
                                 std::span<const std::uint16_t> values);

/// The queries of one group, in the forms that kernels read; rounded to bf16 against a bf16 cache.
struct Queries {
    std::size_t group = 0;
    std::size_t head_dim = 0;
    std::vector<float> values;         ///< [group, kMaxHeadDim]
    std::vector<std::uint32_t> pairs;  ///< [group, kMaxHeadDim / 2] of two bf16
};

/// `q` is [group, head_dim].
Queries queries_for(KvType type, std::span<const float> q, std::size_t group);

struct AttentionCall {
    const std::byte* kv = nullptr;
    const std::uint32_t* pages = nullptr;  ///< block i lies at kv + pages[i] · block_bytes; null: in order
    KvShape shape;
    const Queries* q = nullptr;
    float* out = nullptr;  ///< [group, head_dim]
};
using Attention = void (*)(const AttentionCall&);

/// Whether these heads have a kernel: up to kMaxGroup query heads on a KV head.
bool attention_takes(const HeadShape& heads);

/// Nothing but the plainest is required to exist: falls back to it. Throws UsageError for a group of heads
/// that no kernel takes (above kMaxGroup).
Attention attention_for(KvType type, Isa isa, std::size_t group);

/// The same in fp64 from the same numbers: [group, head_dim].
std::vector<double> attention_reference(const KvShape& shape, std::span<const std::uint16_t> keys,
                                        std::span<const std::uint16_t> values, const Queries& q);

/// Largest relative L2 error a right kernel may show.
constexpr double attention_bound(KvType type) {
    return type == KvType::bf16 ? 3e-3 : 6e-4;
}

}  // namespace paretoken::microbench
