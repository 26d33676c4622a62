#include "reports/files/cache_file.h"

#include <nlohmann/json.hpp>

#include "core/version.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Interval& interval) {
    return Json::array({interval.low, interval.high});
}

/// Leaves out what is not known.
template <class Value>
void put(Json& object, const char* key, const std::optional<Value>& value) {
    if (!value) return;
    if constexpr (std::is_same_v<Value, Interval>)
        object[key] = json_of(*value);
    else
        object[key] = *value;
}

Json json_of(const CacheHits& hits) {
    Json object = Json::object();
    put(object, "expected", hits.expected);
    put(object, "usage", hits.usage);
    put(object, "server", hits.server);
    return object;
}

Json json_of(const CacheArm& arm) {
    Json object = {{"arm", arm.arm}, {"prefix", arm.prefix}};
    if (arm.arm == "shared") object["hit_ratio"] = arm.hit;
    object["n"] = arm.n;
    object["failed"] = arm.failed;
    put(object, "prompt_tokens", arm.prompt_tokens);
    put(object, "ttft_p50_s", arm.ttft_p50_s);
    put(object, "ttft_p50_ci95", arm.ttft_p50_ci95);
    put(object, "ttft_p95_s", arm.ttft_p95_s);
    object["hit"] = json_of(arm.hits);
    put(object, "p_value", arm.p_value);
    object["differs_from_cold"] = arm.differs;
    put(object, "output_tokens_per_s", arm.output_tokens_per_s);
    put(object, "usd_per_m_output", arm.usd_per_m_output);
    return object;
}

Json json_of(const FitTerm& term) {
    return {{"value", term.value}, {"ci95", json_of(term.ci95)}};
}

Json json_of(const TtftFit& fit) {
    Json object = {{"n", fit.n}, {"base_s", json_of(fit.base_s)}, {"per_token_s", json_of(fit.per_token_s)}};
    if (fit.per_token2_s) object["per_token2_s"] = json_of(*fit.per_token2_s);
    return object;
}

Json json_of(const CacheLevel& level) {
    Json object = {{"concurrency", level.concurrency}, {"directory", level.directory}};
    if (!level.invalid.empty()) object["invalid"] = level.invalid;
    object["hit"] = json_of(level.hits);
    if (level.fit) object["fit"] = json_of(*level.fit);
    put(object, "saved_ms_per_1k_cached", level.saved_ms_per_1k_cached);
    put(object, "output_tokens_per_s", level.output_tokens_per_s);
    object["arms"] = Json::array();
    for (const CacheArm& arm : level.arms) object["arms"].push_back(json_of(arm));
    return object;
}

Json json_of(const WorkingSet& set) {
    Json object = {
        {"prefix_tokens", set.prefix_tokens}, {"request_tokens", set.request_tokens}, {"held", set.held}};
    put(object, "lost", set.lost);
    object["found"] = Json::array();
    for (const auto& [prefixes, share] : set.found)
        object["found"].push_back({{"prefixes", prefixes}, {"share", share}});
    return object;
}

Json json_of(const IdleTime& time) {
    Json object = Json::object();
    put(object, "held_s", time.held_s);
    put(object, "lost_s", time.lost_s);
    object["found"] = Json::array();
    for (const auto& [gap, share] : time.found)
        object["found"].push_back({{"idle_s", gap}, {"share", share}});
    return object;
}

Json json_of(const CacheBurst& burst) {
    Json object = {{"rate", burst.rate}, {"prefixes", burst.prefixes}};
    put(object, "before", burst.before);
    put(object, "during", burst.during);
    put(object, "after", burst.after);
    return object;
}

}  // namespace

std::string cache_json(const CacheReport& report) {
    Json root = {{"schema", kCacheSchema},
                 {"version", version()},
                 {"target", report.target},
                 {"model", report.model},
                 {"engine", report.engine}};
    put(root, "granularity_tokens", report.granularity_tokens);
    put(root, "least_cached_prefix", report.least_cached_prefix);
    if (report.working_set) root["working_set"] = json_of(*report.working_set);
    if (report.idle_time) root["idle_time"] = json_of(*report.idle_time);
    if (report.burst) root["burst"] = json_of(*report.burst);
    if (!report.price.empty()) root["price"] = report.price;
    root["verdicts"] = Json::array();
    for (const CacheVerdict& verdict : report.verdicts)
        root["verdicts"].push_back(
            {{"code", verdict.code}, {"text", verdict.text}, {"evidence", verdict.evidence}});
    root["levels"] = Json::array();
    for (const CacheLevel& level : report.levels) root["levels"].push_back(json_of(level));
    return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
