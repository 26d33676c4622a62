#include "microbench/cpu/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/error.h"
#include "microbench/cpu/formats.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {
namespace {

constexpr std::size_t kTile = 16;  // tokens of K, or dims of V, in one register
constexpr float kLowest = -1e30F;  // "no maximum yet": finite, so that differences stay numbers
constexpr float kLowestExponent = -126.F;

// Scores and probabilities of one block, heads kMaxKvBlock apart so that addresses differ by constants.
struct BlockScores {
    alignas(64) float score[kMaxGroup * kMaxKvBlock];
    alignas(64) float weight[kMaxGroup * kMaxKvBlock];
    alignas(64) std::uint32_t pairs[kMaxGroup * kMaxKvBlock / 2];
};

/// Running softmax of one query head.
struct Softmax {
    float maximum = kLowest;
    float sum = 0;
};

/// Scores are kept in powers of two: exp(s / √d) = 2^(s · log2 e / √d).
float score_scale(std::size_t head_dim) {
    return std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(head_dim));
}

struct BlockView {
    const std::byte* keys;
    const std::byte* values;
    std::size_t tokens;
    const std::byte* next;  // where the following block lies, when that is not right behind; else null
};

BlockView block_view(const AttentionCall& call, std::size_t index) {
    const std::size_t page = call.pages == nullptr ? index : call.pages[index];
    const std::byte* const at = call.kv + page * call.shape.block_bytes();
    const bool elsewhere = call.pages != nullptr && index + 1 < call.shape.blocks();
    return {at, at + call.shape.block_bytes() / 2,
            std::min(call.shape.block, call.shape.tokens - index * call.shape.block),
            elsewhere ? call.kv + call.pages[index + 1] * call.shape.block_bytes() : nullptr};
}

/// Begins to fetch the block after this one, step by step while this one is worked on: no hardware foresees a
/// jump.
void fetch_ahead(const BlockView& block, std::size_t step) {
    constexpr std::size_t kLines = 8;  // twice as many wait for each other
    if (block.next == nullptr) return;
    for (std::size_t line = 0; line < kLines; ++line)
        __builtin_prefetch(block.next + (step * kLines + line) * 64);
}

constexpr std::size_t pairs_up(std::size_t tokens) {
    return (tokens + 1) / 2;
}

// ---- portable: the same packed layout, one head at a time ----

float element(KvType type, const std::byte* panel, std::size_t step, std::size_t lane) {
    const std::size_t at =
        type == KvType::bf16 ? (step / 2 * kTile + lane) * 2 + step % 2 : step * kTile + lane;
    return float_of(type, load_u16(panel + 2 * at));
}

void attention_scalar(const AttentionCall& call, KvType type) {
    const KvShape& shape = call.shape;
    const float scale = score_scale(shape.head_dim);
    for (std::size_t g = 0; g < call.q->group; ++g) {
        const float* const q = &call.q->values[g * kMaxHeadDim];
        float* const out = call.out + g * shape.head_dim;
        std::fill_n(out, shape.head_dim, 0.F);
        Softmax state;
        for (std::size_t index = 0; index < shape.blocks(); ++index) {
            const BlockView block = block_view(call, index);
            float weight[kMaxKvBlock];
            float maximum = state.maximum;
            for (std::size_t t = 0; t < block.tokens; ++t) {
                const std::byte* const panel = block.keys + t / kTile * kTile * shape.head_dim * 2;
                float score = 0;
                for (std::size_t d = 0; d < shape.head_dim; ++d)
                    score += element(type, panel, d, t % kTile) * q[d];
                weight[t] = score * scale;
                maximum = std::max(maximum, weight[t]);
            }
            const float rescale = std::exp2(state.maximum - maximum);
            state = {maximum, state.sum * rescale};
            for (std::size_t t = 0; t < block.tokens; ++t) {
                weight[t] = std::exp2(weight[t] - maximum);
                state.sum += weight[t];
            }
            for (std::size_t d = 0; d < shape.head_dim; ++d) {
                const std::byte* const panel = block.values + d / kTile * kTile * shape.block * 2;
                float sum = 0;
                for (std::size_t t = 0; t < block.tokens; ++t)
                    sum += element(type, panel, t, d % kTile) * weight[t];
                out[d] = out[d] * rescale + sum;
            }
        }
        for (std::size_t d = 0; d < shape.head_dim; ++d) out[d] /= state.sum;
    }
}

void attention_scalar_bf16(const AttentionCall& call) {
    attention_scalar(call, KvType::bf16);
}
void attention_scalar_f16(const AttentionCall& call) {
    attention_scalar(call, KvType::f16);
}

