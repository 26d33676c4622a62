// Decode attention with 256-bit registers, two of them for 16 tokens or 16 dims. bf16 and f16 are widened to
// floats, int8 is multiplied as bytes.
#include "microbench/cpu/attention/attention_block.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"

namespace paretoken::microbench {
namespace {

PARETOKEN_INLINE_AVX2 __m256 exp2_of(__m256 x) {
    x = _mm256_max_ps(x, _mm256_set1_ps(kLowestExponent));
    const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 f = _mm256_sub_ps(x, whole);
    __m256 value = _mm256_set1_ps(kExp2[6]);
    for (int i = 5; i >= 0; --i) value = _mm256_fmadd_ps(value, f, _mm256_set1_ps(kExp2[i]));
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_mul_ps(value, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

PARETOKEN_INLINE_AVX2 __m256i load_bytes(const std::byte* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
PARETOKEN_INLINE_AVX2 __m256 load_floats(const std::byte* floats) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(floats));
}

/// Computes for bf16 or f16: out[g] = Σ over `steps` of a panel's line times x[g · kStride + step].
template <KvType kType, std::size_t kStride, int kHeads>
PARETOKEN_INLINE_AVX2 void panel(const std::byte* line, std::size_t steps, const float* x,
                                 const FetchFrom& from, __m256 (&out)[kHeads][2]) {
    for (auto& both : out) both[0] = both[1] = _mm256_setzero_ps();
    const __m256i high_half = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
    if constexpr (kType == KvType::f16) {
        for (std::size_t i = 0; i < steps; ++i, line += 32) {
            from.fetch(line);
            for (int half = 0; half < 2; ++half) {
                const __m256 numbers = halves_as_floats(line + 16 * half);
                for (int g = 0; g < kHeads; ++g)
                    out[g][half] = _mm256_fmadd_ps(numbers, _mm256_set1_ps(x[g * kStride + i]), out[g][half]);
            }
        }
    } else {
        for (std::size_t i = 0; i < steps; i += 2, line += 64) {
            from.fetch(line);
            for (int half = 0; half < 2; ++half) {
                const __m256i pair = load_bytes(line + 32 * half);
                const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16));
                const __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(pair, high_half));
                for (int g = 0; g < kHeads; ++g) {
                    out[g][half] = _mm256_fmadd_ps(even, _mm256_set1_ps(x[g * kStride + i]), out[g][half]);
                    out[g][half] = _mm256_fmadd_ps(odd, _mm256_set1_ps(x[g * kStride + i + 1]), out[g][half]);
                }
            }
        }
    }
}

/// Broadcasts four codes of one head for the products of int8.
PARETOKEN_INLINE_AVX2 __m256i four_codes(const std::uint32_t* quad) {
    return _mm256_set1_epi32(static_cast<int>(*quad));
}

/// Multiplies K. Its bytes have 128 added; they are read as codes, so that sixteen bits hold the sums of
/// vpmaddubsw.
template <int kGroup>
PARETOKEN_INLINE_AVX2 void key_panel(const std::byte* line, const Queries& q, const FetchFrom& from,
                                     __m256i (&out)[kGroup][2]) {
    const __m256i sign_bit = _mm256_set1_epi8(static_cast<char>(0x80));
    for (auto& both : out) both[0] = both[1] = _mm256_setzero_si256();
    for (std::size_t i = 0; i < q.head_dim / 4; ++i, line += 64) {
        from.fetch(line);
        for (int half = 0; half < 2; ++half) {
            const __m256i codes = _mm256_xor_si256(load_bytes(line + 32 * half), sign_bit);
            const __m256i magnitude = _mm256_abs_epi8(codes);
            for (int g = 0; g < kGroup; ++g) {
                const __m256i four = four_codes(&q.quads[g * (kMaxHeadDim / 4) + i]);
                out[g][half] = _mm256_add_epi32(out[g][half], dot_signed(codes, magnitude, four));
            }
        }
    }
}

