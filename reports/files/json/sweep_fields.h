#pragma once
// The fields of sweep.json.
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/json/archive.h"

namespace paretoken::reports {

template <class Archive>
void fields(Archive& a, Is<SweepPoint> auto& v) {
    a.required("directory", v.directory);
    a("load_label", v.load_label);
    a.required("load", v.load);
    a("cell", v.cell);
    a("repeat", v.repeat);
    a.required("state", v.state);
    a("error", v.error);
    a("requests_per_s", v.requests_per_s);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("interactivity_tok_per_s", v.interactivity_tok_per_s);
    a("ttft_p50_s", v.ttft_p50_s);
    a("ttft_p99_s", v.ttft_p99_s);
    a("tpot_p50_s", v.tpot_p50_s);
    a("itl_p50_s", v.itl_p50_s);
    a("itl_p99_s", v.itl_p99_s);
    a("acceptance", v.acceptance);
    a("cached_share", v.cached_share);
    a("requests", v.requests);
    a("failed", v.failed);
    a("verdict", v.verdict);
    a("slo", v.slo);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<RepeatSpread> auto& v) {
    a.required("mean", v.mean);
    a("std", v.standard_deviation);
    a("ci95", v.ci95);
}

template <class Archive>
void fields(Archive& a, Is<SweepRepeats> auto& v) {
    a("load_label", v.load_label);
    a.required("load", v.load);
    a("cell", v.cell);
    a.required("runs", v.runs);
    a("figures", v.figures);
}

template <class Archive>
void fields(Archive& a, Is<SweepSearch> auto& v) {
    a.required("slo", v.slos);
    a("pass", v.pass);
    a("within", v.within);
    a("within_text", v.within_text);
    a("certify", v.certify);
    a("certify_minutes", v.certify_minutes);
    a("fail", v.fail);
    a("binding", v.binding);
    a("runs", v.runs);
    a("x_max", v.most_requests_per_s);
    a("c_star", v.saturation);
    a("elasticity", v.elasticity);
    a("ended", v.ended);
    a("narrow", v.narrow);
    a("at", v.at);
    a("of_saturation", v.of_saturation);
}

template <class Archive>
void fields(Archive& a, Is<Crossing> auto& v) {
    a.required("load", v.load);
    a("low", v.low);
    a("high", v.high);
    a("below", v.below);
    a("above", v.above);
}

template <class Archive>
void fields(Archive& a, Is<ComparedFigure> auto& v) {
    a.required("figure", v.figure);
    a("loads", v.loads);
    a("crossings", v.crossings);
    a("better", v.better);
}

template <class Archive>
void fields(Archive& a, Is<ComparedCell> auto& v) {
    a("cell", v.cell);
    a("figures", v.figures);
    a("acceptance", v.acceptance);
    a("cached", v.cached);
}

template <class Archive>
void fields(Archive& a, Is<SweepComparison> auto& v) {
    a.required("servers", v.servers);
    a("cells", v.cells);
}

template <class Archive>
void fields(Archive& a, Is<SweepFile> auto& v) {
    a.required("axis", v.axis);
    a("started_at", v.started_at);
    a("command", v.command);
    a.required("options", v.options);
    a.required("points", v.points);
    a("repeats", v.repeats);
    a("search", v.search);
    a("comparison", v.comparison);
}

}  // namespace paretoken::reports
