#pragma once
// What a gate compares and what it finds: for every metric the shift with its interval, the smallest shift
// that this data would have shown, and the number of pairs that would decide (docs/gate.md). A look is a
// number of pairs after which a verdict may be given.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evidence/sequential.h"
#include "reports/analysis/gate/conditions.h"
#include "reports/analysis/gate/gate_run.h"
#include "reports/analysis/gate/policy.h"

namespace paretoken::reports {

enum class GateVerdict : std::uint8_t { pass, fail, inconclusive };
std::string_view name_of(GateVerdict verdict);

/// How the evidence was gathered, which decides what variation the intervals include.
enum class GateDesign : std::uint8_t {
    pairs,       ///< run i of one side is paired with run i of the other, which cancels drift
    two_sets,    ///< each side was measured separately; drift looks like a difference
    stored,      ///< two sets, of which the baseline is stored and the candidate's runs are measured now
    within_runs  ///< one run per side, judged by its own intervals; variation between runs is not included
};
std::string_view name_of(GateDesign design);

/// The result for one metric of the policy, or for one of its absolute limits on the candidate.
struct GateRow {
    std::string metric;
    std::string title;
    std::string unit;
    double tolerance = 0;  ///< GateMetric::tolerance
    double floor = 0;      ///< GateMetric::floor
    bool points = false;   ///< whether the metric is a share; `shift` and `limit` are then differences
    bool may_stay_undecided = false;  ///< GateMetric::may_stay_undecided
    /// The value of the baseline: the geometric mean of its runs; for a share, the share over all its runs.
    std::optional<double> baseline = {};
    std::optional<double> candidate = {};  ///< the candidate's value, computed as for `baseline`
    /// Mean of ln(candidate ÷ baseline), or the difference of shares, with the sign changed if higher is
    /// better, so that a positive shift is worse. Where neither is better, it is an increase.
    std::optional<double> shift = {};
    std::optional<Interval> ci95 = {};  ///< 95 % interval of the shift, not widened for repeated looks
    /// The true shift is at most this, with the policy's error for a false pass: the smallest one-sided upper
    /// bound of the looks so far. A row passes if it is at most `limit`. Absent where neither
    /// is better, and as `ci95` is.
    std::optional<double> at_most = {};
    /// The largest accepted shift: the tolerance of a share; of another metric shift_of_share(tolerance), or
    /// that of the policy's floor if that is larger; an absolute limit in the metric's unit.
    double limit = 0;
    std::uint64_t samples = 0;  ///< for a share: number of the candidate's requests, answers or questions
    /// The p-value of the test for a fail. A small value shows that the shift exceeds `limit`.
    double p_fail = 1;
    GateVerdict verdict = GateVerdict::inconclusive;
    /// The number of pairs at the look that decided the row; 0 for undecided rows and absolute limits.
    std::uint64_t decided_at = 0;
    std::string reason = {};  ///< explanation, if the interval alone does not explain the verdict
    /// The smallest true shift that would be found to exceed `limit` with a probability of about 80 %, with
    /// as much data as this. It is counted from 0, not from `limit`. Absent for shares and absolute limits.
    std::optional<double> detectable = {};
    /// The pairs (or runs per side) that would decide, if shift and spread stay: a look, or a larger number
    /// that the policy would have to allow. Absent if decided, for absolute limits, in the design
    /// within_runs, and if 1000 pairs do not suffice.
    std::optional<std::uint64_t> pairs_to_decide = {};
    /// For a row that no number of runs of the candidate decides beside a stored baseline: the stored runs of
    /// the present length that would decide it together with the largest number of runs of the candidate, if
    /// shift and spread stay. Absent if 200 do not suffice.
    std::optional<std::uint64_t> stored_to_decide = {};

    bool operator==(const GateRow&) const = default;

