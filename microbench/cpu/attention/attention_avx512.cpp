// Decode attention with 512-bit registers: 16 tokens or 16 dims in each; every query head of the group uses
// the same line of K or V. bf16 is multiplied in pairs, f16 as floats, int8 as bytes.
#include "microbench/cpu/attention/attention_block.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"

namespace paretoken::microbench {
namespace {

PARETOKEN_INLINE_AVX512 __m512 exp2_of(__m512 x) {
    x = _mm512_max_ps(x, _mm512_set1_ps(kLowestExponent));
    const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, whole);
    __m512 value = _mm512_set1_ps(kExp2[6]);
    for (int i = 5; i >= 0; --i) value = _mm512_fmadd_ps(value, f, _mm512_set1_ps(kExp2[i]));
    return _mm512_scalef_ps(value, whole);
}

// A panel consists of steps of lines: out[g] = Σ line · x[g · kStride + step]. Even and odd steps have
// separate chains of sums, to hide the latency.

/// bf16: a step is a pair.
template <std::size_t kStride, int kHeads>
PARETOKEN_INLINE_AVX512 void panel(const std::byte* line, std::size_t steps, const std::uint32_t* x,
                                   const FetchFrom& from, __m512 (&out)[kHeads]) {
    __m512 odd[kHeads];
    for (int g = 0; g < kHeads; ++g) out[g] = odd[g] = _mm512_setzero_ps();
    std::size_t i = 0;
    for (; i + 2 <= steps; i += 2, line += 128) {
        from.fetch(line);
        from.fetch(line + 64);
        const __m512i first = _mm512_loadu_si512(line);
        const __m512i second = _mm512_loadu_si512(line + 64);
        for (int g = 0; g < kHeads; ++g) {
            out[g] = dot_pairs_broadcast(out[g], first, x + g * kStride + i);
            odd[g] = dot_pairs_broadcast(odd[g], second, x + g * kStride + i + 1);
        }
    }
    if (i < steps) {
        for (int g = 0; g < kHeads; ++g)
            out[g] = dot_pairs_broadcast(out[g], _mm512_loadu_si512(line), x + g * kStride + i);
    }
    for (int g = 0; g < kHeads; ++g) out[g] = _mm512_add_ps(out[g], odd[g]);
}

/// f16: a step is half a line.
template <std::size_t kStride, int kHeads>
PARETOKEN_INLINE_AVX512 void panel(const std::byte* line, std::size_t steps, const float* x,
                                   const FetchFrom& from, __m512 (&out)[kHeads]) {
    __m512 odd[kHeads];
    for (int g = 0; g < kHeads; ++g) out[g] = odd[g] = _mm512_setzero_ps();
    std::size_t i = 0;
    for (; i + 2 <= steps; i += 2, line += 64) {
        from.fetch(line);
        const __m512 first = sixteen_halves(line);
        const __m512 second = sixteen_halves(line + 32);
        for (int g = 0; g < kHeads; ++g) {
            out[g] = _mm512_fmadd_ps(first, _mm512_set1_ps(x[g * kStride + i]), out[g]);
            odd[g] = _mm512_fmadd_ps(second, _mm512_set1_ps(x[g * kStride + i + 1]), odd[g]);
        }
    }
    if (i < steps) {
        for (int g = 0; g < kHeads; ++g)
            out[g] = _mm512_fmadd_ps(sixteen_halves(line), _mm512_set1_ps(x[g * kStride + i]), out[g]);
    }
    for (int g = 0; g < kHeads; ++g) out[g] = _mm512_add_ps(out[g], odd[g]);
}

/// Multiplies int8; one of the two factors is unsigned: the line (K) or x (V).
template <bool kLineUnsigned>
PARETOKEN_INLINE_AVX512 __m512i dot_codes(__m512i sum, __m512i line, const std::uint32_t* x) {
    const __m512i four = _mm512_set1_epi32(static_cast<int>(*x));
    return kLineUnsigned ? dot_bytes(sum, line, four) : dot_bytes(sum, four, line);
}

/// int8: a step is four bytes. Adds to `out`.
template <bool kLineUnsigned, std::size_t kStride, int kHeads>
PARETOKEN_INLINE_AVX512 void panel(const std::byte* line, std::size_t steps, const std::uint32_t* x,
                                   const FetchFrom& from, __m512i (&out)[kHeads]) {
    constexpr bool kTwoChains = kHeads <= 4;
    __m512i odd[kTwoChains ? kHeads : 1];
    if constexpr (kTwoChains) std::fill(odd, odd + kHeads, _mm512_setzero_si512());
    std::size_t i = 0;
    for (; i + 2 <= steps; i += 2, line += 128) {
        from.fetch(line);
        from.fetch(line + 64);
        const __m512i first = _mm512_loadu_si512(line);
        const __m512i second = _mm512_loadu_si512(line + 64);
        for (int g = 0; g < kHeads; ++g)
            out[g] = dot_codes<kLineUnsigned>(out[g], first, x + g * kStride + i);
        for (int g = 0; g < kHeads; ++g) {
            __m512i& other = kTwoChains ? odd[g] : out[g];
            other = dot_codes<kLineUnsigned>(other, second, x + g * kStride + i + 1);
        }
    }
    if (i < steps) {
        for (int g = 0; g < kHeads; ++g)
            out[g] = dot_codes<kLineUnsigned>(out[g], _mm512_loadu_si512(line), x + g * kStride + i);
    }
    if constexpr (kTwoChains) {
        for (int g = 0; g < kHeads; ++g) out[g] = _mm512_add_epi32(out[g], odd[g]);
    }
}

PARETOKEN_INLINE_AVX512 __m512 load_floats(const std::byte* floats) {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(floats));
}

