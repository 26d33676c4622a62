#pragma once
// The fields of cache.json.
#include "reports/analysis/cache/analysis.h"
#include "reports/files/json/archive.h"

namespace paretoken::reports {

void fields(auto& a, Is<CacheHits> auto& v) {
    PARETOKEN_FIELDS(a, v, expected, usage, server);
}

void fields(auto& a, Is<CacheArm> auto& v) {
    PARETOKEN_FIELDS(a.required, v, arm, prefix);
    if (v.arm == "shared") a("hit_ratio", v.hit);
    a.required("n", v.n);
    PARETOKEN_FIELDS(a, v, failed, prompt_tokens, ttft_p50_s, ttft_p50_ci95, ttft_p95_s);
    a("hit", v.hits);
    a("p_value", v.p_value);
    a("differs_from_cold", v.differs);
    PARETOKEN_FIELDS(a, v, output_tokens_per_s, usd_per_m_output);
}

void fields(auto& a, Is<FitTerm> auto& v) {
    PARETOKEN_FIELDS(a.required, v, value, ci95);
}

void fields(auto& a, Is<TtftFit> auto& v) {
    PARETOKEN_FIELDS(a.required, v, n, base_s, per_token_s);
    a("per_token2_s", v.per_token2_s);
}

void fields(auto& a, Is<CacheLevel> auto& v) {
    a.required("concurrency", v.concurrency);
    a("directory", v.directory);
    a.unless_empty("invalid", v.invalid);
    a("hit", v.hits);
    PARETOKEN_FIELDS(a, v, fit, saved_ms_per_1k_cached, saved_ms_per_1k_cached_ci95, saved_prompt_tokens,
                     output_tokens_per_s);
    a.required("arms", v.arms);
}

void fields(auto& a, Is<WorkingSet> auto& v) {
    PARETOKEN_FIELDS(a.required, v, prefix_tokens, request_tokens, held);
    a("lost", v.lost);
    a.pairs("found", "prefixes", "share", v.found);
}

void fields(auto& a, Is<IdleTime> auto& v) {
    PARETOKEN_FIELDS(a, v, held_s, lost_s);
    a.pairs("found", "idle_s", "share", v.found);
}

void fields(auto& a, Is<CacheBurst> auto& v) {
    PARETOKEN_FIELDS(a.required, v, rate, prefixes);
    PARETOKEN_FIELDS(a, v, before, during, after);
}

void fields(auto& a, Is<CacheVerdict> auto& v) {
    PARETOKEN_FIELDS(a.required, v, code, text);
    a("evidence", v.evidence);
}

void fields(auto& a, Is<CacheReport> auto& v) {
    a.required("target", v.target);
    PARETOKEN_FIELDS(a, v, model, engine, granularity_tokens, least_cached_prefix, working_set, idle_time,
                     burst);
    a.unless_empty("price", v.price);
    PARETOKEN_FIELDS(a.required, v, verdicts, levels);
}

}  // namespace paretoken::reports
