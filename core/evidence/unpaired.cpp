#include "core/evidence/unpaired.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/statistics.h"

namespace paretoken {
namespace {

double squared(double value) {
    return value * value;
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

// ---- effects of sessions and works

/// One run of several sessions.
struct Placed {
    double value = 0;
    std::size_t session = 0;
    std::uint64_t work = 0;
    double residual = 0;
    double leverage = 1;  ///< share of the run's noise that the effects absorb
};

/// Runs with the number of runs of each work, in all and by session.
struct Works {
    std::map<std::uint64_t, double> all;
    std::vector<std::map<std::uint64_t, double>> by_session;

    double share(std::size_t session, std::uint64_t work) const {
        const auto found = by_session[session].find(work);
        return found == by_session[session].end() ? 0 : found->second / all.at(work);
    }
};

Works works_of(std::span<const Placed> runs, std::size_t sessions) {
    Works works{.all = {}, .by_session = std::vector<std::map<std::uint64_t, double>>(sessions)};
    for (const Placed& run : runs) {
        ++works.all[run.work];
        ++works.by_session[run.session][run.work];
    }
    return works;
}

/// Returns which sessions are connected with the first one by common works, directly or through others.
std::vector<bool> connected_with_first(const Works& works) {
    std::vector<bool> connected(works.by_session.size(), false);
    connected.front() = true;
    std::set<std::uint64_t> reached;
    for (bool more = true; more;) {
        more = false;
        for (std::size_t d = 0; d < connected.size(); ++d) {
            const auto& own = works.by_session[d];
            const auto is_reached = [&](const auto& work) { return reached.contains(work.first); };
            connected[d] = connected[d] || std::ranges::any_of(own, is_reached);
            if (!connected[d]) continue;
            for (const auto& [work, runs] : own) more = reached.insert(work).second || more;
        }
    }
    return connected;
}

using Matrix = std::vector<std::vector<double>>;

/// Returns the inverse of a symmetric positive definite matrix (Gauss and Jordan, in place).
Matrix inverse_of(Matrix m) {
    const std::size_t n = m.size();
    for (std::size_t k = 0; k < n; ++k) {
        const double pivot = m[k][k];
        m[k][k] = 1;
        for (double& value : m[k]) value /= pivot;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == k) continue;
            const double factor = std::exchange(m[i][k], 0);
            for (std::size_t j = 0; j < n; ++j) m[i][j] -= factor * m[k][j];
        }
    }
    return m;
}

/// The least squares fit of value = effect of the session + effect of the work + noise. The effects of
/// sessions are differences from the first one, whose effect is 0; all of them are connected with it.
struct Fit {
    std::vector<Placed> runs;
    std::vector<double> effects;  ///< by session
    Matrix covariance;            ///< of the effects, for a noise of 1
    Works works;

