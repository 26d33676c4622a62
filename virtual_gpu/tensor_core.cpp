#include "virtual_gpu/tensor_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paretoken::virtual_gpu {
namespace {

constexpr int kFractionBits = 23;  // of fp32

/// Towards zero, to multiples of 2^exponent.
double cut(double value, int exponent) {
    return std::ldexp(std::trunc(std::ldexp(value, -exponent)), exponent);
}

float rounded_towards_zero(double value) {
    const auto nearest = static_cast<float>(value);
    if (std::isfinite(nearest) && std::abs(static_cast<double>(nearest)) > std::abs(value))
        return std::nextafter(nearest, 0.0F);
    return nearest;
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

}  // namespace paretoken::virtual_gpu