#if defined(PARETOKEN_X86)

// 2^f for |f| ≤ 1/2 by its series; the seventh term is below 2e-7.
constexpr float kExp2[] = {1.F,           .693147181F,   .240226507F,   .0555041087F,
                           .00961812911F, .00133335581F, .000154035304F};

PARETOKEN_INLINE_AVX2 __m256 exp2_of(__m256 x) {
    x = _mm256_max_ps(x, _mm256_set1_ps(kLowestExponent));
    const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 f = _mm256_sub_ps(x, whole);
    __m256 value = _mm256_set1_ps(kExp2[6]);
    for (int i = 5; i >= 0; --i) value = _mm256_fmadd_ps(value, f, _mm256_set1_ps(kExp2[i]));
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_mul_ps(value, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

/// out[g] = Σ over `steps` of a panel's line times x[g · kStride + step]; two registers of eight lanes.
template <KvType kType, int kGroup, std::size_t kStride>
PARETOKEN_INLINE_AVX2 void panel_avx2(const std::byte* panel, std::size_t steps, const float* x,
                                      __m256 (&out)[kGroup][2]) {
    for (auto& both : out) both[0] = both[1] = _mm256_setzero_ps();
    const __m256i high_half = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
    if constexpr (kType == KvType::f16) {
        for (std::size_t i = 0; i < steps; ++i, panel += 32) {
            __builtin_prefetch(panel + 4096);
            for (int half = 0; half < 2; ++half) {
                const __m256 line = halves_as_floats(panel + 16 * half);
                for (int g = 0; g < kGroup; ++g) {
                    out[g][half] = _mm256_fmadd_ps(line, _mm256_set1_ps(x[g * kStride + i]), out[g][half]);
                }
            }
        }
    } else {
        for (std::size_t i = 0; i < steps; i += 2, panel += 64) {
            __builtin_prefetch(panel + 4096);
            for (int half = 0; half < 2; ++half) {
                const __m256i pair = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel + 32 * half));
                const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16));
                const __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(pair, high_half));
                for (int g = 0; g < kGroup; ++g) {
                    out[g][half] = _mm256_fmadd_ps(even, _mm256_set1_ps(x[g * kStride + i]), out[g][half]);
                    out[g][half] = _mm256_fmadd_ps(odd, _mm256_set1_ps(x[g * kStride + i + 1]), out[g][half]);
                }
            }
        }
    }
}

/// Turns the scores of one head into weights; returns what the earlier sums must be multiplied by.
PARETOKEN_INLINE_AVX2 float soften_avx2(BlockScores& block, std::size_t g, std::size_t tokens,
                                        Softmax& state) {
    float* const score = block.score + g * kMaxKvBlock;
    float* const weight = block.weight + g * kMaxKvBlock;
    float maximum = state.maximum;
    for (std::size_t t = 0; t < tokens; ++t) maximum = std::max(maximum, score[t]);
    const std::size_t padded = (tokens + 7) / 8 * 8;
    __m256 sum = _mm256_setzero_ps();
    for (std::size_t t = 0; t < padded; t += 8) {
        __m256 p = exp2_of(_mm256_sub_ps(_mm256_load_ps(score + t), _mm256_set1_ps(maximum)));
        if (t + 8 > tokens) {
            const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            const __m256i limit = _mm256_set1_epi32(static_cast<int>(tokens - t));
            p = _mm256_and_ps(p, _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, lane)));
        }
        _mm256_store_ps(weight + t, p);
        sum = _mm256_add_ps(sum, p);
    }
    const float rescale = std::exp2(state.maximum - maximum);
    state = {maximum, state.sum * rescale + sum_of(sum)};
    return rescale;
}

