#pragma once
// The fields of sweep.json.
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/json/archive.h"

namespace paretoken::reports {

void fields(auto& a, Is<LimitedPercentile> auto& v) {
    a("value", v.value);
    a.required("limit", v.limit);
}

void fields(auto& a, Is<SweepPoint> auto& v) {
    a.required("directory", v.directory);
    a("load_label", v.load_label);
    a.required("load", v.load);
    PARETOKEN_FIELDS(a, v, cell, repeat);
    a.required("state", v.state);
    PARETOKEN_FIELDS(a, v, error, requests_per_s, output_tokens_per_s, interactivity_tok_per_s, goodput_per_s,
                     goodput_ratio, ttft_p50_s, ttft_p99_s, tpot_p50_s, itl_p50_s, itl_p99_s, acceptance,
                     cached_share, requests, failed, failures, verdict, slo, limits, note);
}

void fields(auto& a, Is<RepeatSpread> auto& v) {
    a.required("mean", v.mean);
    a("std", v.standard_deviation);
    a("ci95", v.ci95);
}

void fields(auto& a, Is<SweepRepeats> auto& v) {
    a("load_label", v.load_label);
    a.required("load", v.load);
    a("cell", v.cell);
    a.required("runs", v.runs);
    a("figures", v.figures);
}

void fields(auto& a, Is<SweepSearch> auto& v) {
    a.required("slo", v.slos);
    PARETOKEN_FIELDS(a, v, pass, within, within_text, certify, certify_minutes, fail, binding, runs);
    a("x_max", v.most_requests_per_s);
    a("c_star", v.saturation);
    PARETOKEN_FIELDS(a, v, elasticity, saturated_from, ended, narrow, at, of_saturation);
}

void fields(auto& a, Is<Crossing> auto& v) {
    a.required("load", v.load);
    PARETOKEN_FIELDS(a, v, low, high, below, above);
}

void fields(auto& a, Is<ComparedFigure> auto& v) {
    a.required("figure", v.figure);
    PARETOKEN_FIELDS(a, v, loads, crossings, better, lead);
}

void fields(auto& a, Is<ComparedCell> auto& v) {
    PARETOKEN_FIELDS(a, v, cell, figures, acceptance, cached);
}

void fields(auto& a, Is<SweepComparison> auto& v) {
    a.required("servers", v.servers);
    a("cells", v.cells);
}

void fields(auto& a, Is<SweepFile> auto& v) {
    a.required("axis", v.axis);
    PARETOKEN_FIELDS(a, v, started_at, command);
    PARETOKEN_FIELDS(a.required, v, options, points);
    PARETOKEN_FIELDS(a, v, repeats, search, comparison);
}

}  // namespace paretoken::reports
