#include "tests/virtual_gpu/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace paretoken::virtual_gpu {
namespace {

constexpr int kFractionBits = 23;  // of fp32

/// Truncates towards zero, to a multiple of 2^exponent.
double cut(double value, int exponent) {
    return std::ldexp(std::trunc(std::ldexp(value, -exponent)), exponent);
}

float rounded_towards_zero(double value) {
    const auto nearest = static_cast<float>(value);
    if (std::isfinite(nearest) && std::abs(static_cast<double>(nearest)) > std::abs(value))
        return std::nextafter(nearest, 0.0F);
    return nearest;
}

constexpr std::int32_t kExponentZero = 127;  // bias of the exponent in fp32
/// Bounds of the largest term, as the bits of a float. Between these bounds, a sum computed in integers
/// equals the sum computed in doubles, because no number that affects the result is subnormal or infinite.
constexpr auto kLeastUsual = std::bit_cast<std::int32_t>(0x1p-100F);
constexpr auto kMostUsual = std::bit_cast<std::int32_t>(0x1p120F);

float power_of_two(std::int32_t exponent) {
    return std::bit_cast<float>((exponent + kExponentZero) << kFractionBits);
}

/// Adds kAtOnce products to each element of a row of c. It computes in integers whose unit is the last bit
/// that is kept. Returns false, without changing c, if the largest term of a column is not zero and not
/// between the bounds above.
template <int kAtOnce>
bool add_usual(int extra_bits, float* c, const float* a, const float (*b)[kMatrixColumns]) {
    constexpr int kColumns = kMatrixColumns;
    float products[kAtOnce][kColumns];
    std::int32_t largest[kColumns];
    for (int n = 0; n < kColumns; ++n) largest[n] = std::bit_cast<std::int32_t>(c[n]) & 0x7fffffff;
    for (int k = 0; k < kAtOnce; ++k) {
        for (int n = 0; n < kColumns; ++n) {
            products[k][n] = a[k] * b[k][n];
            largest[n] = std::max(largest[n], std::bit_cast<std::int32_t>(products[k][n]) & 0x7fffffff);
        }
    }
    bool usual = true;
    float scale[kColumns];
    float unit[kColumns];
    for (int n = 0; n < kColumns; ++n) {
        usual &= largest[n] == 0 || (largest[n] >= kLeastUsual && largest[n] < kMostUsual);
        const std::int32_t exponent = largest[n] == 0 ? 0 : (largest[n] >> kFractionBits) - kExponentZero;
        scale[n] = power_of_two(usual ? kFractionBits + extra_bits - exponent : 0);
        unit[n] = power_of_two(usual ? exponent - kFractionBits - extra_bits : 0);
    }
    if (!usual) return false;
    std::int32_t sum[kColumns];  // sums of at most 17 numbers below 2^26
    for (int n = 0; n < kColumns; ++n) sum[n] = static_cast<std::int32_t>(c[n] * scale[n]);
    for (int k = 0; k < kAtOnce; ++k) {
        for (int n = 0; n < kColumns; ++n) sum[n] += static_cast<std::int32_t>(products[k][n] * scale[n]);
    }
    for (int n = 0; n < kColumns; ++n) {
        const std::int32_t size = sum[n] < 0 ? -sum[n] : sum[n];
        const auto nearest = static_cast<float>(size);
        const std::int32_t above = static_cast<std::int32_t>(nearest) > size ? 1 : 0;
        const float cut_off = std::bit_cast<float>(std::bit_cast<std::int32_t>(nearest) - above) * unit[n];
        if (largest[n] != 0) c[n] = sum[n] < 0 ? -cut_off : cut_off;
    }
    return true;
}

template <int kAtOnce>
void multiply_rows(const TensorCore& core, float (&c)[kMatrixRows][kMatrixColumns],
                   const float (&a)[kMatrixRows][kMatrixDepth],
                   const float (&b)[kMatrixDepth][kMatrixColumns]) {
    for (int m = 0; m < kMatrixRows; ++m) {
        for (int k = 0; k < kMatrixDepth; k += kAtOnce) {
            if (add_usual<kAtOnce>(core.extra_bits, c[m], a[m] + k, b + k)) continue;
            for (int n = 0; n < kMatrixColumns; ++n) {
                float column[kAtOnce];
                for (int i = 0; i < kAtOnce; ++i) column[i] = b[k + i][n];
                c[m][n] = dot_accumulated(core, c[m][n], {a[m] + k, kAtOnce}, column);
            }
        }
    }
}

}  // namespace

TensorCore tensor_core_of(int capability) {
    if (capability >= 90) return {.products_at_once = 16, .extra_bits = 2};
    return {.products_at_once = 8, .extra_bits = 1};
}

float dot_accumulated(const TensorCore& core, float c, std::span<const float> a, std::span<const float> b) {
    const auto at_once = static_cast<std::size_t>(core.products_at_once);
    for (std::size_t first = 0; first < a.size(); first += at_once) {
        const std::size_t end = std::min(a.size(), first + at_once);
        double largest = std::abs(static_cast<double>(c));
        double exact = c;
        for (std::size_t i = first; i < end; ++i) {
            const double product = static_cast<double>(a[i]) * b[i];
            largest = std::max(largest, std::abs(product));
            exact += product;
        }
        if (largest == 0) continue;
        if (!std::isfinite(exact) || !std::isfinite(largest)) {
            c = static_cast<float>(exact);
            continue;
        }
        const int last_bit = std::ilogb(largest) - kFractionBits - core.extra_bits;
        double sum = cut(c, last_bit);
        for (std::size_t i = first; i < end; ++i) sum += cut(static_cast<double>(a[i]) * b[i], last_bit);
        c = rounded_towards_zero(sum);
    }
    return c;
}

void multiply_accumulated(const TensorCore& core, float (&c)[kMatrixRows][kMatrixColumns],
                          const float (&a)[kMatrixRows][kMatrixDepth],
                          const float (&b)[kMatrixDepth][kMatrixColumns]) {
    if (core.products_at_once == 8) return multiply_rows<8>(core, c, a, b);
    multiply_rows<16>(core, c, a, b);
}

}  // namespace paretoken::virtual_gpu
