#include "microbench/cpu/formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace paretoken::microbench {
namespace {

/// Unpacks the 16 nibble bytes of a block to 32 numbers 0 … 15.
void unpack_nibbles(const std::byte* nibbles, std::uint8_t* q) {
    for (std::size_t j = 0; j < 16; ++j) {
        q[j] = std::to_integer<std::uint8_t>(nibbles[j] & std::byte{0x0f});
        q[j + 16] = std::to_integer<std::uint8_t>(nibbles[j] >> 4);
    }
}

void dequantise_q4_k(const std::byte* block, float* values) {
    const float d = float_of_f16(load_u16(block));
    const float m = float_of_f16(load_u16(block + 2));
    const SixBitScales scales = unpack_scales(block + 4);
    for (std::size_t i = 0; i < kSuperBlock; ++i) {
        const std::size_t part = i / 32;
        values[i] = d * static_cast<float>(scales.scale[part] * q4_k_number(block, i)) -
                    m * static_cast<float>(scales.minimum[part]);
    }
}

void dequantise_q6_k(const std::byte* block, float* values) {
    const float d = float_of_f16(load_u16(block + 208));
    for (std::size_t i = 0; i < kSuperBlock; ++i) {
        const int scale = std::to_integer<std::int8_t>(block[192 + i / 16]);
        values[i] = d * static_cast<float>(scale * (static_cast<int>(q6_k_number(block, i)) - 32));
    }
}

void dequantise_block(WeightType type, const std::byte* block, float* values) {
    if (type == WeightType::q4_k) return dequantise_q4_k(block, values);
    if (type == WeightType::q6_k) return dequantise_q6_k(block, values);
    if (type == WeightType::bf16 || type == WeightType::f16) {
        for (std::size_t i = 0; i < kBlock; ++i) {
            const std::uint16_t bits = load_u16(block + 2 * i);
            values[i] = type == WeightType::bf16 ? float_of_bf16(bits) : float_of_f16(bits);
        }
        return;
    }
    const float d = float_of_f16(load_u16(block));
    if (type == WeightType::q8_0) {
        for (std::size_t i = 0; i < kBlock; ++i) {
            values[i] = d * static_cast<float>(std::to_integer<std::int8_t>(block[2 + i]));
        }
        return;
    }
    const bool has_minimum = type == WeightType::q4_1;
    const float m = has_minimum ? float_of_f16(load_u16(block + 2)) : -8 * d;
    std::uint8_t q[kBlock];
    unpack_nibbles(block + (has_minimum ? 4 : 2), q);
    for (std::size_t i = 0; i < kBlock; ++i) values[i] = d * q[i] + m;
}

/// Returns a scale between 2^-7 and 2^-6, as in real files.
std::uint16_t random_scale(Random& random) {
    return static_cast<std::uint16_t>(0x2000 | (random() & 0x3ff));
}

/// Returns a value of magnitude 2^-7 … 1 and either sign.
std::uint16_t random_bf16(std::uint64_t bits) {
    const auto exponent = 120 + (bits >> 8) % 7;
    return static_cast<std::uint16_t>((bits & 0x8000) | exponent << 7 | (bits & 0x7f));
}
std::uint16_t random_f16(std::uint64_t bits) {
    const auto exponent = 8 + (bits >> 16) % 7;
    return static_cast<std::uint16_t>((bits & 0x8000) | exponent << 10 | (bits & 0x3ff));
}

void fill_random(std::byte* begin, std::size_t size, Random& random) {
    for (std::size_t i = 0; i < size; i += 8) {
        const std::uint64_t bits = random();
        std::memcpy(begin + i, &bits, std::min<std::size_t>(8, size - i));
    }
}

void fill_block(WeightType type, std::byte* block, Random& random) {
    switch (type) {
        case WeightType::bf16:
            for (std::size_t i = 0; i < kBlock; ++i) store_u16(block + 2 * i, random_bf16(random()));
            return;
        case WeightType::f16:
            for (std::size_t i = 0; i < kBlock; ++i) store_u16(block + 2 * i, random_f16(random()));
            return;
        case WeightType::q8_0:
        case WeightType::q4_0:
        case WeightType::q4_1:
        case WeightType::q4_k:
        case WeightType::q6_k:
            break;
    }
    fill_random(block, block_bytes(type), random);
    store_u16(block + (type == WeightType::q6_k ? 208 : 0), random_scale(random));
    if (type == WeightType::q4_1) store_u16(block + 2, random_scale(random) | 0x8000);
    if (type == WeightType::q4_k) store_u16(block + 2, random_scale(random));
}

}  // namespace

