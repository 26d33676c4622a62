#pragma once
// What one look says of one metric of a policy.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/evidence/sequential.h"
#include "core/evidence/unpaired.h"
#include "reports/analysis/gate/decision/run_values.h"
#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The result of one look at one metric, before all metrics are judged together.
struct MetricFinding {
    std::optional<Shift> shift = {};
    /// The shift with the error that a fail must exceed, if it is larger than that of `shift`.
    std::optional<Shift> cautious = {};
    std::optional<SetDifference> sets = {};  ///< for sides that were measured separately
    double p_fail = 1;
    std::optional<double> at_most = {};  ///< one-sided upper bound of the shift at this look
    bool passes = false;
    /// For a share that must not grow: its counts in the baseline and in the candidate.
    std::optional<std::pair<Failures, Failures>> counts = {};
    std::string reason = {};
};

/// The variation between days and hosts: as measured, and the standard deviation that is assumed.
struct SessionSpread {
    std::optional<Variance> measured = {};
    double assumed = 0;
};

/// A metric of the policy that at least one side has measured, and its row so far.
struct JudgedMetric {
    GateMetric metric;
    GateQuantity quantity;
    SideValues values = {};
    SessionSpread between;
    GateRow row = {};
};

/// The spread between the sessions of a metric; `assumed` is the policy's.
SessionSpread spread_of(const GateInput& input, const std::string& metric, double assumed);

/// The baseline's and the candidate's part of a list that belongs to a look.
template <class T>
std::span<const T> baseline_part(const GateInput& input, const std::vector<T>& of, std::uint64_t pairs) {
    return std::span(of).first(input.design == GateDesign::pairs ? static_cast<std::size_t>(pairs)
                                                                 : of.size());
}
template <class T>
std::span<const T> candidate_part(const GateInput& input, const std::vector<T>& of, std::uint64_t pairs) {
    const bool grows = input.design == GateDesign::pairs || input.design == GateDesign::stored;
    return std::span(of).first(grows ? static_cast<std::size_t>(pairs) : of.size());
}

/// Returns whether a share did not grow, or its upper bound with the error `beta` is within the tolerance.
bool share_passes(const Failures& before, const Failures& after, double tolerance, double beta);

/// Compares both sides by the runs that belong to a look. The row must have its limit.
MetricFinding found_at(const JudgedMetric& judged, const GateInput& input, const Look& look);

}  // namespace paretoken::reports