template <KvType kType, int kGroup>
__attribute__((target(PARETOKEN_AVX2))) void attention_avx2(const AttentionCall& call) {
    const KvShape& shape = call.shape;
    const __m256 scale = _mm256_set1_ps(score_scale(shape.head_dim));
    BlockScores scores;
    Softmax state[kGroup];
    std::fill_n(call.out, kGroup * shape.head_dim, 0.F);
    for (std::size_t index = 0; index < shape.blocks(); ++index) {
        const BlockView block = block_view(call, index);
        __m256 sum[kGroup][2];
        for (std::size_t t = 0; t < block.tokens; t += kTile) {
            const std::byte* const panel = block.keys + t * shape.head_dim * 2;
            panel_avx2<kType, kGroup, kMaxHeadDim>(panel, shape.head_dim, call.q->values.data(), sum);
            for (int g = 0; g < kGroup; ++g) {
                for (int half = 0; half < 2; ++half) {
                    _mm256_store_ps(scores.score + g * kMaxKvBlock + t + 8 * half,
                                    _mm256_mul_ps(sum[g][half], scale));
                }
            }
        }
        float rescale[kGroup];
        for (int g = 0; g < kGroup; ++g) {
            rescale[g] = soften_avx2(scores, g, block.tokens, state[g]);
            if (block.tokens % 2 != 0) scores.weight[g * kMaxKvBlock + block.tokens] = 0;
        }
        for (std::size_t d = 0; d < shape.head_dim; d += kTile) {
            const std::byte* const panel = block.values + d * shape.block * 2;
            fetch_ahead(block, d / kTile);
            panel_avx2<kType, kGroup, kMaxKvBlock>(panel, block.tokens, scores.weight, sum);
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

PARETOKEN_INLINE_AVX512 __m512 exp2_of(__m512 x) {
    x = _mm512_max_ps(x, _mm512_set1_ps(kLowestExponent));
    const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, whole);
    __m512 value = _mm512_set1_ps(kExp2[6]);
    for (int i = 5; i >= 0; --i) value = _mm512_fmadd_ps(value, f, _mm512_set1_ps(kExp2[i]));
    return _mm512_scalef_ps(value, whole);
}

/// As panel_avx2 with one register of 16 lanes; even and odd steps in chains of their own, to hide the
/// latency.
template <int kGroup, std::size_t kStride>
PARETOKEN_INLINE_AVX512 void panel_avx512(const std::byte* panel, std::size_t steps, const std::uint32_t* x,
                                          __m512 (&out)[kGroup]) {
    __m512 odd[kGroup];
    for (int g = 0; g < kGroup; ++g) out[g] = odd[g] = _mm512_setzero_ps();
    std::size_t i = 0;
    for (; i + 2 <= steps; i += 2, panel += 128) {
        const __m512i first = _mm512_loadu_si512(panel);
        const __m512i second = _mm512_loadu_si512(panel + 64);
        for (int g = 0; g < kGroup; ++g) {
            out[g] = dot_pairs_broadcast(out[g], first, x + g * kStride + i);
            odd[g] = dot_pairs_broadcast(odd[g], second, x + g * kStride + i + 1);
        }
    }
    if (i < steps) {
        for (int g = 0; g < kGroup; ++g) {
            out[g] = dot_pairs_broadcast(out[g], _mm512_loadu_si512(panel), x + g * kStride + i);
        }
    }
    for (int g = 0; g < kGroup; ++g) out[g] = _mm512_add_ps(out[g], odd[g]);
}

template <int kGroup, std::size_t kStride>
PARETOKEN_INLINE_AVX512 void panel_avx512(const std::byte* panel, std::size_t steps, const float* x,
                                          __m512 (&out)[kGroup]) {
    __m512 odd[kGroup];
    for (int g = 0; g < kGroup; ++g) out[g] = odd[g] = _mm512_setzero_ps();
    const auto* halves = reinterpret_cast<const __m256i*>(panel);
    std::size_t i = 0;
    for (; i + 2 <= steps; i += 2, halves += 2) {
        const __m512 first = _mm512_cvtph_ps(_mm256_loadu_si256(halves));
        const __m512 second = _mm512_cvtph_ps(_mm256_loadu_si256(halves + 1));
        for (int g = 0; g < kGroup; ++g) {
            out[g] = _mm512_fmadd_ps(first, _mm512_set1_ps(x[g * kStride + i]), out[g]);
            odd[g] = _mm512_fmadd_ps(second, _mm512_set1_ps(x[g * kStride + i + 1]), odd[g]);
        }
    }
    if (i < steps) {
        const __m512 line = _mm512_cvtph_ps(_mm256_loadu_si256(halves));
        for (int g = 0; g < kGroup; ++g) {
            out[g] = _mm512_fmadd_ps(line, _mm512_set1_ps(x[g * kStride + i]), out[g]);
        }
    }
    for (int g = 0; g < kGroup; ++g) out[g] = _mm512_add_ps(out[g], odd[g]);
}

template <KvType kType>
PARETOKEN_INLINE_AVX512 float soften_avx512(BlockScores& block, std::size_t g, std::size_t tokens,
                                            Softmax& state) {
    const float* const score = block.score + g * kMaxKvBlock;
    __m512 largest = _mm512_set1_ps(state.maximum);
    for (std::size_t t = 0; t < tokens; t += kTile) {
        largest = _mm512_mask_max_ps(largest, rows_mask(tokens - t), largest, _mm512_load_ps(score + t));
    }
    const float maximum = _mm512_reduce_max_ps(largest);
    __m512 sum = _mm512_setzero_ps();
    for (std::size_t t = 0; t < tokens; t += kTile) {
        const __m512 shifted = _mm512_sub_ps(_mm512_load_ps(score + t), _mm512_set1_ps(maximum));
        const __m512 p = _mm512_maskz_mov_ps(rows_mask(tokens - t), exp2_of(shifted));
        sum = _mm512_add_ps(sum, p);
        if constexpr (kType == KvType::bf16) {
            const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(p));
            _mm256_store_si256(reinterpret_cast<__m256i*>(block.pairs + (g * kMaxKvBlock + t) / 2), rounded);
        } else {
            _mm512_store_ps(block.weight + g * kMaxKvBlock + t, p);
        }
    }
    const float rescale = std::exp2(state.maximum - maximum);
    state = {maximum, state.sum * rescale + _mm512_reduce_add_ps(sum)};
    return rescale;
}

template <KvType kType, int kGroup>
__attribute__((target(PARETOKEN_AVX512))) void attention_avx512(const AttentionCall& call) {
    constexpr bool kPairs = kType == KvType::bf16;
    const KvShape& shape = call.shape;
    const __m512 scale = _mm512_set1_ps(score_scale(shape.head_dim));
    BlockScores scores;
    Softmax state[kGroup];
    std::fill_n(call.out, kGroup * shape.head_dim, 0.F);
    for (std::size_t index = 0; index < shape.blocks(); ++index) {
        const BlockView block = block_view(call, index);
        __m512 sum[kGroup];
        for (std::size_t t = 0; t < block.tokens; t += kTile) {
            const std::byte* const panel = block.keys + t * shape.head_dim * 2;
            if constexpr (kPairs) {
                panel_avx512<kGroup, kMaxHeadDim / 2>(panel, shape.head_dim / 2, call.q->pairs.data(), sum);
            } else {
                panel_avx512<kGroup, kMaxHeadDim>(panel, shape.head_dim, call.q->values.data(), sum);
            }
            for (int g = 0; g < kGroup; ++g) {
                _mm512_store_ps(scores.score + g * kMaxKvBlock + t, _mm512_mul_ps(sum[g], scale));
            }
        }
        float rescale[kGroup];
        for (int g = 0; g < kGroup; ++g) rescale[g] = soften_avx512<kType>(scores, g, block.tokens, state[g]);
        for (std::size_t d = 0; d < shape.head_dim; d += kTile) {
            const std::byte* const panel = block.values + d * shape.block * 2;
            fetch_ahead(block, d / kTile);
            if constexpr (kPairs) {
                panel_avx512<kGroup, kMaxKvBlock / 2>(panel, pairs_up(block.tokens), scores.pairs, sum);
            } else {
                panel_avx512<kGroup, kMaxKvBlock>(panel, block.tokens, scores.weight, sum);
            }
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
#endif

struct AttentionVariant {
    KvType type;
    Isa isa;
    std::size_t group;  // 0: any
    Attention run;
};

constexpr auto kBf16 = KvType::bf16;
constexpr auto kF16 = KvType::f16;
#define PARETOKEN_ATTENTION(isa, kernel, group)       \
    {kBf16, Isa::isa, group, kernel<kBf16, group>}, { \
        kF16, Isa::isa, group, kernel<kF16, group>    \
    }
#define PARETOKEN_ATTENTIONS(isa, kernel)                                         \
    PARETOKEN_ATTENTION(isa, kernel, 1), PARETOKEN_ATTENTION(isa, kernel, 2),     \
        PARETOKEN_ATTENTION(isa, kernel, 3), PARETOKEN_ATTENTION(isa, kernel, 4), \
        PARETOKEN_ATTENTION(isa, kernel, 5), PARETOKEN_ATTENTION(isa, kernel, 6), \
        PARETOKEN_ATTENTION(isa, kernel, 7), PARETOKEN_ATTENTION(isa, kernel, 8)
constexpr AttentionVariant kVariants[] = {
    {kBf16, Isa::scalar, 0, attention_scalar_bf16},
    {kF16, Isa::scalar, 0, attention_scalar_f16},
#if defined(PARETOKEN_X86)
    PARETOKEN_ATTENTIONS(avx2, attention_avx2),
    PARETOKEN_ATTENTIONS(avx512, attention_avx512),
#endif
};

/// Copies element (step, lane) of a panel to its place.
void place(KvType type, std::byte* panel, std::size_t step, std::size_t lane, std::uint16_t bits) {
    const std::size_t at =
        type == KvType::bf16 ? (step / 2 * kTile + lane) * 2 + step % 2 : step * kTile + lane;
    store_u16(panel + 2 * at, bits);
}

}  // namespace

std::string_view name_of(KvType type) {
    return type == KvType::bf16 ? "bf16" : "f16";
}

float float_of(KvType type, std::uint16_t bits) {
    return type == KvType::bf16 ? float_of_bf16(bits) : float_of_f16(bits);
}

std::vector<std::byte> packed_kv(const KvShape& shape, std::span<const std::uint16_t> keys,
                                 std::span<const std::uint16_t> values) {
    std::vector<std::byte> result(shape.stored_bytes());
    for (std::size_t token = 0; token < shape.tokens; ++token) {
        std::byte* const block = result.data() + token / shape.block * shape.block_bytes();
        std::byte* const value_part = block + shape.block_bytes() / 2;
        const std::size_t t = token % shape.block;
        for (std::size_t d = 0; d < shape.head_dim; ++d) {
            const std::size_t at = token * shape.head_dim + d;
            place(shape.type, block + t / kTile * kTile * shape.head_dim * 2, d, t % kTile, keys[at]);
            place(shape.type, value_part + d / kTile * kTile * shape.block * 2, t, d % kTile, values[at]);
        }
    }
    return result;
}

Queries queries_for(KvType type, std::span<const float> q, std::size_t group) {
    Queries queries{.group = group,
                    .head_dim = q.size() / group,
                    .values = std::vector<float>(group * kMaxHeadDim),
                    .pairs = std::vector<std::uint32_t>(group * kMaxHeadDim / 2)};
    for (std::size_t g = 0; g < group; ++g) {
        for (std::size_t d = 0; d < queries.head_dim; ++d) {
            const float value = q[g * queries.head_dim + d];
            const std::uint16_t rounded = bf16_of(value);
            queries.values[g * kMaxHeadDim + d] = type == KvType::bf16 ? float_of_bf16(rounded) : value;
            queries.pairs[(g * kMaxHeadDim + d) / 2] |= std::uint32_t{rounded} << (d % 2 * 16);
        }
    }
    return queries;
}

bool attention_takes(const HeadShape& heads) {
    return heads.kv_heads > 0 && heads.query_heads % heads.kv_heads == 0 && heads.head_dim % kTile == 0 &&
           heads.head_dim <= kMaxHeadDim && heads.group() >= 1 && heads.group() <= kMaxGroup;
}

Attention attention_for(KvType type, Isa isa, std::size_t group) {
    const AttentionVariant* best = nullptr;
    for (const AttentionVariant& v : kVariants) {
        if (v.type != type || v.isa > isa || (v.group != 0 && v.group != group)) continue;
        if (best == nullptr || v.isa > best->isa) best = &v;
    }
    if (group == 0 || group > kMaxGroup) {
        throw UsageError(fmt::format("no attention kernel for {} query heads per KV head: 1 to {} are known",
                                     group, kMaxGroup));
    }
    return best->run;
}

std::vector<double> attention_reference(const KvShape& shape, std::span<const std::uint16_t> keys,
                                        std::span<const std::uint16_t> values, const Queries& q) {
    std::vector<double> result(q.group * shape.head_dim);
    std::vector<double> weight(shape.tokens);
    for (std::size_t g = 0; g < q.group; ++g) {
        for (std::size_t t = 0; t < shape.tokens; ++t) {
            double score = 0;
            for (std::size_t d = 0; d < shape.head_dim; ++d) {
                const auto key = static_cast<double>(float_of(shape.type, keys[t * shape.head_dim + d]));
                score += key * static_cast<double>(q.values[g * kMaxHeadDim + d]);
            }
            weight[t] = score / std::sqrt(static_cast<double>(shape.head_dim));
        }
        const double maximum = *std::max_element(weight.begin(), weight.end());
        double sum = 0;
        for (double& w : weight) sum += w = std::exp(w - maximum);
        for (std::size_t t = 0; t < shape.tokens; ++t) {
            for (std::size_t d = 0; d < shape.head_dim; ++d) {
                const auto value = static_cast<double>(float_of(shape.type, values[t * shape.head_dim + d]));
                result[g * shape.head_dim + d] += weight[t] / sum * value;
            }
        }
    }
    return result;
}

}  // namespace paretoken::microbench