    /// The factors of the values of the runs in Σ weights · effects.
    std::vector<double> factors(std::span<const double> weights) const;
};

/// Returns by how much the run's row of the fit differs from the mean row of its work.
std::vector<double> row_of(const Placed& run, const Works& works) {
    std::vector<double> row(works.by_session.size());
    for (std::size_t d = 0; d < row.size(); ++d)
        row[d] = (d == run.session ? 1 : 0) - works.share(d, run.work);
    return row;
}

std::vector<double> product(const Matrix& matrix, std::span<const double> vector) {
    std::vector<double> result;
    for (const auto& row : matrix)
        result.push_back(std::inner_product(row.begin(), row.end(), vector.begin(), 0.0));
    return result;
}

std::vector<double> Fit::factors(std::span<const double> weights) const {
    const std::vector<double> combined = product(covariance, weights);
    std::vector<double> factors;
    for (const Placed& run : runs) {
        const std::vector<double> row = row_of(run, works);
        factors.push_back(std::inner_product(row.begin(), row.end(), combined.begin(), 0.0));
    }
    return factors;
}

Fit fitted(std::vector<Placed> runs, std::size_t sessions) {
    Fit fit{.runs = std::move(runs), .effects = {}, .covariance = {}, .works = {}};
    fit.works = works_of(fit.runs, sessions);
    Matrix normal(sessions, std::vector<double>(sessions, 0));
    std::vector<double> sums(sessions, 0);
    for (const Placed& run : fit.runs) {
        const std::vector<double> row = row_of(run, fit.works);
        for (std::size_t d = 0; d < sessions; ++d) {
            sums[d] += row[d] * run.value;
            for (std::size_t e = 0; e < sessions; ++e) normal[d][e] += row[d] * row[e];
        }
    }
    normal.erase(normal.begin());  // the first effect is 0
    for (auto& row : normal) row.erase(row.begin());
    fit.covariance = inverse_of(std::move(normal));
    for (auto& row : fit.covariance) row.insert(row.begin(), 0);
    fit.covariance.insert(fit.covariance.begin(), std::vector<double>(sessions, 0));
    fit.effects = product(fit.covariance, sums);
    std::map<std::uint64_t, double> of_work;
    for (const Placed& run : fit.runs)
        of_work[run.work] += (run.value - fit.effects[run.session]) / fit.works.all.at(run.work);
    for (Placed& run : fit.runs) {
        const std::vector<double> row = row_of(run, fit.works);
        const std::vector<double> spread = product(fit.covariance, row);
        run.residual = run.value - fit.effects[run.session] - of_work.at(run.work);
        run.leverage =
            1 / fit.works.all.at(run.work) + std::inner_product(row.begin(), row.end(), spread.begin(), 0.0);
    }
    return fit;
}

/// Returns the variance of the noise of those runs for which `counts` is true; nothing if the effects absorb
/// all of it.
template <class Counts>
std::optional<Variance> noise_of(const Fit& fit, const Counts& counts) {
    constexpr double kNone = 1e-6;
    double squares = 0;
    double degrees = 0;
    for (const Placed& run : fit.runs) {
        if (!counts(run)) continue;
        squares += squared(run.residual);
        degrees += 1 - run.leverage;
    }
    if (degrees < kNone) return std::nullopt;
    return Variance{squares / degrees, degrees};
}

std::vector<Placed> placed(std::span<const Session> sessions, bool by_work) {
    std::vector<Placed> runs;
    for (std::size_t d = 0; d < sessions.size(); ++d)
        for (const RunValue& run : sessions[d])
            runs.push_back({.value = run.value, .session = d, .work = by_work ? run.work : 0});
    return runs;
}

/// Returns the weights of the sessions after the first one: their shares of the runs whose work other
/// sessions did, too.
std::vector<double> weights_after_first(const Fit& fit) {
    std::vector<double> weights(fit.effects.size(), 0);
    for (const Placed& run : fit.runs)
        if (run.session > 0 && fit.works.share(run.session, run.work) < 1) ++weights[run.session];
    const double runs = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= runs;
    return weights;
}

bool are_connected(std::span<const Session> sessions) {
    const auto connected = connected_with_first(works_of(placed(sessions, true), sessions.size()));
    return std::ranges::all_of(connected, std::identity{});
}

}  // namespace

