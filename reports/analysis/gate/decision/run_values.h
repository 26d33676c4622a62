#pragma once
// The values and counts of the runs that are compared, and the list of runs with them.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/evidence/sequential.h"
#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The values of one quantity in the runs of both sides.
struct SideValues {
    std::vector<GateValue> baseline;
    std::vector<GateValue> candidate;
};
SideValues side_values(const GateQuantity& quantity, const GateInput& input);

/// The seed of a run, which decides its requests within its workload. Nothing for runs of other programs.
std::optional<std::uint64_t> seed_of(const RunResult& run);

/// A number that runs of one workload share if they had the same requests, from their seed; 0 if unknown.
std::uint64_t number_of_work(const RunResult& run);

/// Whether each run of the candidate repeats the requests of runs of the baseline, at least 3 in all. These
/// runs are then compared with each other.
bool repeats_requests(std::span<const GateRun> baseline, std::span<const GateRun> candidate);

/// The geometric mean of the values above 0; nothing if there is none.
std::optional<double> typical_value(std::span<const GateValue> values);

/// The 95 % interval that a single run has for a quantity.
std::optional<Interval> own_interval(const GateQuantity& quantity, const RunResult& run);

/// The counts of a share over one side: requests that failed, answers that ended by themselves, right
/// answers, or answers with a fault. None if the quantity is no share.
Failures counted(std::span<const GateRun> runs, const GateQuantity& quantity);

/// The first run of `runs` that was asked questions, which represents its side; null if there is none.
const GateRun* probed(std::span<const GateRun> runs);

/// The runs of both sides; those of the baseline come first. `rows` are those of the policy's metrics. A
/// value that was not measured is left out.
std::vector<GateRunNote> run_notes_of(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                                      std::span<const GateRow> rows);

}  // namespace paretoken::reports
