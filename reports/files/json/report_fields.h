#pragma once
// The fields of report.json, which is only written.
#include "reports/analysis/model/report_model.h"
#include "reports/files/json/cache_fields.h"
#include "reports/files/json/run_fields.h"
#include "reports/files/json/sweep_fields.h"

namespace paretoken::reports {

void fields(auto& a, Is<SourcedTerm> auto& v) {
    PARETOKEN_FIELDS(a, v, name, value, unit, source);
}

void fields(auto& a, Is<JobCost> auto& v) {
    PARETOKEN_FIELDS(a, v, mean, p50, p95);
}

void fields(auto& a, Is<PointCost> auto& v) {
    PARETOKEN_FIELDS(a, v, usd_per_m_output, usd_per_h, power, power_w, usd_per_m_output_ci95, price_band,
                     usd_per_m_total, usd_per_m_input_split, usd_per_m_cached_split, usd_per_m_output_split,
                     usd_per_m_goodput);
    a("usd_per_job", v.per_job);
}

void fields(auto& a, Is<GapPart> auto& v) {
    PARETOKEN_FIELDS(a, v, name, ms, usd_per_m, source, remedy);
}

void fields(auto& a, Is<Gap> auto& v) {
    PARETOKEN_FIELDS(a, v, step_ms, in_flight, tokens_per_pass, usd_per_m_output, parts, first_to_fix);
}

void fields(auto& a, Is<Utilisation> auto& v) {
    PARETOKEN_FIELDS(a, v, mfu, mfu_source, mbu, mbu_source);
}

void fields(auto& a, Is<ReportPoint> auto& v) {
    PARETOKEN_FIELDS(a, v, directory, load_label, load, open_loop);
    a("interactivity_tok_per_s", v.interactivity);
    PARETOKEN_FIELDS(a, v, certified, output_tokens_per_s, cost, reported_usd_per_m_output,
                     limit_output_tokens_per_s);
    a("limit_interactivity_tok_per_s", v.limit_interactivity);
    PARETOKEN_FIELDS(a, v, of_limit, limit_tolerance, utilisation, gap, on_front, within_noise, on_own_front,
                     why_not);
    a("run", v.result);
}

void fields(auto& a, Is<Quality> auto& v) {
    PARETOKEN_FIELDS(a, v, score, n, ci95, source);
}

void fields(auto& a, Is<FrontNote> auto& v) {
    PARETOKEN_FIELDS(a, v, x, y, separate, anyway, over_time);
}

void fields(auto& a, Is<LimitPoint> auto& v) {
    a("batch", v.batch);
    a("interactivity_tok_per_s", v.interactivity);
    PARETOKEN_FIELDS(a, v, output_tokens_per_s, usd_per_m_output);
}

void fields(auto& a, Is<Configuration> auto& v) {
    PARETOKEN_FIELDS(a, v, title, name, model, labels, served, precision, quality, price_basis, hardware,
                     workload, answer, points, hard_limit, datasheet, size_aware, no_overlap, reachable,
                     limit_terms, dropped_terms, missing, errors);
}

void fields(auto& a, Is<Estimate> auto& v) {
    PARETOKEN_FIELDS(a, v, point, load_label, of_limit, output_tokens_per_s, simulated, keeps_up);
    a("interactivity_tok_per_s", v.interactivity);
    a("usd_per_m_output", v.usd_per_m_output);
}

void fields(auto& a, Is<WhatIf> auto& v) {
    PARETOKEN_FIELDS(a, v, asked, configuration, title, gpus, points, why_not);
}

void fields(auto& a, Is<ApiLine> auto& v) {
    PARETOKEN_FIELDS(a, v, name, as_of, input, cached, output, usd_per_m_at_mix, usd_per_m_with_writes,
                     break_even_tokens_per_month);
    a("usd_per_job", v.per_job);
}

void fields(auto& a, Is<CostSheet> auto& v) {
    PARETOKEN_FIELDS(a, v, configuration, load_label, input_tokens, output_tokens);
    a("cached_share", v.hit);
    PARETOKEN_FIELDS(a, v, usd_per_m_total, usd_per_month, output_tokens_per_usd, target_usd_per_m,
                     needed_output_tokens_per_s, apis);
}

void fields(auto& a, Is<PriceNote> auto& v) {
    PARETOKEN_FIELDS(a, v, card, as_of, source, basis, power, currency, rates);
}

void fields(auto& a, Is<PicturePoint> auto& v) {
    PARETOKEN_FIELDS(a, v, x, y, valid, row, note, interval);
}

void fields(auto& a, Is<PictureSeries> auto& v) {
    PARETOKEN_FIELDS(a, v, name, points);
    a.unless_empty("style", v.style);
}

void fields(auto& a, Is<PictureLine> auto& v) {
    PARETOKEN_FIELDS(a, v, name, y);
}

void fields(auto& a, Is<PictureMark> auto& v) {
    PARETOKEN_FIELDS(a, v, name, x);
}

void fields(auto& a, Is<Picture> auto& v) {
    PARETOKEN_FIELDS(a, v, id, title, x_title, y_title, series, lines, marks);
    if (v.linear_x) a("linear_x", v.linear_x);
}

void fields(auto& a, Is<LayerOperation> auto& v) {
    PARETOKEN_FIELDS(a, v, name, group, seconds);
}

void fields(auto& a, Is<LayerStack> auto& v) {
    PARETOKEN_FIELDS(a, v, name, operations, seconds, valid);
}

void fields(auto& a, Is<CeilingRow> auto& v) {
    PARETOKEN_FIELDS(a, v, name, value, unit, valid, note);
}

void fields(auto& a, Is<DevicePicture> auto& v) {
    a("title", v.title);
    a("charts", v.pictures);
    PARETOKEN_FIELDS(a, v, layers, ceilings);
}

void fields(auto& a, Is<SearchPicture> auto& v) {
    PARETOKEN_FIELDS(a, v, directory, slos, text, certify, narrow);
    a("charts", v.pictures);
}

/// The charts are left out, because they show the same figures.
void fields(auto& a, Is<CachePicture> auto& v) {
    a("directory", v.directory);
    fields(a, v.report);
}

void fields(auto& a, Is<Choice> auto& v) {
    PARETOKEN_FIELDS(a, v, configuration, load_label, usd_per_m_output, output_tokens_per_s, interactivity,
                     margins, why_not, shown, within, missed, worse_than, command);
}

void fields(auto& a, Is<ChoiceTable> auto& v) {
    PARETOKEN_FIELDS(a, v, slos, ranked);
}

void fields(auto& a, Is<DemandRow> auto& v) {
    PARETOKEN_FIELDS(a, v, configuration, load_label, requests_per_s, requests_per_s_ci95, shown, replicas,
                     most_replicas, machines, utilization, queues, usd_per_month, why_not);
}

void fields(auto& a, Is<DemandTable> auto& v) {
    a("requests_per_s", v.asked.requests_per_s);
    a("target_utilization", v.asked.target_utilization);
    a("ranked", v.ranked);
}

void fields(auto& a, Is<ReportModel> auto& v) {
    PARETOKEN_FIELDS(a, v, title, generated_at, version, configurations, front, searches, caches, choice,
                     demand, split_source, cost, measurement_usd, what_ifs, devices, price, notes);
}

}  // namespace paretoken::reports