    /// Returns whether the gate cannot pass because this row is undecided. A row that may stay undecided
    /// keeps it open if its whole 95 % interval is beyond the limit.
    bool keeps_open() const {
        const bool is_worse = ci95 && ci95->low > limit;
        return verdict == GateVerdict::inconclusive && (is_worse || !may_stay_undecided);
    }
};

/// The variation of a metric between sessions (days and hosts) in the baseline and earlier ones. It widens
/// the intervals in the designs GateDesign::two_sets and stored, unless all runs are of one session.
struct DaySpread {
    double deviation = 0;  ///< standard deviation between sessions (variance_between())
    std::size_t days = 0;  ///< number of sessions

    bool operator==(const DaySpread&) const = default;
};

/// The runs that are compared. In the design of pairs, run i of one side belongs to run i of the other.
struct GateInput {
    std::vector<GateRun> baseline;
    std::vector<GateRun> candidate;
    GateDesign design = GateDesign::pairs;
    /// The looks, which are fixed before the first pair. A look is taken only if there are enough pairs.
    std::vector<Look> looks = {};
    std::map<std::string, DaySpread> day_spread = {};  ///< metric → spread
};

struct CheckItem {
    std::string what;       ///< name of the fact: "KV cache in use, p95"
    bool shown = false;     ///< whether the candidate's runs show it
    std::string text = {};  ///< value in the candidate's runs, or the command that would show it

    bool operator==(const CheckItem&) const = default;
};

/// One run of a gate, with the values that were judged.
struct GateRunNote {
    bool of_candidate = false;
    std::string directory;
    std::string started_at;  ///< time in UTC
    Verdict verdict = Verdict::valid;
    std::map<std::string, double> values = {};  ///< metric → value; ∞ if it falls among failed requests

    bool operator==(const GateRunNote&) const = default;
};

struct GateReport {
    GateVerdict verdict = GateVerdict::inconclusive;
    std::string headline = {};  ///< result of headline_of(): the verdict in a line
    std::string why = {};       ///< result of why_of(): likely cause of the shifts; may be empty
    std::vector<GateRow> rows = {};
    std::vector<std::string> notes = {};  ///< facts that are needed to judge the verdict
    GateDesign design = GateDesign::pairs;
    /// Pairs at the last look: runs of the candidate if stored, else of the smaller side.
    std::uint64_t pairs = 0;
    std::vector<Look> looks = {};
    GatePolicy policy = {};
    std::string fingerprint = {};            ///< fingerprint of the workload that all runs have
    std::string baseline_name = {};          ///< directories, URL or command of the baseline
    std::string candidate_name = {};         ///< directories, URL or command of the candidate
    std::vector<Condition> conditions = {};  ///< conditions of both sides
    std::vector<CheckItem> checklist = {};   ///< checklist, if asked for (reports/analysis/gate/checklist.h)
    std::vector<GateRunNote> runs = {};      ///< runs of the baseline, then those of the candidate
    /// Mean time in seconds that a pair took, or a run of the candidate beside a stored baseline, with the
    /// starts of servers. Absent if nothing was measured, and in virtual time.
    std::optional<double> pair_s = {};

    bool operator==(const GateReport&) const = default;
};

/// Returns whether every metric is decided that must not stay undecided. Further pairs then have no use even
/// if the verdict is inconclusive: every run of the candidate must certify a limit by itself, so that only
/// longer runs can, and only a lower rate helps if the candidate does not keep up.
bool metrics_are_decided(const GateReport& report);

/// The number of runs of the candidate below which their spread is hardly known.
inline constexpr std::uint64_t kFewestForSpread = 6;

/// Returns the number of measured runs of the candidate, also before the first look, when `pairs` is still 0.
std::uint64_t runs_of_candidate(const GateReport& report);

/// Returns whether the candidate was compared with a stored baseline and no undecided metric would be decided
/// by further runs of the candidate, up to twice the largest number: the stored runs are too few for that.
bool more_runs_do_not_decide(const GateReport& report);

/// A GateRow::shift in percent of the baseline: 5 for a metric that is 5 % worse, so 5 % lower if higher is
/// better.
double percent_of(double shift, Better better);
/// The opposite: the shift of a share of the baseline by which a metric is worse; may be infinite.
double shift_of_share(double share, Better better);

/// "only a change of 12 % or more would have failed with this data"; without a figure above a tenfold change.
std::string detectable_text(double shift, Better better);

}  // namespace paretoken::reports
