#include "microbench/gpu/weights/weights_reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "microbench/collect.h"

namespace paretoken::microbench::gpu {

std::vector<double> dequantised(const WeightsShape& shape, std::span<const std::uint32_t> words,
                                std::span<const std::uint32_t> scales) {
    std::vector<double> weights(shape.rows * shape.k);
    for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t k = 0; k < shape.k; ++k) {
            weights[row * shape.k + k] = weight_at(shape, words.data(), scales.data(), row, k);
        }
    }
    return weights;
}

std::vector<double> product(const WeightsShape& shape, std::span<const double> weights,
                            std::span<const double> x) {
    assert(weights.size() == shape.rows * shape.k && x.size() % shape.k == 0);
    std::vector<double> y(x.size() / shape.k * shape.rows);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double* const row = weights.data() + i % shape.rows * shape.k;
        const double* const column = x.data() + i / shape.rows * shape.k;
        for (std::size_t k = 0; k < shape.k; ++k) y[i] += row[k] * column[k];
    }
    return y;
}

Work product_work(WeightFormat format, double rows, double k, double batch) {
    return {.read_bytes = format_bytes(format, rows, k) + k * batch * 2,
            .written_bytes = rows * batch * 4,
            .flops = 2 * rows * k * batch};
}

double product_bound(const WeightsShape& shape) {
    constexpr double kBound = 2e-5;
    constexpr double kLongChain = 2048;
    if (group_of(shape.format) != 0) return kBound;
    return kBound * std::max(1.0, static_cast<double>(shape.k) / kLongChain);
}

double worst_relative_l2(std::span<const float> output, std::span<const double> reference) {
    constexpr std::size_t kSlice = 64;
    double worst = 0;
    for (std::size_t at = 0; at < output.size(); at += kSlice) {
        const std::size_t size = std::min(kSlice, output.size() - at);
        const double error = relative_l2(output.subspan(at, size), reference.subspan(at, size));
        if (std::isnan(error)) return error;
        worst = std::max(worst, error);
    }
    return worst;
}

}  // namespace paretoken::microbench::gpu
