#pragma once
// The fields of gate.json, except for the policy and the arguments.
#include "reports/analysis/gate/decision.h"
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

template <class Archive>
void fields(Archive& a, Is<GateRow> auto& v) {
    a.required("metric", v.metric);
    a("title", v.title);
    a("unit", v.unit);
    a.required("verdict", v.verdict);
    a("tolerance", v.tolerance);
    a("floor", v.floor);
    a("points", v.points);
    a("baseline", v.baseline);
    a("candidate", v.candidate);
    a("shift", v.shift);
    a("shift_ci95", v.ci95);
    a("limit", v.limit);
    a("p_fail", v.p_fail);
    a("decided_at", v.decided_at);
    a("detectable_shift", v.detectable);
    a("pairs_to_decide", v.pairs_to_decide);
    a("samples", v.samples);
    a.unless_empty("reason", v.reason);
}

template <class Archive>
void fields(Archive& a, Is<Condition> auto& v) {
    a.required("name", v.name);
    a("baseline", v.baseline);
    a("candidate", v.candidate);
    a("differs", v.differs);
}

template <class Archive>
void fields(Archive& a, Is<CheckItem> auto& v) {
    a.required("what", v.what);
    a("shown", v.shown);
    a("text", v.text);
}

template <class Archive>
void fields(Archive& a, Is<GateRunNote> auto& v) {
    a("of_candidate", v.of_candidate);
    a.required("directory", v.directory);
    a("started_at", v.started_at);
    a("verdict", v.verdict);
    a("values", v.values);
}

template <class Archive>
void fields(Archive& a, Is<Look> auto& v) {
    a.required("pairs", v.pairs);
    a("alpha", v.alpha);
    a("beta", v.beta);
}

template <class Archive>
void fields(Archive& a, Is<GateReport> auto& v) {
    a.required("verdict", v.verdict);
    a.required("headline", v.headline);
    a("why", v.why);
    a("design", v.design);
    a("pairs", v.pairs);
    a("pair_s", v.pair_s);
    a("baseline", v.baseline_name);
    a("candidate", v.candidate_name);
    a("fingerprint", v.fingerprint);
    a.required("rows", v.rows);
    a("notes", v.notes);
    a("conditions", v.conditions);
    a("checklist", v.checklist);
    a("runs", v.runs);
    a("looks", v.looks);
}

}  // namespace paretoken::reports