/// Computes Q · K of 16 tokens from `t` on, without the factor that all share.
template <KvType kType, int kGroup>
PARETOKEN_INLINE_AVX512 void products(const BlockView& block, std::size_t t, const Queries& q,
                                      __m512 (&out)[kGroup]) {
    const std::size_t dim = q.head_dim;
    if constexpr (kType == KvType::bf16) {
        panel<kMaxHeadDim / 2>(block.keys + t * dim * 2, dim / 2, q.pairs.data(), block.with_keys, out);
    } else if constexpr (kType == KvType::f16) {
        panel<kMaxHeadDim>(block.keys + t * dim * 2, dim, q.values.data(), block.with_keys, out);
    } else {
        __m512i whole[kGroup];
        for (int g = 0; g < kGroup; ++g) whole[g] = _mm512_set1_epi32(q.start[g]);
        panel<true, kMaxHeadDim / 4>(block.keys + t * dim, dim / 4, q.quads.data(), block.with_keys, whole);
        const __m512 scale = load_floats(block.key_scales + t * sizeof(float));
        for (int g = 0; g < kGroup; ++g)
            out[g] =
                _mm512_mul_ps(_mm512_cvtepi32_ps(whole[g]), _mm512_mul_ps(scale, _mm512_set1_ps(q.scale[g])));
    }
}

/// Computes probabilities · V of 16 dims from `d` on.
template <KvType kType, int kGroup>
PARETOKEN_INLINE_AVX512 void weighted(const BlockView& block, const KvShape& shape, std::size_t d,
                                      const BlockScores& scores, __m512 (&out)[kGroup]) {
    const std::byte* const line = block.values + d * shape.block * shape.value_bytes();
    if constexpr (kType == KvType::bf16) {
        panel<kMaxKvBlock / 2>(line, pairs_up(block.tokens), scores.pairs, block.with_values, out);
    } else if constexpr (kType == KvType::f16) {
        panel<kMaxKvBlock>(line, block.tokens, scores.weight, block.with_values, out);
    } else {
        __m512i limbs[2 * kGroup] = {};
        panel<false, kMaxKvBlock / 4>(line, quads_up(block.tokens), scores.quads, block.with_values, limbs);
        for (int g = 0; g < kGroup; ++g) {
            const __m512i whole =
                _mm512_add_epi32(_mm512_slli_epi32(limbs[2 * g], kLimbBits), limbs[2 * g + 1]);
            out[g] = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), _mm512_set1_ps(scores.unit[g]));
        }
    }
}

/// Splits weights, whose largest per head is known, into two limbs of seven bits.
template <int kGroup>
PARETOKEN_INLINE_AVX512 void split_weights(BlockScores& block, std::size_t tokens,
                                           const __m512 (&largest)[kGroup]) {
    const __m512i low_bits = _mm512_set1_epi32((1 << kLimbBits) - 1);
    __m512 factor[kGroup];
    for (int g = 0; g < kGroup; ++g) {
        const float most = _mm512_reduce_max_ps(largest[g]);
        factor[g] = _mm512_set1_ps(weight_factor(most));
        block.unit[g] = most / kMostWeight;
    }
    for (std::size_t t = 0; t < tokens; t += kTile) {
        for (int g = 0; g < kGroup; ++g) {
            auto* const high = reinterpret_cast<__m128i*>(block.quads + (2 * g * kMaxKvBlock + t) / 4);
            auto* const low = reinterpret_cast<__m128i*>(block.quads + ((2 * g + 1) * kMaxKvBlock + t) / 4);
            const __m512 weight = _mm512_load_ps(block.weight + g * kMaxKvBlock + t);
            const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(weight, factor[g]));
            _mm_store_si128(high, _mm512_cvtepi32_epi8(_mm512_srli_epi32(whole, kLimbBits)));
            _mm_store_si128(low, _mm512_cvtepi32_epi8(_mm512_and_si512(whole, low_bits)));
        }
    }
}

