#include "core/evidence/unpaired.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics.h"

namespace paretoken {
namespace {

double squared(double value) {
    return value * value;
}

/// The variance within sessions, pooled over all of them; nothing if every session has a single run.
std::optional<Variance> variance_within(std::span<const Session> sessions) {
    double squares = 0;
    double degrees = 0;
    for (const Session& session : sessions) {
        const Moments moments = moments_of(session);
        if (moments.n < 2) continue;
        const auto of_session = static_cast<double>(moments.n - 1);
        squares += of_session * squared(moments.standard_deviation);
        degrees += of_session;
    }
    if (degrees == 0) return std::nullopt;
    return Variance{squares / degrees, degrees};
}

Variance scaled(Variance variance, double factor) {
    variance.value *= factor;
    return variance;
}

/// The sum of independent variances (Welch and Satterthwaite).
Variance sum_of(std::span<const Variance> variances) {
    double sum = 0;
    double divisor = 0;
    double degrees = 0;
    for (const Variance& variance : variances) {
        sum += variance.value;
        divisor += squared(variance.value) / variance.degrees_of_freedom;
        degrees += variance.degrees_of_freedom;
    }
    return {sum, divisor > 0 ? squared(sum) / divisor : degrees};
}

}  // namespace

std::optional<Variance> variance_between(std::span<const Session> sessions) {
    constexpr std::size_t kFewest = 3;
    if (sessions.size() < kFewest) return std::nullopt;
    std::vector<double> means;
    double mean_of_inverses = 0;
    for (const Session& session : sessions) {
        means.push_back(moments_of(session).mean);
        mean_of_inverses += 1 / static_cast<double>(session.size() * sessions.size());
    }
    const auto within = variance_within(sessions);
    const double explained = within ? within->value * mean_of_inverses : 0;
    return Variance{std::max(0.0, squared(moments_of(means).standard_deviation) - explained),
                    static_cast<double>(sessions.size() - 1)};
}

Variance with_assumed(const std::optional<Variance>& measured, double assumed_deviation) {
    constexpr double kWeight = 8;
    constexpr double kCertain = 1e9;  // an assumption is not an estimate, so that it has no error of its own
    const Variance known = measured.value_or(Variance{0, 0});
    const double whole = kWeight + known.degrees_of_freedom;
    const Variance assumed{squared(assumed_deviation), kCertain};
    if (!measured) return assumed;
    return sum_of(
        std::array{scaled(assumed, kWeight / whole), scaled(known, known.degrees_of_freedom / whole)});
}

SetDifference set_difference(std::span<const Session> baseline, std::span<const double> candidate,
                             bool one_session) {
    std::vector<double> all;
    double squares = 0;
    for (const Session& session : baseline) {
        all.insert(all.end(), session.begin(), session.end());
        squares += squared(static_cast<double>(session.size()));
    }
    const Moments before = moments_of(all);
    const Moments after = moments_of(candidate);
    const auto runs = static_cast<double>(before.n);
    const Variance of_candidate{squared(after.standard_deviation), static_cast<double>(after.n - 1)};
    return {.mean = after.mean - before.mean,
            .baseline = scaled(variance_within(baseline).value_or(of_candidate), 1 / runs),
            .candidate = of_candidate,
            .candidate_runs = after.n,
            .sessions = one_session ? 0 : 1 + squares / squared(runs)};
}

Shift shift_of(const SetDifference& difference, const std::optional<Variance>& between, std::uint64_t runs) {
    const Variance candidate = scaled(difference.candidate, 1 / static_cast<double>(runs));
    const Variance sum =
        between && difference.sessions > 0
            ? sum_of(std::array{difference.baseline, candidate, scaled(*between, difference.sessions)})
            : sum_of(std::array{difference.baseline, candidate});
    return {difference.mean, std::sqrt(sum.value), sum.degrees_of_freedom};
}

Shift cautious_shift(const SetDifference& difference, const std::optional<Variance>& between, double assumed,
                     std::uint64_t runs) {
    const Shift measured = shift_of(difference, between, runs);
    const Shift wide = shift_of(difference, with_assumed(between, assumed), runs);
    return wide.standard_error > measured.standard_error ? wide : measured;
}

Shift unpaired_shift(std::span<const double> baseline, std::span<const double> candidate) {
    const Session session(baseline.begin(), baseline.end());
    return shift_of(set_difference(std::span(&session, 1), candidate, true), std::nullopt, candidate.size());
}

}  // namespace paretoken