std::uint16_t bf16_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float float_of_f16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 0x1f;
    const int mantissa = bits & 0x3ff;
    const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 0x1f) return mantissa != 0 ? std::nanf("") : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
    return sign * std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
}

std::uint16_t f16_of(float value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const float magnitude = std::abs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (magnitude == 0) return sign;
    if (magnitude >= 65520.0F) return sign | 0x7c00;
    int exponent = 0;
    std::frexp(magnitude, &exponent);               // magnitude = [.5, 1) · 2^exponent
    const int unit = std::max(exponent - 11, -24);  // the weight of the last bit is 2^unit
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
    // A normal number's steps lie in [1024, 2048]. The sum itself carries 2048 into the
    // exponent.
    return static_cast<std::uint16_t>(sign | (steps + ((unit + 24) << 10)));
}

std::string_view name_of(WeightType type) {
    switch (type) {
        case WeightType::q8_0:
            return "q8_0";
        case WeightType::q4_0:
            return "q4_0";
        case WeightType::q4_1:
            return "q4_1";
        case WeightType::q4_k:
            return "q4_k";
        case WeightType::q6_k:
            return "q6_k";
        case WeightType::f16:
            return "f16";
        case WeightType::bf16:
            return "bf16";
    }
    return "";
}

SixBitScales unpack_scales(const std::byte* twelve) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(twelve[i]); };
    SixBitScales scales{};
    for (std::size_t i = 0; i < 4; ++i) {
        scales.scale[i] = static_cast<std::uint8_t>(byte(i) & 63);
        scales.minimum[i] = static_cast<std::uint8_t>(byte(i + 4) & 63);
        scales.scale[i + 4] = static_cast<std::uint8_t>((byte(i + 8) & 15) | byte(i) >> 6 << 4);
        scales.minimum[i + 4] = static_cast<std::uint8_t>(byte(i + 8) >> 4 | byte(i + 4) >> 6 << 4);
    }
    return scales;
}

unsigned q4_k_number(const std::byte* block, std::size_t i) {
    const auto both = std::to_integer<unsigned>(block[16 + i / 64 * 32 + i % 32]);
    return i % 64 < 32 ? both & 15 : both >> 4;
}

unsigned q6_k_number(const std::byte* block, std::size_t i) {
    const std::size_t half = i / 128;
    const std::size_t at = i % 128;
    const auto low = std::to_integer<unsigned>(block[64 * half + at % 64]);
    const auto high = std::to_integer<unsigned>(block[128 + 32 * half + at % 32]);
    return (at < 64 ? low & 15 : low >> 4) | (high >> (2 * (at / 32)) & 3) << 4;
}

void dequantise(WeightType type, const std::byte* row, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); i += block_values(type)) {
        dequantise_block(type, row + i / block_values(type) * block_bytes(type), values.data() + i);
    }
}

std::vector<std::byte> random_weights(WeightType type, std::size_t rows, std::size_t k, Random& random) {
    std::vector<std::byte> weights(rows * row_bytes(type, k));
    for (std::size_t at = 0; at < weights.size(); at += block_bytes(type)) {
        fill_block(type, weights.data() + at, random);
    }
    return weights;
}

}  // namespace paretoken::microbench