/// Multiplies V by limbs. A limb is below 128, so two products with codes fit into sixteen bits.
template <int kHeads>
PARETOKEN_INLINE_AVX2 void value_panel(const std::byte* line, std::size_t steps, const std::uint32_t* x,
                                       const FetchFrom& from, __m256i (&out)[kHeads][2]) {
    for (auto& both : out) both[0] = both[1] = _mm256_setzero_si256();
    for (std::size_t i = 0; i < steps; ++i, line += 64) {
        from.fetch(line);
        for (int half = 0; half < 2; ++half) {
            const __m256i codes = load_bytes(line + 32 * half);
            for (int g = 0; g < kHeads; ++g) {
                const __m256i pairs = _mm256_maddubs_epi16(four_codes(x + g * (kMaxKvBlock / 4) + i), codes);
                const __m256i sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                out[g][half] = _mm256_add_epi32(out[g][half], sums);
            }
        }
    }
}

/// Computes Q · K of 16 tokens from `t` on, without the factor that all share.
template <KvType kType, int kGroup>
PARETOKEN_INLINE_AVX2 void products(const BlockView& block, std::size_t t, const Queries& q,
                                    __m256 (&out)[kGroup][2]) {
    if constexpr (kType != KvType::int8) {
        panel<kType, kMaxHeadDim>(block.keys + t * q.head_dim * 2, q.head_dim, q.values.data(),
                                  block.with_keys, out);
    } else {
        __m256i whole[kGroup][2];
        key_panel(block.keys + t * q.head_dim, q, block.with_keys, whole);
        for (int half = 0; half < 2; ++half) {
            const __m256 scale = load_floats(block.key_scales + (t + 8 * half) * sizeof(float));
            for (int g = 0; g < kGroup; ++g)
                out[g][half] = _mm256_mul_ps(_mm256_cvtepi32_ps(whole[g][half]),
                                             _mm256_mul_ps(scale, _mm256_set1_ps(q.scale[g])));
        }
    }
}

/// Computes probabilities · V of 16 dims from `d` on.
template <KvType kType, int kGroup>
PARETOKEN_INLINE_AVX2 void weighted(const BlockView& block, const KvShape& shape, std::size_t d,
                                    const BlockScores& scores, __m256 (&out)[kGroup][2]) {
    const std::byte* const line = block.values + d * shape.block * shape.value_bytes();
    if constexpr (kType != KvType::int8) {
        panel<kType, kMaxKvBlock>(line, block.tokens, scores.weight, block.with_values, out);
    } else {
        __m256i limbs[2 * kGroup][2];
        value_panel(line, quads_up(block.tokens), scores.quads, block.with_values, limbs);
        for (int g = 0; g < kGroup; ++g) {
            for (int half = 0; half < 2; ++half) {
                const __m256i high = _mm256_slli_epi32(limbs[2 * g][half], kLimbBits);
                const __m256i whole = _mm256_add_epi32(high, limbs[2 * g + 1][half]);
                out[g][half] = _mm256_mul_ps(_mm256_cvtepi32_ps(whole), _mm256_set1_ps(scores.unit[g]));
            }
        }
    }
}

/// Packs two times eight integers below 256 as bytes in order.
PARETOKEN_INLINE_AVX2 __m128i sixteen_bytes(__m256i low, __m256i high) {
    constexpr int kLanesInOrder = 0xd8;
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), kLanesInOrder);
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), kLanesInOrder);
    return _mm256_castsi256_si128(bytes);
}

/// Splits the weights of one head, whose largest is known, into two limbs of seven bits.
PARETOKEN_INLINE_AVX2 void split_weights(BlockScores& block, std::size_t g, std::size_t tokens,
                                         float largest) {
    auto* const high = reinterpret_cast<__m128i*>(block.quads + 2 * g * kMaxKvBlock / 4);
    auto* const low = reinterpret_cast<__m128i*>(block.quads + (2 * g + 1) * kMaxKvBlock / 4);
    const __m256 factor = _mm256_set1_ps(weight_factor(largest));
    const __m256i low_bits = _mm256_set1_epi32((1 << kLimbBits) - 1);
    for (std::size_t t = 0; t < tokens; t += kTile) {
        const float* const weight = block.weight + g * kMaxKvBlock + t;
        const __m256i first = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(weight), factor));
        const __m256i last = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(weight + 8), factor));
        _mm_store_si128(high + t / kTile, sixteen_bytes(_mm256_srli_epi32(first, kLimbBits),
                                                        _mm256_srli_epi32(last, kLimbBits)));
        _mm_store_si128(low + t / kTile,
                        sixteen_bytes(_mm256_and_si256(first, low_bits), _mm256_and_si256(last, low_bits)));
    }
    block.unit[g] = largest / kMostWeight;
}

