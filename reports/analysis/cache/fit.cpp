#include "reports/analysis/cache/fit.h"

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
    Matrix covariances{};
    double degrees = 0;

    double error(std::size_t i) const { return std::sqrt(std::max(0.0, covariances[i][i])); }
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
        for (std::size_t j = 0; j < terms; ++j)
            result.covariances[i][j] = squares / result.degrees * (*inverse)[i][j] / n;
    return result;
}

/// A value with its interval, from its standard error.
FitTerm term_with(double value, double error, double degrees) {
    const double half = student_t(0.95, degrees) * error;
    return {value, {value - half, value + half}};
}

/// The polynomial that describes points: a line, or with a square if the data demand it.
struct ChosenFit {
    Coefficients coefficients;
    double longest = 0;  ///< the largest number of tokens of a point
    double scale = 1;    ///< lengths were divided by it
    bool curved = false;

    FitTerm term(std::size_t i) const {
        const double factor = 1 / std::pow(scale, static_cast<double>(i));
        return term_with(coefficients.values[i] * factor, coefficients.error(i) * factor,
                         coefficients.degrees);
    }
};

std::optional<ChosenFit> chosen_fit(std::span<const FitPoint> points) {
    constexpr std::size_t kFewestLengths = 4;
    constexpr std::size_t kFewestPoints = 6;
    constexpr double kSure = 0.999;
    std::set<double> lengths;
    for (const FitPoint& point : points) lengths.insert(point.uncached_tokens);
    if (lengths.size() < kFewestLengths || points.size() < kFewestPoints) return std::nullopt;
    ChosenFit chosen;
    chosen.longest = *lengths.rbegin();
    chosen.scale = std::max(1.0, chosen.longest);
    const auto line = polynomial(points, 2, chosen.scale);
    if (!line) return std::nullopt;
    chosen.coefficients = *line;
    if (const auto curve = polynomial(points, 3, chosen.scale);
        curve && curve->values[2] > student_t(kSure, curve->degrees) * curve->error(2)) {
        chosen.coefficients = *curve;
        chosen.curved = true;
    }
    return chosen;
}

}  // namespace

std::optional<TtftFit> fit_of(std::span<const FitPoint> points) {
    const auto chosen = chosen_fit(points);
    if (!chosen) return std::nullopt;
    TtftFit fit{.n = points.size(), .base_s = chosen->term(0), .per_token_s = chosen->term(1)};
    if (chosen->curved) fit.per_token2_s = chosen->term(2);
    return fit;
}

// With x = tokens ÷ scale, the mean slope between longest − width and longest is
// b1 + b2 · (2 · longest − width) ÷ scale, in seconds per scale tokens.
std::optional<LastTokens> last_tokens_of(std::span<const FitPoint> points, double tokens) {
    const auto chosen = chosen_fit(points);
    if (!chosen || !(chosen->longest > 0)) return std::nullopt;
    const Coefficients& fit = chosen->coefficients;
    const double width = std::min(tokens, chosen->longest);
    const double weight = (2 * chosen->longest - width) / chosen->scale;  // of the square's coefficient
    const double slope = fit.values[1] + weight * fit.values[2];
    const double variance =
        fit.covariances[1][1] + 2 * weight * fit.covariances[1][2] + weight * weight * fit.covariances[2][2];
    return LastTokens{
        chosen->longest,
        term_with(slope / chosen->scale, std::sqrt(std::max(0.0, variance)) / chosen->scale, fit.degrees)};
}

}  // namespace paretoken::reports
