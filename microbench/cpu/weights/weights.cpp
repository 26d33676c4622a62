#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace paretoken::microbench {
namespace {

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

void fill_f16(Activations& a, std::span<const float> x) {
    std::copy(x.begin(), x.end(), a.values.begin());
    a.interleaved_values.resize(x.size());
    for (std::size_t b = 0; b < a.batch; ++b) {
        for (std::size_t i = 0; i < a.k; ++i) a.interleaved_values[i * a.batch + b] = a.values[b * a.k + i];
    }
}

void fill_bf16(Activations& a, std::span<const float> x) {
    a.bf16.resize(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        a.bf16[i] = bf16_of(x[i]);
        a.values[i] = float_of_bf16(a.bf16[i]);
    }
    a.interleaved_values.resize(x.size());
    a.interleaved_pairs.resize(x.size() / 2);
    for (std::size_t b = 0; b < a.batch; ++b) {
        for (std::size_t i = 0; i < a.k; ++i) a.interleaved_values[i * a.batch + b] = a.values[b * a.k + i];
        for (std::size_t pair = 0; pair < a.k / 2; ++pair) {
            const std::uint16_t* const both = &a.bf16[b * a.k + 2 * pair];
            a.interleaved_pairs[pair * a.batch + b] = both[0] | std::uint32_t{both[1]} << 16;
        }
    }
}

void quantise_block(Activations& a, WeightType type, std::span<const float> x, std::size_t b,
                    std::size_t block) {
    const float* const from = &x[b * a.k + block * kBlock];
    float largest = 0;
    for (std::size_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(from[i]));
    const float scale = largest / 127;
    std::int8_t* const bytes = &a.bytes[(b * a.blocks + block) * kBlock];
    int sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        bytes[i] = static_cast<std::int8_t>(scale == 0 ? 0 : std::nearbyint(from[i] / scale));
        sum += bytes[i];
        a.values[b * a.k + block * kBlock + i] = scale * bytes[i];
    }
    a.scale[b * a.blocks + block] = scale;
    a.offset[b * a.blocks + block] = zero_point(type) * scale * static_cast<float>(sum);
}

void fill_bytes(Activations& a, WeightType type, std::span<const float> x) {
    a.blocks = round_up(a.k / kBlock, 4);
    a.bytes.resize(a.batch * a.blocks * kBlock);
    a.scale.resize(a.batch * a.blocks);
    a.offset.resize(a.batch * a.blocks);
    for (std::size_t b = 0; b < a.batch; ++b) {
        for (std::size_t block = 0; block < a.k / kBlock; ++block) quantise_block(a, type, x, b, block);
    }
}

void interleave_bytes(Activations& a) {
    a.nibble_order.resize(a.bytes.size());
    a.interleaved_quads.resize(a.batch * a.k / 4);
    a.interleaved_scale.resize(a.scale.size());
    a.interleaved_offset.resize(a.scale.size());
    for (std::size_t b = 0; b < a.batch; ++b) {
        const std::int8_t* const bytes = &a.bytes[b * a.blocks * kBlock];
        for (std::size_t quad = 0; quad < a.k / 4; ++quad) {
            std::memcpy(&a.interleaved_quads[quad * a.batch + b], bytes + 4 * quad, 4);
        }
        for (std::size_t block = 0; block < a.blocks; ++block) {
            a.interleaved_scale[block * a.batch + b] = a.scale[b * a.blocks + block];
            a.interleaved_offset[block * a.batch + b] = a.offset[b * a.blocks + block];
            std::int8_t* const four = &a.nibble_order[(b * a.blocks + block / 4 * 4) * kBlock];
            std::memcpy(four + block % 4 * 16, bytes + block * kBlock, 16);
            std::memcpy(four + 64 + block % 4 * 16, bytes + block * kBlock + 16, 16);
        }
    }
}

void fill_starts(Activations& a) {
    a.interleaved_start.resize(2 * a.blocks * a.batch);
    for (std::size_t b = 0; b < a.batch; ++b) {
        for (std::size_t half = 0; half < 2 * a.blocks; ++half) {
            const std::int8_t* const bytes = &a.bytes[b * a.blocks * kBlock + half * 16];
            a.interleaved_start[half * a.batch + b] = -32 * std::accumulate(bytes, bytes + 16, 0);
        }
    }
}

void pack_block(WeightType type, const std::byte* block, std::byte* panel_block, std::size_t row) {
    switch (type) {
        case WeightType::bf16:
            return pack_bf16(block, panel_block, row);
        case WeightType::f16:
            return pack_f16(block, panel_block, row);
        case WeightType::q4_k:
            return pack_q4_k(block, panel_block, row);
        case WeightType::q6_k:
            return pack_q6_k(block, panel_block, row);
        case WeightType::q8_0:
            return pack_q8_0(block, panel_block, row);
        case WeightType::q4_0:
        case WeightType::q4_1:
            return pack_q4(type, block, panel_block, row);
    }
}

std::span<const GemvVariant> gemvs_of(WeightType type) {
    switch (type) {
        case WeightType::bf16:
            return bf16_gemvs();
        case WeightType::f16:
            return f16_gemvs();
        case WeightType::q4_k:
            return q4_k_gemvs();
        case WeightType::q6_k:
            return q6_k_gemvs();
        case WeightType::q8_0:
            return q8_0_gemvs();
        case WeightType::q4_0:
        case WeightType::q4_1:
            return q4_gemvs(type);
    }
    return {};
}

}  // namespace

std::string_view name_of(Layout layout) {
    return layout == Layout::row ? "row" : "packed";
}

Activations activations_for(WeightType type, std::span<const float> x, std::size_t batch) {
    Activations a;
    a.k = x.size() / batch;
    a.batch = batch;
    a.values.resize(x.size());
    if (type == WeightType::bf16) {
        fill_bf16(a, x);
    } else if (type == WeightType::f16) {
        fill_f16(a, x);
    } else {
        fill_bytes(a, type, x);
        interleave_bytes(a);
        if (type == WeightType::q6_k) fill_starts(a);
    }
    return a;
}

std::vector<GemvVariant> gemvs_for(WeightType type, Layout layout, Isa isa, std::size_t batch) {
    std::vector<GemvVariant> best;  // the scalar rows take any batch
    for (const auto gemvs : {gemvs_of(type), tile_gemvs()}) {
        for (const GemvVariant& v : gemvs) {
            if (v.type != type || v.layout != layout || v.isa > isa || (v.batch != 0 && v.batch != batch))
                continue;
            if (!best.empty() && v.isa < best.front().isa) continue;
            if (!best.empty() && v.isa > best.front().isa) best.clear();
            best.push_back(v);
        }
    }
    return best;
}

std::vector<std::byte> packed(WeightType type, std::span<const std::byte> row_layout, std::size_t rows,
                              std::size_t k) {
    const std::size_t panel_block = kPanel * block_bytes(type);
    const std::size_t blocks = k / block_values(type);
    const std::size_t panel = panel_block * blocks;
    std::vector<std::byte> result(panels_of(rows) * panel);
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t block = 0; block < blocks; ++block) {
            pack_block(type, row_layout.data() + row * row_bytes(type, k) + block * block_bytes(type),
                       result.data() + row / kPanel * panel + block * panel_block, row % kPanel);
        }
    }
    return result;
}

}  // namespace paretoken::microbench
