#include "experiments/watch/drift.h"

#include <algorithm>
#include <cmath>

namespace paretoken::experiments {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kTolerated = 1.1;         ///< ratio: a change by a tenth
constexpr std::size_t kMostValues = 1000;  ///< most values kept per interval, evenly spaced

double square(double value) {
    return value * value;
}

/// Returns the squared standard error of one side's mean.
double squared_error(const Moments& side) {
    return square(side.standard_deviation) / static_cast<double>(side.n);
}

std::vector<double> thinned(std::span<const double> values) {
    std::vector<double> kept;
    const std::size_t step = std::max<std::size_t>(1, (values.size() + kMostValues - 1) / kMostValues);
    for (std::size_t i = 0; i < values.size(); i += step) kept.push_back(values[i]);
    return kept;
}

}  // namespace

std::optional<Drift> drift_between(const Moments& reference, const Moments& now) {
    if (reference.n < 2 || now.n < 2) return std::nullopt;
    const double a = squared_error(reference);
    const double b = squared_error(now);
    const double error = std::sqrt(a + b);
    // The degrees of freedom are Welch and Satterthwaite's, or those of the smaller side if nothing varies.
    double freedom = static_cast<double>(std::min(reference.n, now.n) - 1);
    const double below =
        square(a) / static_cast<double>(reference.n - 1) + square(b) / static_cast<double>(now.n - 1);
    if (below > 0) freedom = square(a + b) / below;
    const double half = error > 0 ? student_t(kConfidence, freedom) * error : 0;
    const double difference = now.mean - reference.mean;
    Drift drift{.ratio = std::exp(difference),
                .ci95 = {std::exp(difference - half), std::exp(difference + half)},
                .n = now.n};
    drift.drifted = drift.ci95.low > kTolerated || drift.ci95.high < 1 / kTolerated;
    return drift;
}

Moments DriftTracker::logarithmic(std::span<const double> values) {
    RunningMoments moments;
    for (const double value : values)
        if (value > 0 && std::isfinite(value)) moments.add(std::log(value));
    return moments.result();
}

std::optional<Drift> DriftTracker::add(std::span<const double> values) {
    recent_.push_front(thinned(values));
    if (recent_.size() > kMostIntervals) recent_.pop_back();
    if (!reference_) {
        for (const double value : recent_.front())
            if (value > 0 && std::isfinite(value)) gathered_.add(std::log(value));
        if (gathered_.result().n >= kReferenceValues) {
            reference_ = gathered_.result();
            recent_.clear();  // the reference is not compared with itself
        }
        return std::nullopt;
    }
    RunningMoments now;
    for (const std::vector<double>& interval : recent_) {
        for (const double value : interval)
            if (value > 0 && std::isfinite(value)) now.add(std::log(value));
        if (now.result().n >= kFewestValues) break;
    }
    return drift_between(*reference_, now.result());
}

}  // namespace paretoken::experiments