/// Turns the scores of a block into weights, and sets the factors for earlier sums. All heads take each
/// step together, because one head alone would wait for its own results.
template <KvType kType, int kGroup>
PARETOKEN_INLINE_AVX512 void soften(const BlockView& view, BlockScores& block, Softmax (&state)[kGroup],
                                    float (&rescale)[kGroup]) {
    const std::size_t tokens = view.tokens;
    __m512 highest[kGroup];
    for (int g = 0; g < kGroup; ++g) highest[g] = _mm512_set1_ps(state[g].maximum);
    for (std::size_t t = 0; t < tokens; t += kTile) {
        for (int g = 0; g < kGroup; ++g)
            highest[g] = _mm512_mask_max_ps(highest[g], rows_mask(tokens - t), highest[g],
                                            _mm512_load_ps(block.score + g * kMaxKvBlock + t));
    }
    __m512 sum[kGroup] = {};
    __m512 largest[kGroup] = {};
    for (int g = 0; g < kGroup; ++g) {
        const float maximum = _mm512_reduce_max_ps(highest[g]);
        rescale[g] = _mm512_cvtss_f32(exp2_of(_mm512_set1_ps(state[g].maximum - maximum)));
        state[g].maximum = maximum;
        highest[g] = _mm512_set1_ps(maximum);
    }
    for (std::size_t t = 0; t < tokens; t += kTile) {
        for (int g = 0; g < kGroup; ++g) {
            const std::size_t at = g * kMaxKvBlock + t;
            const __m512 shifted = _mm512_sub_ps(_mm512_load_ps(block.score + at), highest[g]);
            const __m512 p = _mm512_maskz_mov_ps(rows_mask(tokens - t), exp2_of(shifted));
            sum[g] = _mm512_add_ps(sum[g], p);
            if constexpr (kType == KvType::bf16) {
                const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(p));
                _mm256_store_si256(reinterpret_cast<__m256i*>(block.pairs + at / 2), rounded);
            } else if constexpr (kType == KvType::f16) {
                _mm512_store_ps(block.weight + at, p);
            } else {
                const __m512 scaled = _mm512_mul_ps(p, load_floats(view.value_scales + t * sizeof(float)));
                largest[g] = _mm512_max_ps(largest[g], scaled);
                _mm512_store_ps(block.weight + at, scaled);
            }
        }
    }
    if constexpr (kType == KvType::int8) split_weights(block, tokens, largest);
    for (int g = 0; g < kGroup; ++g) state[g].sum = state[g].sum * rescale[g] + _mm512_reduce_add_ps(sum[g]);
}

template <KvType kType, int kGroup>
__attribute__((target(PARETOKEN_AVX512))) void attention(const AttentionCall& call) {
    const KvShape& shape = call.shape;
    const __m512 scale = _mm512_set1_ps(score_scale(shape.head_dim));
    BlockScores scores;
    Softmax state[kGroup];
    std::fill_n(call.out, kGroup * shape.head_dim, 0.F);
    for (std::size_t index = 0; index < shape.blocks(); ++index) {
        const BlockView block = block_view(call, index);
        __m512 sum[kGroup];
        for (std::size_t t = 0; t < block.tokens; t += kTile) {
            products<kType>(block, t, *call.q, sum);
            for (int g = 0; g < kGroup; ++g)
                _mm512_store_ps(scores.score + g * kMaxKvBlock + t, _mm512_mul_ps(sum[g], scale));
        }
        float rescale[kGroup];
        soften<kType>(block, scores, state, rescale);
        for (std::size_t d = 0; d < shape.head_dim; d += kTile) {
            weighted<kType>(block, shape, d, scores, sum);
            for (int g = 0; g < kGroup; ++g) {
                float* const out = call.out + g * shape.head_dim + d;
                const __m512 factor = _mm512_set1_ps(rescale[g]);
                _mm512_storeu_ps(out, _mm512_fmadd_ps(_mm512_loadu_ps(out), factor, sum[g]));
            }
        }
    }
    for (int g = 0; g < kGroup; ++g) {
        for (std::size_t d = 0; d < shape.head_dim; ++d) call.out[g * shape.head_dim + d] /= state[g].sum;
    }
}

struct Kernels {
    template <KvType kType, int kGroup>
    static constexpr Attention kAttention = attention<kType, kGroup>;
};
constexpr auto kTable = attention_table<Kernels>(Isa::avx512);

}  // namespace

std::span<const AttentionVariant> avx512_attentions() {
    return kTable;
}

}  // namespace paretoken::microbench
#endif
