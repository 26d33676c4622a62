#include "microbench/cpu/attention/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "microbench/cpu/attention/attention_block.h"
#include "microbench/cpu/formats.h"

namespace paretoken::microbench {
namespace {

constexpr int kKeyOffset = 128;  // added to K's bytes

/// Returns how many numbers of a panel are adjacent along its steps.
std::size_t together(KvType type) {
    return type == KvType::int8 ? 4 : type == KvType::bf16 ? 2 : 1;
}

/// Returns the index of the element (step, lane) in a panel.
std::size_t place_of(KvType type, std::size_t step, std::size_t lane) {
    const std::size_t n = together(type);
    return (step / n * kTile + lane) * n + step % n;
}

float float_of(KvType type, std::uint16_t bits) {
    if (type == KvType::int8) return static_cast<float>(static_cast<std::int8_t>(bits & 0xff));
    return type == KvType::bf16 ? float_of_bf16(bits) : float_of_f16(bits);
}

// ---- portable: the same packed layout, one head at a time ----

/// Returns an element without its token's scale.
float element(KvType type, const std::byte* panel, std::size_t step, std::size_t lane) {
    const std::size_t at = place_of(type, step, lane);
    if (type == KvType::int8) return std::to_integer<std::int8_t>(panel[at]);
    return float_of(type, load_u16(panel + 2 * at));
}

float scale_of(KvType type, const std::byte* scales, std::size_t token) {
    if (type != KvType::int8) return 1;
    float scale;
    std::memcpy(&scale, scales + token * sizeof scale, sizeof scale);
    return scale;
}

/// Returns Q · K of one token, without the factor that all tokens share.
float score_of(const KvShape& shape, const BlockView& block, std::size_t t, const float* q) {
    const std::byte* const panel = block.keys + t / kTile * kTile * shape.head_dim * shape.value_bytes();
    float score = 0;
    for (std::size_t d = 0; d < shape.head_dim; ++d) {
        float key = element(shape.type, panel, d, t % kTile);
        if (shape.type == KvType::int8) key += key < 0 ? kKeyOffset : -kKeyOffset;  // the byte is unsigned
        score += key * q[d];
    }
    return score * scale_of(shape.type, block.key_scales, t);
}

void attention_scalar(const AttentionCall& call) {
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
                weight[t] = score_of(shape, block, t, q) * scale;
                maximum = std::max(maximum, weight[t]);
            }
            const float rescale = std::exp2(state.maximum - maximum);
            state = {maximum, state.sum * rescale};
            for (std::size_t t = 0; t < block.tokens; ++t) {
                weight[t] = std::exp2(weight[t] - maximum);
                state.sum += weight[t];
                weight[t] *= scale_of(shape.type, block.value_scales, t);
            }
            for (std::size_t d = 0; d < shape.head_dim; ++d) {
                const std::byte* const panel =
                    block.values + d / kTile * kTile * shape.block * shape.value_bytes();
                float sum = 0;
                for (std::size_t t = 0; t < block.tokens; ++t)
                    sum += element(shape.type, panel, t, d % kTile) * weight[t];
                out[d] = out[d] * rescale + sum;
            }
        }
        for (std::size_t d = 0; d < shape.head_dim; ++d) out[d] /= state.sum;
    }
}

constexpr AttentionVariant kScalar[] = {{KvType::bf16, Isa::scalar, 0, attention_scalar},
                                        {KvType::f16, Isa::scalar, 0, attention_scalar},
                                        {KvType::int8, Isa::scalar, 0, attention_scalar}};

// ---- numbers and their positions ----

std::int8_t code_of(float value, float scale) {
    return static_cast<std::int8_t>(scale == 0 ? 0 : std::nearbyint(value / scale));
}

float largest_of(std::span<const float> values) {
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    return largest;
}

/// Writes element (step, lane) of a panel.
void place(KvType type, std::byte* panel, std::size_t step, std::size_t lane, std::uint16_t bits) {
    const std::size_t at = place_of(type, step, lane);
    if (type == KvType::int8) {
        panel[at] = static_cast<std::byte>(bits & 0xff);
    } else {
        store_u16(panel + 2 * at, bits);
    }
}

/// Converts the queries of one head to codes.
void quantise(Queries& queries, std::size_t g, std::span<const float> q) {
    const float scale = largest_of(q) / 127;
    int sum = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
        const std::int8_t code = code_of(q[d], scale);
        queries.quads[(g * kMaxHeadDim + d) / 4] |= std::uint32_t{static_cast<std::uint8_t>(code)}
                                                    << (d % 4 * 8);
        queries.values[g * kMaxHeadDim + d] = scale * static_cast<float>(code);
        sum += code;
    }
    queries.scale[g] = scale;
    queries.start[g] = -kKeyOffset * sum;
}

}  // namespace

#if !defined(PARETOKEN_X86)
std::span<const AttentionVariant> avx2_attentions() {
    return {};
}
std::span<const AttentionVariant> avx512_attentions() {
    return {};
}
#endif

