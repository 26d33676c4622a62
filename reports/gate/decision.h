#pragma once
// From two sets of runs to a verdict: pass, fail or inconclusive, with the interval of every metric, what
// this data could have seen, and what would decide. The rule is docs/gate.md's. Pure.
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
#include "reports/files/probe_file.h"
#include "reports/gate/answers.h"
#include "reports/gate/policy.h"
#include "reports/gate/same_work.h"

namespace paretoken::reports {

enum class GateVerdict : std::uint8_t { pass, fail, inconclusive };
std::string_view name_of(GateVerdict verdict);

/// One finished run as a gate needs it.
struct GateRun {
    std::string directory;
    RunResult result;
    std::map<std::string, std::uint64_t> finish_reasons;  ///< of answers that came well
    AnswerFaults answers = {};                            ///< of the texts that were kept
    std::vector<ProbeAnswer> probe = {};                  ///< where questions were asked after the load
};

/// How the evidence was gathered, which decides what the intervals can hold.
enum class GateDesign : std::uint8_t {
    pairs,       ///< run i of one side stands beside run i of the other: drift falls out
    two_sets,    ///< each side on its own: drift between them cannot be told from a difference
    within_runs  ///< one run a side, by its blocks of time: what differs from run to run is not seen
};

/// One metric of the policy.
struct GateRow {
    std::string metric;
    std::string title;
    std::string unit;
    double tolerance = 0;
    double floor = 0;
    bool points = false;                   ///< a share: tolerance, shift and limit are differences of shares
    std::optional<double> baseline = {};   ///< typical value (geometric mean), or a share
    std::optional<double> candidate = {};  ///< the same
    std::optional<double> shift = {};   ///< ln(candidate ÷ baseline), positive: worse; of shares: difference
    std::optional<Interval> ci95 = {};  ///< of the shift, were it looked at once
    double limit = 0;           ///< what the shift is held against: the tolerance or the floor, as a shift
    std::uint64_t samples = 0;  ///< requests or questions behind a share, of the candidate
    double p_fail = 1;
    GateVerdict verdict = GateVerdict::inconclusive;
    std::uint64_t decided_at = 0;           ///< pairs of the look that decided it; 0: undecided
    std::string reason = {};                ///< where the interval alone does not tell
    std::optional<double> detectable = {};  ///< the smallest shift beyond the limit that this data could see
    std::optional<std::uint64_t> pairs_to_decide = {};

    bool operator==(const GateRow&) const = default;
};

/// How much a metric differs from one day to the next, as earlier baselines show it.
struct DaySpread {
    double deviation = 0;  ///< standard deviation of the days' mean logarithms
    std::size_t days = 0;

    bool operator==(const DaySpread&) const = default;
};

struct GateInput {
    std::vector<GateRun> baseline;
    std::vector<GateRun> candidate;
    GateDesign design = GateDesign::pairs;
    /// Fixed before the first pair. Only looks that enough pairs are there for are taken.
    std::vector<Look> looks;
    std::map<std::string, DaySpread> day_spread = {};  ///< by metric; widens the intervals of two sets
};

/// Something that should be known before a rollout.
struct CheckItem {
    std::string what;  ///< "KV cache in use, p95"
    bool shown = false;
    std::string text = {};  ///< what the candidate's runs show; else the command that would show it

    bool operator==(const CheckItem&) const = default;
};

struct GateReport {
    GateVerdict verdict = GateVerdict::inconclusive;
    std::string headline = {};  ///< what moved, by how much, and what to do next
    std::string why = {};       ///< what the moved metrics point to; may be empty
    std::vector<GateRow> rows = {};
    std::vector<std::string> notes = {};  ///< what must be known to judge the verdict
    GateDesign design = GateDesign::pairs;
    std::uint64_t pairs = 0;  ///< that the last look was taken at; runs of the smaller side in other designs
    std::vector<Look> looks = {};
    GatePolicy policy = {};
    std::string fingerprint = {};
    std::string baseline_name = {};  ///< directories, a URL or a command
    std::string candidate_name = {};
    std::vector<CheckItem> checklist = {};  ///< where it was asked for (reports/gate/checklist.h)
};

/// Looks of pairs up to the policy's most; one look for runs that were measured already.
std::vector<Look> looks_of(const GatePolicy& policy);
std::vector<Look> one_look(const GatePolicy& policy, std::uint64_t pairs);

/// Throws UsageError where the runs did not do the same work, naming both directories and what differs; Error
/// with ExitCode::measurement_invalid naming an invalid run and why. A candidate's run that is invalid only
/// because its requests failed is evidence, and stays.
void require_comparable(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                        const std::set<Across>& across);

/// Why a run cannot be used; empty when it can. The candidate's failed requests are what a gate is about.
std::string why_unusable(const RunResult& run, bool is_candidate);

/// The verdict on runs that are comparable. `input` holds as many runs of each side as there are pairs, where
/// they are pairs. Throws UsageError where the policy names a class that no run has.
GateReport decided(const GatePolicy& policy, const GateInput& input);

/// exp(shift) − 1, in percent: 5 of a metric that is 5 % worse.
double percent_of(double shift);

}  // namespace paretoken::reports
