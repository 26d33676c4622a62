#pragma once
// The fields of gate.json, except for the policy and the arguments.
#include "reports/analysis/gate/gate_report.h"
#include "reports/files/json/archive.h"

namespace paretoken::reports {

inline void enum_named(std::string_view name, std::optional<GateVerdict>& value) {
    for (const GateVerdict one : {GateVerdict::pass, GateVerdict::fail, GateVerdict::inconclusive})
        if (name_of(one) == name) value = one;
}
inline void enum_named(std::string_view name, std::optional<GateDesign>& value) {
    for (const GateDesign one :
         {GateDesign::pairs, GateDesign::two_sets, GateDesign::stored, GateDesign::within_runs})
        if (name_of(one) == name) value = one;
}

void fields(auto& a, Is<GateRow> auto& v) {
    a.required("metric", v.metric);
    PARETOKEN_FIELDS(a, v, title, unit);
    a.required("verdict", v.verdict);
    PARETOKEN_FIELDS(a, v, tolerance, floor, points, may_stay_undecided, baseline, candidate, shift);
    a("shift_ci95", v.ci95);
    a("shift_at_most", v.at_most);
    PARETOKEN_FIELDS(a, v, limit, p_fail, decided_at);
    a("detectable_shift", v.detectable);
    PARETOKEN_FIELDS(a, v, pairs_to_decide, stored_to_decide, samples);
    a.unless_empty("reason", v.reason);
}

void fields(auto& a, Is<Condition> auto& v) {
    a.required("name", v.name);
    PARETOKEN_FIELDS(a, v, baseline, candidate, differs);
}

void fields(auto& a, Is<CheckItem> auto& v) {
    a.required("what", v.what);
    PARETOKEN_FIELDS(a, v, shown, text);
}

void fields(auto& a, Is<GateRunNote> auto& v) {
    a("of_candidate", v.of_candidate);
    a.required("directory", v.directory);
    PARETOKEN_FIELDS(a, v, started_at, verdict, values);
}

void fields(auto& a, Is<Look> auto& v) {
    a.required("pairs", v.pairs);
    PARETOKEN_FIELDS(a, v, alpha, beta);
}

void fields(auto& a, Is<GateReport> auto& v) {
    PARETOKEN_FIELDS(a.required, v, verdict, headline);
    PARETOKEN_FIELDS(a, v, why, design, pairs, pair_s);
    a("baseline", v.baseline_name);
    a("candidate", v.candidate_name);
    a("fingerprint", v.fingerprint);
    a.required("rows", v.rows);
    PARETOKEN_FIELDS(a, v, notes, conditions, checklist, runs, looks);
}

}  // namespace paretoken::reports
