#include "microbench/cpu/formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace paretoken::microbench {
namespace {

/// The 16 nibble bytes of a block, as 32 numbers 0 … 15.
void unpack_nibbles(const std::byte* nibbles, std::uint8_t* q) {
    for (std::size_t j = 0; j < 16; ++j) {
        q[j] = std::to_integer<std::uint8_t>(nibbles[j] & std::byte{0x0f});
        q[j + 16] = std::to_integer<std::uint8_t>(nibbles[j] >> 4);
    }
}

void dequantise_block(WeightType type, const std::byte* block, float* values) {
    if (type == WeightType::bf16) {
        for (std::size_t i = 0; i < kBlock; ++i) values[i] = float_of_bf16(load_u16(block + 2 * i));
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

/// A scale between 2^-7 and 2^-6, as real files have them.
std::uint16_t random_scale(Random& random) {
    return static_cast<std::uint16_t>(0x2000 | (random() & 0x3ff));
}

/// Magnitudes 2^-7 … 1, either sign.
std::uint16_t random_bf16(std::uint64_t bits) {
    const auto exponent = 120 + (bits >> 8) % 7;
    return static_cast<std::uint16_t>((bits & 0x8000) | exponent << 7 | (bits & 0x7f));
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
    // A normal number's steps lie in [1024, 2048]; the carry of 2048 into the exponent is what the sum does
    // anyway.
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
        default:
            return "bf16";
    }
}

void dequantise(WeightType type, const std::byte* row, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); i += kBlock) {
        dequantise_block(type, row + i / kBlock * block_bytes(type), values.data() + i);
    }
}

std::vector<std::byte> random_weights(WeightType type, std::size_t rows, std::size_t k, Random& random) {
    std::vector<std::byte> weights(rows * row_bytes(type, k));
    for (std::size_t at = 0; at < weights.size(); at += block_bytes(type)) {
        std::byte* const block = weights.data() + at;
        if (type == WeightType::bf16) {
            for (std::size_t i = 0; i < kBlock; ++i) store_u16(block + 2 * i, random_bf16(random()));
            continue;
        }
        const std::size_t head = type == WeightType::q4_1 ? 4 : 2;
        for (std::size_t i = head; i < block_bytes(type); i += 8) {
            const std::uint64_t bits = random();
            std::memcpy(block + i, &bits, std::min<std::size_t>(8, block_bytes(type) - i));
        }
        store_u16(block, random_scale(random));
        if (type == WeightType::q4_1) store_u16(block + 2, random_scale(random) | 0x8000);
    }
    return weights;
}

}  // namespace paretoken::microbench
