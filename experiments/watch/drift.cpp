#include "experiments/watch/drift.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace paretoken::experiments {
namespace {

constexpr double kTolerated = 1.1;  ///< ratio: a change by a tenth

/// Returns the moments of the natural logarithms of those values that are finite and above 0.
Moments logarithmic(std::span<const double> values) {
    RunningMoments moments;
    for (const double value : values)
        if (value > 0 && std::isfinite(value)) moments.add(std::log(value));
    return moments.result();
}

double variance_of(const Moments& moments) {
    return moments.n > 1 ? moments.standard_deviation * moments.standard_deviation : 0;
}

/// Returns the interval of the ratio within which the next interval of an equal server lies: Student's t for
/// a further value, whose spread is at least that of the mean of so many values.
Interval expected_ratio(const DriftReference& reference, const Moments& now, double confidence) {
    const auto parts = static_cast<double>(reference.means.n);
    const double between = variance_of(reference.means);
    const double further = std::max(between, reference.variance_within / static_cast<double>(now.n));
    const double half = student_t(confidence, parts - 1) * std::sqrt(between / parts + further);
    const double difference = now.mean - reference.means.mean;
    return {std::exp(difference - half), std::exp(difference + half)};
}

}  // namespace

std::optional<DriftReference> drift_reference(std::span<const double> values) {
    constexpr std::size_t kParts = 10;
    std::vector<double> usable;
    std::copy_if(values.begin(), values.end(), std::back_inserter(usable),
                 [](double value) { return value > 0 && std::isfinite(value); });
    const std::size_t parts = std::min(kParts, usable.size() / 2);
    if (parts < 2) return std::nullopt;
    RunningMoments means;
    double variance = 0;
    for (std::size_t i = 0; i < parts; ++i) {
        const std::size_t begin = i * usable.size() / parts;
        const std::size_t end = (i + 1) * usable.size() / parts;
        const Moments part = logarithmic(std::span(usable).subspan(begin, end - begin));
        means.add(part.mean);
        variance += variance_of(part) / static_cast<double>(parts);
    }
    return DriftReference{means.result(), variance};
}

std::optional<Drift> DriftTracker::add(std::span<const double> values) {
    const Moments now = logarithmic(values);
    if (now.n == 0) return std::nullopt;
    if (!reference_) {
        gathered_.add(now.mean);
        gathered_variance_ += variance_of(now) / static_cast<double>(kReferenceIntervals);
        if (gathered_.result().n == kReferenceIntervals)
            reference_ = DriftReference{gathered_.result(), gathered_variance_};
        return std::nullopt;
    }
    constexpr double kShown = 0.95;
    constexpr double kDecided = 0.99;
    const Interval decided = expected_ratio(*reference_, now, kDecided);
    const bool is_beyond = decided.low > kTolerated || decided.high < 1 / kTolerated;
    return Drift{.ratio = std::exp(now.mean - reference_->means.mean),
                 .ci95 = expected_ratio(*reference_, now, kShown),
                 .n = now.n,
                 .drifted = std::exchange(was_beyond_, is_beyond) && is_beyond};
}

}  // namespace paretoken::experiments