std::string_view name_of(KvType type) {
    switch (type) {
        case KvType::bf16:
            return "bf16";
        case KvType::f16:
            return "f16";
        case KvType::int8:
            return "int8";
    }
    return "";
}

float KvNumbers::value(std::size_t token, std::size_t d) const {
    return float_of(type, bits[token * head_dim + d]) * (scale.empty() ? 1 : scale[token]);
}

KvNumbers kv_numbers(KvType type, std::span<const float> values, std::size_t head_dim) {
    KvNumbers numbers{.type = type, .head_dim = head_dim};
    numbers.bits.reserve(values.size());
    for (std::size_t first = 0; first < values.size(); first += head_dim) {
        const auto token = values.subspan(first, head_dim);
        const float scale = largest_of(token) / 127;
        if (type == KvType::int8) numbers.scale.push_back(scale);
        for (const float value : token) {
            numbers.bits.push_back(type == KvType::int8  ? static_cast<std::uint8_t>(code_of(value, scale))
                                   : type == KvType::f16 ? f16_of(value)
                                                         : bf16_of(value));
        }
    }
    return numbers;
}

std::vector<std::byte> packed_kv(const KvShape& shape, const KvNumbers& keys, const KvNumbers& values) {
    std::vector<std::byte> result(shape.stored_bytes());
    const std::size_t scales = shape.block * shape.scale_bytes();
    const std::uint16_t flip = shape.type == KvType::int8 ? kKeyOffset : 0;
    for (std::size_t token = 0; token < shape.tokens; ++token) {
        std::byte* const block = result.data() + token / shape.block * shape.block_bytes();
        std::byte* const value_scales = block + shape.half_bytes();
        const std::size_t t = token % shape.block;
        for (std::size_t d = 0; d < shape.head_dim; ++d) {
            const std::size_t at = token * shape.head_dim + d;
            place(shape.type, block + t / kTile * kTile * shape.head_dim * shape.value_bytes(), d, t % kTile,
                  keys.bits[at] ^ flip);
            place(shape.type, value_scales + scales + d / kTile * kTile * shape.block * shape.value_bytes(),
                  t, d % kTile, values.bits[at]);
        }
        if (scales == 0) continue;
        std::memcpy(value_scales - scales + t * sizeof(float), &keys.scale[token], sizeof(float));
        std::memcpy(value_scales + t * sizeof(float), &values.scale[token], sizeof(float));
    }
    return result;
}

Queries queries_for(KvType type, std::span<const float> q, std::size_t group) {
    Queries queries{.group = group,
                    .head_dim = q.size() / group,
                    .values = std::vector<float>(group * kMaxHeadDim),
                    .pairs = std::vector<std::uint32_t>(group * kMaxHeadDim / 2),
                    .quads = std::vector<std::uint32_t>(group * kMaxHeadDim / 4),
                    .scale = std::vector<float>(group),
                    .start = std::vector<std::int32_t>(group)};
    for (std::size_t g = 0; g < group; ++g) {
        const auto head = q.subspan(g * queries.head_dim, queries.head_dim);
        if (type == KvType::int8) {
            quantise(queries, g, head);
            continue;
        }
        for (std::size_t d = 0; d < queries.head_dim; ++d) {
            const std::uint16_t rounded = bf16_of(head[d]);
            queries.values[g * kMaxHeadDim + d] = type == KvType::bf16 ? float_of_bf16(rounded) : head[d];
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
    if (group == 0 || group > kMaxGroup) {
        throw UsageError(fmt::format("no attention kernel for {} query heads per KV head: 1 to {} are known",
                                     group, kMaxGroup));
    }
    for (const auto table :
         {avx512_attentions(), avx2_attentions(), std::span<const AttentionVariant>(kScalar)}) {
        for (const AttentionVariant& v : table) {
            if (v.type == type && v.isa <= isa && (v.group == 0 || v.group == group)) return v.run;
        }
    }
    return attention_scalar;
}

std::vector<double> attention_reference(const KvShape& shape, const KvNumbers& keys, const KvNumbers& values,
                                        const Queries& q) {
    std::vector<double> result(q.group * shape.head_dim);
    std::vector<double> weight(shape.tokens);
    for (std::size_t g = 0; g < q.group; ++g) {
        for (std::size_t t = 0; t < shape.tokens; ++t) {
            double score = 0;
            for (std::size_t d = 0; d < shape.head_dim; ++d) {
                score += static_cast<double>(keys.value(t, d)) *
                         static_cast<double>(q.values[g * kMaxHeadDim + d]);
            }
            weight[t] = score / std::sqrt(static_cast<double>(shape.head_dim));
        }
        const double maximum = *std::max_element(weight.begin(), weight.end());
        double sum = 0;
        for (double& w : weight) sum += w = std::exp(w - maximum);
        for (std::size_t t = 0; t < shape.tokens; ++t) {
            for (std::size_t d = 0; d < shape.head_dim; ++d)
                result[g * shape.head_dim + d] += weight[t] / sum * static_cast<double>(values.value(t, d));
        }
    }
    return result;
}

}  // namespace paretoken::microbench
