#pragma once
// The fields of cache.json.
#include "reports/analysis/cache/analysis.h"
#include "reports/files/json/archive.h"

namespace paretoken::reports {

template <class Archive>
void fields(Archive& a, Is<CacheHits> auto& v) {
    a("expected", v.expected);
    a("usage", v.usage);
    a("server", v.server);
}

template <class Archive>
void fields(Archive& a, Is<CacheArm> auto& v) {
    a.required("arm", v.arm);
    a.required("prefix", v.prefix);
    if (v.arm == "shared") a("hit_ratio", v.hit);
    a.required("n", v.n);
    a("failed", v.failed);
    a("prompt_tokens", v.prompt_tokens);
    a("ttft_p50_s", v.ttft_p50_s);
    a("ttft_p50_ci95", v.ttft_p50_ci95);
    a("ttft_p95_s", v.ttft_p95_s);
    a("hit", v.hits);
    a("p_value", v.p_value);
    a("differs_from_cold", v.differs);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("usd_per_m_output", v.usd_per_m_output);
}

template <class Archive>
void fields(Archive& a, Is<FitTerm> auto& v) {
    a.required("value", v.value);
    a.required("ci95", v.ci95);
}

template <class Archive>
void fields(Archive& a, Is<TtftFit> auto& v) {
    a.required("n", v.n);
    a.required("base_s", v.base_s);
    a.required("per_token_s", v.per_token_s);
    a("per_token2_s", v.per_token2_s);
}

template <class Archive>
void fields(Archive& a, Is<CacheLevel> auto& v) {
    a.required("concurrency", v.concurrency);
    a("directory", v.directory);
    a.unless_empty("invalid", v.invalid);
    a("hit", v.hits);
    a("fit", v.fit);
    a("saved_ms_per_1k_cached", v.saved_ms_per_1k_cached);
    a("saved_ms_per_1k_cached_ci95", v.saved_ms_per_1k_cached_ci95);
    a("saved_prompt_tokens", v.saved_prompt_tokens);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a.required("arms", v.arms);
}

template <class Archive>
void fields(Archive& a, Is<WorkingSet> auto& v) {
    a.required("prefix_tokens", v.prefix_tokens);
    a.required("request_tokens", v.request_tokens);
    a.required("held", v.held);
    a("lost", v.lost);
    a.pairs("found", "prefixes", "share", v.found);
}

template <class Archive>
void fields(Archive& a, Is<IdleTime> auto& v) {
    a("held_s", v.held_s);
    a("lost_s", v.lost_s);
    a.pairs("found", "idle_s", "share", v.found);
}

template <class Archive>
void fields(Archive& a, Is<CacheBurst> auto& v) {
    a.required("rate", v.rate);
    a.required("prefixes", v.prefixes);
    a("before", v.before);
    a("during", v.during);
    a("after", v.after);
}

template <class Archive>
void fields(Archive& a, Is<CacheVerdict> auto& v) {
    a.required("code", v.code);
    a.required("text", v.text);
    a("evidence", v.evidence);
}

template <class Archive>
void fields(Archive& a, Is<CacheReport> auto& v) {
    a.required("target", v.target);
    a("model", v.model);
    a("engine", v.engine);
    a("granularity_tokens", v.granularity_tokens);
    a("least_cached_prefix", v.least_cached_prefix);
    a("working_set", v.working_set);
    a("idle_time", v.idle_time);
    a("burst", v.burst);
    a.unless_empty("price", v.price);
    a.required("verdicts", v.verdicts);
    a.required("levels", v.levels);
}

}  // namespace paretoken::reports
