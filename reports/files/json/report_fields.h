#pragma once
// The fields of report.json, which is only written.
#include "reports/analysis/model/report_model.h"
#include "reports/files/json/cache_fields.h"
#include "reports/files/json/run_fields.h"
#include "reports/files/json/sweep_fields.h"

namespace paretoken::reports {

template <class Archive>
void fields(Archive& a, Is<SourcedTerm> auto& v) {
    a("name", v.name);
    a("value", v.value);
    a("unit", v.unit);
    a("source", v.source);
}

template <class Archive>
void fields(Archive& a, Is<JobCost> auto& v) {
    a("mean", v.mean);
    a("p50", v.p50);
    a("p95", v.p95);
}

template <class Archive>
void fields(Archive& a, Is<PointCost> auto& v) {
    a("usd_per_m_output", v.usd_per_m_output);
    a("usd_per_h", v.usd_per_h);
    a("power", v.power);
    a("power_w", v.power_w);
    a("usd_per_m_output_ci95", v.usd_per_m_output_ci95);
    a("price_band", v.price_band);
    a("usd_per_m_total", v.usd_per_m_total);
    a("usd_per_m_input_split", v.usd_per_m_input_split);
    a("usd_per_m_cached_split", v.usd_per_m_cached_split);
    a("usd_per_m_output_split", v.usd_per_m_output_split);
    a("usd_per_m_goodput", v.usd_per_m_goodput);
    a("usd_per_job", v.per_job);
}

template <class Archive>
void fields(Archive& a, Is<GapPart> auto& v) {
    a("name", v.name);
    a("ms", v.ms);
    a("usd_per_m", v.usd_per_m);
    a("source", v.source);
    a("remedy", v.remedy);
}

template <class Archive>
void fields(Archive& a, Is<Gap> auto& v) {
    a("step_ms", v.step_ms);
    a("in_flight", v.in_flight);
    a("tokens_per_pass", v.tokens_per_pass);
    a("usd_per_m_output", v.usd_per_m_output);
    a("parts", v.parts);
    a("first_to_fix", v.first_to_fix);
}

template <class Archive>
void fields(Archive& a, Is<Utilisation> auto& v) {
    a("mfu", v.mfu);
    a("mfu_source", v.mfu_source);
    a("mbu", v.mbu);
    a("mbu_source", v.mbu_source);
}

template <class Archive>
void fields(Archive& a, Is<ReportPoint> auto& v) {
    a("directory", v.directory);
    a("load_label", v.load_label);
    a("load", v.load);
    a("open_loop", v.open_loop);
    a("interactivity_tok_per_s", v.interactivity);
    a("certified", v.certified);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("cost", v.cost);
    a("reported_usd_per_m_output", v.reported_usd_per_m_output);
    a("limit_output_tokens_per_s", v.limit_output_tokens_per_s);
    a("limit_interactivity_tok_per_s", v.limit_interactivity);
    a("of_limit", v.of_limit);
    a("limit_tolerance", v.limit_tolerance);
    a("utilisation", v.utilisation);
    a("gap", v.gap);
    a("on_front", v.on_front);
    a("within_noise", v.within_noise);
    a("on_own_front", v.on_own_front);
    a("why_not", v.why_not);
    a("run", v.result);
}

template <class Archive>
void fields(Archive& a, Is<Quality> auto& v) {
    a("score", v.score);
    a("n", v.n);
    a("ci95", v.ci95);
    a("source", v.source);
}

template <class Archive>
void fields(Archive& a, Is<FrontNote> auto& v) {
    a("x", v.x);
    a("y", v.y);
    a("separate", v.separate);
    a("anyway", v.anyway);
    a("over_time", v.over_time);
}

template <class Archive>
void fields(Archive& a, Is<LimitPoint> auto& v) {
    a("batch", v.batch);
    a("interactivity_tok_per_s", v.interactivity);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("usd_per_m_output", v.usd_per_m_output);
}

template <class Archive>
void fields(Archive& a, Is<Configuration> auto& v) {
    a("title", v.title);
    a("name", v.name);
    a("model", v.model);
    a("labels", v.labels);
    a("served", v.served);
    a("precision", v.precision);
    a("quality", v.quality);
    a("price_basis", v.price_basis);
    a("hardware", v.hardware);
    a("workload", v.workload);
    a("answer", v.answer);
    a("points", v.points);
    a("hard_limit", v.hard_limit);
    a("datasheet", v.datasheet);
    a("size_aware", v.size_aware);
    a("no_overlap", v.no_overlap);
    a("reachable", v.reachable);
    a("limit_terms", v.limit_terms);
    a("dropped_terms", v.dropped_terms);
    a("missing", v.missing);
    a("errors", v.errors);
}

template <class Archive>
void fields(Archive& a, Is<Estimate> auto& v) {
    a("point", v.point);
    a("load_label", v.load_label);
    a("of_limit", v.of_limit);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("interactivity_tok_per_s", v.interactivity);
    a("usd_per_m_output", v.usd_per_m_output);
}

template <class Archive>
void fields(Archive& a, Is<WhatIf> auto& v) {
    a("asked", v.asked);
    a("configuration", v.configuration);
    a("title", v.title);
    a("gpus", v.gpus);
    a("points", v.points);
    a("why_not", v.why_not);
}

template <class Archive>
void fields(Archive& a, Is<ApiLine> auto& v) {
    a("name", v.name);
    a("as_of", v.as_of);
    a("input", v.input);
    a("cached", v.cached);
    a("output", v.output);
    a("usd_per_m_at_mix", v.usd_per_m_at_mix);
    a("usd_per_m_with_writes", v.usd_per_m_with_writes);
    a("break_even_tokens_per_month", v.break_even_tokens_per_month);
    a("usd_per_job", v.per_job);
}

template <class Archive>
void fields(Archive& a, Is<CostSheet> auto& v) {
    a("configuration", v.configuration);
    a("load_label", v.load_label);
    a("input_tokens", v.input_tokens);
    a("output_tokens", v.output_tokens);
    a("cached_share", v.hit);
    a("usd_per_m_total", v.usd_per_m_total);
    a("usd_per_month", v.usd_per_month);
    a("output_tokens_per_usd", v.output_tokens_per_usd);
    a("target_usd_per_m", v.target_usd_per_m);
    a("needed_output_tokens_per_s", v.needed_output_tokens_per_s);
    a("apis", v.apis);
}

template <class Archive>
void fields(Archive& a, Is<PriceNote> auto& v) {
    a("card", v.card);
    a("as_of", v.as_of);
    a("source", v.source);
    a("basis", v.basis);
    a("power", v.power);
    a("currency", v.currency);
    a("rates", v.rates);
}

template <class Archive>
void fields(Archive& a, Is<PicturePoint> auto& v) {
    a("x", v.x);
    a("y", v.y);
    a("valid", v.valid);
    a("row", v.row);
    a("note", v.note);
    a("interval", v.interval);
}

template <class Archive>
void fields(Archive& a, Is<PictureSeries> auto& v) {
    a("name", v.name);
    a("points", v.points);
    a.unless_empty("style", v.style);
}

template <class Archive>
void fields(Archive& a, Is<PictureLine> auto& v) {
    a("name", v.name);
    a("y", v.y);
}

template <class Archive>
void fields(Archive& a, Is<PictureMark> auto& v) {
    a("name", v.name);
    a("x", v.x);
}

template <class Archive>
void fields(Archive& a, Is<Picture> auto& v) {
    a("id", v.id);
    a("title", v.title);
    a("x_title", v.x_title);
    a("y_title", v.y_title);
    a("series", v.series);
    a("lines", v.lines);
    a("marks", v.marks);
    if (v.linear_x) a("linear_x", v.linear_x);
}

template <class Archive>
void fields(Archive& a, Is<LayerOperation> auto& v) {
    a("name", v.name);
    a("group", v.group);
    a("seconds", v.seconds);
}

template <class Archive>
void fields(Archive& a, Is<LayerStack> auto& v) {
    a("name", v.name);
    a("operations", v.operations);
    a("seconds", v.seconds);
    a("valid", v.valid);
}

template <class Archive>
void fields(Archive& a, Is<CeilingRow> auto& v) {
    a("name", v.name);
    a("value", v.value);
    a("unit", v.unit);
    a("valid", v.valid);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<DevicePicture> auto& v) {
    a("title", v.title);
    a("charts", v.pictures);
    a("layers", v.layers);
    a("ceilings", v.ceilings);
}

template <class Archive>
void fields(Archive& a, Is<SearchPicture> auto& v) {
    a("directory", v.directory);
    a("slos", v.slos);
    a("text", v.text);
    a("certify", v.certify);
    a("narrow", v.narrow);
    a("charts", v.pictures);
}

/// The charts are left out, because they show the same figures.
template <class Archive>
void fields(Archive& a, Is<CachePicture> auto& v) {
    a("directory", v.directory);
    fields(a, v.report);
}

template <class Archive>
void fields(Archive& a, Is<Choice> auto& v) {
    a("configuration", v.configuration);
    a("load_label", v.load_label);
    a("usd_per_m_output", v.usd_per_m_output);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("interactivity", v.interactivity);
    a("margins", v.margins);
    a("why_not", v.why_not);
    a("shown", v.shown);
    a("within", v.within);
    a("missed", v.missed);
    a("command", v.command);
}

template <class Archive>
void fields(Archive& a, Is<ChoiceTable> auto& v) {
    a("slos", v.slos);
    a("ranked", v.ranked);
}

template <class Archive>
void fields(Archive& a, Is<DemandRow> auto& v) {
    a("configuration", v.configuration);
    a("load_label", v.load_label);
    a("requests_per_s", v.requests_per_s);
    a("shown", v.shown);
    a("replicas", v.replicas);
    a("machines", v.machines);
    a("utilization", v.utilization);
    a("queues", v.queues);
    a("usd_per_month", v.usd_per_month);
    a("why_not", v.why_not);
}

template <class Archive>
void fields(Archive& a, Is<DemandTable> auto& v) {
    a("requests_per_s", v.asked.requests_per_s);
    a("target_utilization", v.asked.target_utilization);
    a("ranked", v.ranked);
}

template <class Archive>
void fields(Archive& a, Is<ReportModel> auto& v) {
    a("title", v.title);
    a("generated_at", v.generated_at);
    a("version", v.version);
    a("configurations", v.configurations);
    a("front", v.front);
    a("searches", v.searches);
    a("caches", v.caches);
    a("choice", v.choice);
    a("demand", v.demand);
    a("split_source", v.split_source);
    a("cost", v.cost);
    a("measurement_usd", v.measurement_usd);
    a("what_ifs", v.what_ifs);
    a("devices", v.devices);
    a("price", v.price);
    a("notes", v.notes);
}

}  // namespace paretoken::reports