PARETOKEN_INLINE_AVX2 float max_of(__m256 v) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/// Returns ones in the lanes of tokens that exist.
PARETOKEN_INLINE_AVX2 __m256 tokens_mask(std::size_t tokens) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i limit = _mm256_set1_epi32(static_cast<int>(std::min<std::size_t>(tokens, 8)));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, lane));
}

/// Turns the scores of one head into weights, and returns the factor for earlier sums. All of the
/// last 16 tokens get a weight.
template <KvType kType>
PARETOKEN_INLINE_AVX2 float soften(const BlockView& view, BlockScores& block, std::size_t g, Softmax& state) {
    float* const score = block.score + g * kMaxKvBlock;
    float* const weight = block.weight + g * kMaxKvBlock;
    const std::size_t padded = (view.tokens + kTile - 1) / kTile * kTile;
    for (std::size_t t = view.tokens; t < padded; ++t) score[t] = kLowest;
    __m256 highest = _mm256_set1_ps(state.maximum);
    for (std::size_t t = 0; t < padded; t += 8) highest = _mm256_max_ps(highest, _mm256_load_ps(score + t));
    const float maximum = max_of(highest);
    __m256 sum = _mm256_setzero_ps();
    __m256 largest = _mm256_setzero_ps();
    for (std::size_t t = 0; t < padded; t += 8) {
        const std::size_t left = view.tokens > t ? view.tokens - t : 0;
        __m256 p = exp2_of(_mm256_sub_ps(_mm256_load_ps(score + t), _mm256_set1_ps(maximum)));
        if (left < 8) p = _mm256_and_ps(p, tokens_mask(left));
        sum = _mm256_add_ps(sum, p);
        if constexpr (kType == KvType::int8) {
            p = _mm256_mul_ps(p, load_floats(view.value_scales + t * sizeof(float)));
            largest = _mm256_max_ps(largest, p);
        }
        _mm256_store_ps(weight + t, p);
    }
    if constexpr (kType == KvType::int8) split_weights(block, g, padded, max_of(largest));
    const float rescale = _mm256_cvtss_f32(exp2_of(_mm256_set1_ps(state.maximum - maximum)));
    state = {maximum, state.sum * rescale + sum_of(sum)};
    return rescale;
}

template <KvType kType, int kGroup>
__attribute__((target(PARETOKEN_AVX2))) void attention(const AttentionCall& call) {
    const KvShape& shape = call.shape;
    const __m256 scale = _mm256_set1_ps(score_scale(shape.head_dim));
    BlockScores scores;
    Softmax state[kGroup];
    std::fill_n(call.out, kGroup * shape.head_dim, 0.F);
    for (std::size_t index = 0; index < shape.blocks(); ++index) {
        const BlockView block = block_view(call, index);
        __m256 sum[kGroup][2];
        for (std::size_t t = 0; t < block.tokens; t += kTile) {
            products<kType>(block, t, *call.q, sum);
            for (int g = 0; g < kGroup; ++g) {
                for (int half = 0; half < 2; ++half)
                    _mm256_store_ps(scores.score + g * kMaxKvBlock + t + 8 * half,
                                    _mm256_mul_ps(sum[g][half], scale));
            }
        }
        float rescale[kGroup];
        for (int g = 0; g < kGroup; ++g) rescale[g] = soften<kType>(block, scores, g, state[g]);
        for (std::size_t d = 0; d < shape.head_dim; d += kTile) {
            weighted<kType>(block, shape, d, scores, sum);
            for (int g = 0; g < kGroup; ++g) {
                for (int half = 0; half < 2; ++half) {
                    float* const out = call.out + g * shape.head_dim + d + 8 * half;
                    const __m256 factor = _mm256_set1_ps(rescale[g]);
                    _mm256_storeu_ps(out, _mm256_fmadd_ps(_mm256_loadu_ps(out), factor, sum[g][half]));
                }
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
constexpr auto kTable = attention_table<Kernels>(Isa::avx2);

}  // namespace

std::span<const AttentionVariant> avx2_attentions() {
    return kTable;
}

}  // namespace paretoken::microbench
#endif
