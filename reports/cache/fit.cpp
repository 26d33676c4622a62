#include "reports/cache/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/statistics.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kMostTerms = 3;
using Row = std::array<double, kMostTerms>;
using Matrix = std::array<Row, kMostTerms>;

/// The inverse of the leading `size` × `size` part (Gauss and Jordan with pivoting); nothing when it is
/// singular.
std::optional<Matrix> inverse_of(Matrix matrix, std::size_t size) {
    Matrix inverse{};
    for (std::size_t i = 0; i < size; ++i) inverse[i][i] = 1;
    for (std::size_t column = 0; column < size; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column + 1; row < size; ++row)
            if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
        if (std::abs(matrix[pivot][column]) < 1e-12) return std::nullopt;
        std::swap(matrix[pivot], matrix[column]);
        std::swap(inverse[pivot], inverse[column]);
        const double divisor = matrix[column][column];
        for (std::size_t i = 0; i < size; ++i) {
            matrix[column][i] /= divisor;
            inverse[column][i] /= divisor;
        }
        for (std::size_t row = 0; row < size; ++row) {
            const double factor = matrix[row][column];
            if (row == column || factor == 0) continue;
            for (std::size_t i = 0; i < size; ++i) {
                matrix[row][i] -= factor * matrix[column][i];
                inverse[row][i] -= factor * inverse[column][i];
            }
        }
    }
    return inverse;
}

struct Coefficients {
    Row values{};
    Row errors{};  ///< standard errors of the coefficients
    double degrees = 0;
};

/// The coefficients of a polynomial in length ÷ `scale` with `terms` terms, by least squares.
std::optional<Coefficients> polynomial(std::span<const FitPoint> points, std::size_t terms, double scale) {
    Matrix products{};
    Row right{};
    const auto powers = [&](const FitPoint& point) {
        const double x = point.uncached_tokens / scale;
        return Row{1, x, x * x};
    };
    const auto n = static_cast<double>(points.size());
    for (const FitPoint& point : points) {
        const Row x = powers(point);
        for (std::size_t i = 0; i < terms; ++i) {
            right[i] += x[i] * point.ttft_s / n;
            for (std::size_t j = 0; j < terms; ++j) products[i][j] += x[i] * x[j] / n;
        }
    }
    const auto inverse = inverse_of(products, terms);
    if (!inverse) return std::nullopt;
    Coefficients result;
    for (std::size_t i = 0; i < terms; ++i)
        for (std::size_t j = 0; j < terms; ++j) result.values[i] += (*inverse)[i][j] * right[j];
    double squares = 0;
    for (const FitPoint& point : points) {
        const Row x = powers(point);
        double fitted = 0;
        for (std::size_t i = 0; i < terms; ++i) fitted += x[i] * result.values[i];
        squares += (point.ttft_s - fitted) * (point.ttft_s - fitted);
    }
    result.degrees = n - static_cast<double>(terms);
    for (std::size_t i = 0; i < terms; ++i)
        result.errors[i] = std::sqrt(std::max(0.0, squares / result.degrees * (*inverse)[i][i] / n));
    return result;
}

FitTerm term_of(const Coefficients& fit, std::size_t i, double scale) {
    const double factor = 1 / std::pow(scale, static_cast<double>(i));
    const double half = student_t(0.95, fit.degrees) * fit.errors[i];
    return {fit.values[i] * factor, {(fit.values[i] - half) * factor, (fit.values[i] + half) * factor}};
}

}  // namespace

std::optional<TtftFit> fit_of(std::span<const FitPoint> points) {
    constexpr std::size_t kFewestLengths = 4;
    constexpr std::size_t kFewestPoints = 6;
    constexpr double kSure = 0.999;
    std::set<double> lengths;
    for (const FitPoint& point : points) lengths.insert(point.uncached_tokens);
    if (lengths.size() < kFewestLengths || points.size() < kFewestPoints) return std::nullopt;
    const double scale = std::max(1.0, *lengths.rbegin());
    auto fit = polynomial(points, 2, scale);
    if (!fit) return std::nullopt;
    TtftFit result{.n = points.size(), .base_s = {}, .per_token_s = {}, .per_token2_s = {}};
    if (const auto curved = polynomial(points, 3, scale);
        curved && curved->values[2] > student_t(kSure, curved->degrees) * curved->errors[2]) {
        fit = curved;
        result.per_token2_s = term_of(*curved, 2, scale);
    }
    result.base_s = term_of(*fit, 0, scale);
    result.per_token_s = term_of(*fit, 1, scale);
    return result;
}

}  // namespace paretoken::reports