std::optional<Variance> variance_between(std::span<const Session> sessions) {
    constexpr std::size_t kFewest = 3;
    if (sessions.size() < kFewest) return std::nullopt;
    const Fit fit = fitted(placed(sessions, are_connected(sessions)), sessions.size());
    const auto degrees = static_cast<double>(sessions.size() - 1);
    double of_means = 0;  // the variance of the effects that a noise of 1 explains
    for (std::size_t d = 0; d < sessions.size(); ++d)
        for (std::size_t e = 0; e < sessions.size(); ++e)
            of_means += fit.covariance[d][e] * ((d == e ? 1 : 0) - 1 / static_cast<double>(sessions.size())) /
                        degrees;
    const auto within = noise_of(fit, [](const Placed&) { return true; });
    const double explained = within ? within->value * of_means : 0;
    return Variance{std::max(0.0, squared(moments_of(fit.effects).standard_deviation) - explained), degrees};
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

SetDifference set_difference(std::span<const Session> baseline, const Session& candidate, bool one_session) {
    constexpr double kFewest = 2;  // degrees of freedom of the noise
    std::vector<Session> sessions{candidate};
    sessions.insert(sessions.end(), baseline.begin(), baseline.end());
    const auto connected = connected_with_first(works_of(placed(sessions, true), sessions.size()));
    std::vector<Session> used;
    for (std::size_t d = 0; d < sessions.size(); ++d)
        if (connected[d]) used.push_back(sessions[d]);
    std::optional<Fit> by_work;
    if (used.size() > 1) by_work = fitted(placed(used, true), used.size());
    const auto noise = by_work ? noise_of(*by_work, [](const Placed&) { return true; }) : std::nullopt;
    const bool is_by_work = noise && noise->degrees_of_freedom > kFewest - .001;
    const Fit fit = is_by_work ? std::move(*by_work) : fitted(placed(sessions, false), sessions.size());
    const std::vector<double> weights = weights_after_first(fit);

    SetDifference found;
    found.candidate_runs = candidate.size();
    found.mean = -std::inner_product(weights.begin(), weights.end(), fit.effects.begin(), 0.0);
    if (!one_session)
        found.sessions = 1 + std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);

    const auto is_candidate = [](const Placed& run) { return run.session == 0; };
    const auto before = noise_of(fit, [&](const Placed& run) { return !is_candidate(run); });
    const auto after = noise_of(fit, is_candidate);
    const Variance of_run = after ? *after : before.value_or(Variance{});
    double of_baseline = 0;
    double of_candidate = 0;
    const std::vector<double> factors = fit.factors(weights);
    for (std::size_t i = 0; i < factors.size(); ++i)
        (is_candidate(fit.runs[i]) ? of_candidate : of_baseline) += squared(factors[i]);
    found.baseline = scaled(before.value_or(of_run), of_baseline);
    found.candidate = scaled(of_run, of_candidate * static_cast<double>(candidate.size()));
    if (is_by_work) {
        found.works = fit.works.by_session.front().size();
        std::set<std::uint64_t> all;
        for (const Placed& run : placed(sessions, true)) all.insert(run.work);
        found.works_left = all.size() - found.works;
    }
    return found;
}

Shift shift_of(const SetDifference& difference, const std::optional<Variance>& between, std::uint64_t runs) {
    // A run that repeats another work of the baseline brings a run of the baseline into the comparison.
    const std::uint64_t more = runs - std::min(runs, difference.candidate_runs);
    const auto repeats = static_cast<double>(std::min(more, difference.works_left));
    const auto works = static_cast<double>(difference.works);
    Variance baseline = scaled(difference.baseline, works / (works + repeats));
    Variance candidate = scaled(difference.candidate, 1 / static_cast<double>(runs));
    baseline.degrees_of_freedom += repeats / 2;
    candidate.degrees_of_freedom += static_cast<double>(more) - repeats / 2;
    const Variance sum = between && difference.sessions > 0
                             ? sum_of(std::array{baseline, candidate, scaled(*between, difference.sessions)})
                             : sum_of(std::array{baseline, candidate});
    return {difference.mean, std::sqrt(sum.value), sum.degrees_of_freedom};
}

Shift cautious_shift(const SetDifference& difference, const std::optional<Variance>& between, double assumed,
                     std::uint64_t runs) {
    const Shift measured = shift_of(difference, between, runs);
    const Shift wide = shift_of(difference, with_assumed(between, assumed), runs);
    return wide.standard_error > measured.standard_error ? wide : measured;
}

Shift unpaired_shift(std::span<const double> baseline, std::span<const double> candidate) {
    const Session before(baseline.begin(), baseline.end());
    const Session after(candidate.begin(), candidate.end());
    return shift_of(set_difference(std::span(&before, 1), after, true), std::nullopt, after.size());
}

}  // namespace paretoken
