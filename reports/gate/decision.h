#pragma once
// Computes a verdict from two sets of runs: pass, fail or inconclusive, with the interval of every metric,
// the smallest shift that this data could have shown, and the number of pairs that would decide. docs/gate.md
// describes the rule. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/evidence/sequential.h"
#include "core/result/result.h"
#include "reports/gate/answers.h"
#include "reports/gate/policy.h"
#include "reports/gate/same_work.h"

namespace paretoken::reports {

enum class GateVerdict : std::uint8_t { pass, fail, inconclusive };
std::string_view name_of(GateVerdict verdict);

/// One finished run with the data that a gate needs.
struct GateRun {
    std::string directory;
    RunResult result;
    std::map<std::string, std::uint64_t> finish_reasons;  ///< counts of successful answers by finish reason
    AnswerFaults answers = {};                            ///< faults in the answer texts that were kept
    std::vector<ProbeAnswer> probe = {};                  ///< answers to questions asked after the load
};

/// How the evidence was gathered, which decides what variation the intervals include.
enum class GateDesign : std::uint8_t {
    pairs,       ///< run i of one side is paired with run i of the other, which cancels drift
    two_sets,    ///< each side was measured separately; drift looks like a difference
    within_runs  ///< one run per side, by blocks of time; variation between runs is not included
};

/// The result for one metric of the policy, or for one of its absolute limits on the candidate.
struct GateRow {
    std::string metric;
    std::string title;
    std::string unit;
    double tolerance = 0;
    double floor = 0;
    bool points = false;  ///< whether the metric is a share; `shift` and `limit` are then differences
    std::optional<double> baseline = {};   ///< typical value (geometric mean), or a share
    std::optional<double> candidate = {};  ///< typical value or share of the candidate
    /// Mean of ln(candidate ÷ baseline), or the difference of shares (candidate − baseline). The sign is
    /// changed if higher values are better, so that a positive shift is worse. For metrics of which neither
    /// direction is better, a positive shift is an increase.
    std::optional<double> shift = {};
    std::optional<Interval> ci95 = {};  ///< 95 % interval of the shift, not widened for repeated looks
    /// The largest shift that is accepted. For a share it is the tolerance. Otherwise it is ln(1 +
    /// tolerance), or the logarithmic change that equals the floor of the policy, whichever is larger. For an
    /// absolute limit: the limit in the metric's unit.
    double limit = 0;
    std::uint64_t samples = 0;  ///< for a share: number of the candidate's requests, answers or questions
    double p_fail = 1;          ///< p-value for "the shift exceeds the limit"
    GateVerdict verdict = GateVerdict::inconclusive;
    std::uint64_t decided_at = 0;  ///< number of pairs at the look that decided it; 0: undecided
    std::string reason = {};       ///< explanation, if the interval alone does not give one
    /// The smallest true shift that this data would show to exceed `limit` in 80 % of the cases. It is
    /// counted from 0, not from `limit`.
    std::optional<double> detectable = {};
    /// The total number of pairs (or runs per side) that would decide, if the shift and its spread stay the
    /// same. Absent if the row is decided, in the design within_runs, and if not even 1000 pairs suffice.
    std::optional<std::uint64_t> pairs_to_decide = {};

    bool operator==(const GateRow&) const = default;
};

/// How much a metric varies from day to day in earlier baselines. It widens the intervals of
/// GateDesign::two_sets only.
struct DaySpread {
    double deviation = 0;  ///< standard deviation of the days' mean logarithms
    std::size_t days = 0;

    bool operator==(const DaySpread&) const = default;
};

struct GateInput {
    std::vector<GateRun> baseline;
    std::vector<GateRun> candidate;
    GateDesign design = GateDesign::pairs;
    /// The looks, fixed before the first pair. A look is only taken if there are enough pairs for it.
    std::vector<Look> looks;
    std::map<std::string, DaySpread> day_spread = {};  ///< metric → spread
};

/// A fact that should be known before a rollout.
struct CheckItem {
    std::string what;  ///< fact: "KV cache in use, p95"
    bool shown = false;
    std::string text = {};  ///< value in the candidate's runs, or the command that would show it

    bool operator==(const CheckItem&) const = default;
};

struct GateReport {
    GateVerdict verdict = GateVerdict::inconclusive;
    std::string headline = {};  ///< headline_of(): which metrics moved, by how much, and what to do next
    std::string why = {};       ///< why_of(): likely cause of the moved metrics; may be empty
    std::vector<GateRow> rows = {};
    std::vector<std::string> notes = {};  ///< facts that are needed to judge the verdict
    GateDesign design = GateDesign::pairs;
    std::uint64_t pairs = 0;  ///< pairs at the last look; other designs: runs of the smaller side
    std::vector<Look> looks = {};
    GatePolicy policy = {};
    std::string fingerprint = {};
    std::string baseline_name = {};  ///< directories, URL or command of the baseline
    std::string candidate_name = {};
    std::vector<CheckItem> checklist = {};  ///< checklist, if asked for (reports/gate/checklist.h)
};

/// looks_of() returns the looks of a gate with at most `policy.max_pairs` pairs. one_look() returns the
/// single look after `pairs` pairs, for runs that were measured already; it may spend all of alpha and beta.
/// A look is a point of time at which a verdict may be given (core/evidence/sequential.h).
std::vector<Look> looks_of(const GatePolicy& policy);
std::vector<Look> one_look(const GatePolicy& policy, std::uint64_t pairs);

/// Checks that all runs can be compared. Every run must have done the same work as the first baseline run,
/// except for the differences that `across` allows; otherwise it throws a UsageError that names both
/// directories and the difference. Every run must be valid and complete; otherwise it throws an Error with
/// ExitCode::measurement_invalid that names the run and the reason. A candidate's run that is invalid only
/// because requests failed is accepted, because the gate judges the failures.
void require_comparable(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                        const std::set<Across>& across);

/// The reason why a run cannot be used (it was interrupted or is invalid); empty when it can be used. Failed
/// requests do not exclude a candidate's run, because a gate judges them.
std::string why_unusable(const RunResult& run, bool is_candidate);

/// The verdict on comparable runs. In the design of pairs, both sides of `input` have one run for each pair.
/// Throws UsageError when the policy names a class that no run has.
GateReport decided(const GatePolicy& policy, const GateInput& input);

/// exp(shift) − 1 in percent: 5 for a metric that is 5 % worse. `shift` is a logarithm, not a difference of
/// shares.
double percent_of(double shift);

/// The smallest shift that the data would have shown, as a clause: "this data would have shown 12 % or more".
/// Beyond a tenfold change the figure itself is left out.
std::string detectable_text(double shift);

}  // namespace paretoken::reports
