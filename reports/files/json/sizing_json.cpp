#include "reports/files/json/sizing_json.h"

#include <nlohmann/json.hpp>

#include "core/version.h"
#include "reports/analysis/plan/plan_words.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <class Value>
void put(OrderedJson& json, const char* key, const std::optional<Value>& value) {
    if (value) json[key] = *value;
}
void put(OrderedJson& json, const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
}

OrderedJson lengths_json(const PlannedLengths& lengths) {
    return {{"input", lengths.input},
            {"output", lengths.output},
            {"input_tokens_mean", lengths.input_mean},
            {"output_tokens_mean", lengths.output_mean},
            {"input_tokens_p99", lengths.input_p99},
            {"tokens_p50", lengths.total_p50},
            {"tokens_p99", lengths.total_p99},
            {"tokens_max", lengths.total_max}};
}

OrderedJson fit_json(const PlannedCell& cell) {
    const cards::Fit& fit = cell.fit;
    return {{"memory_bytes", cell.deployment.memory_bytes},
            {"memory_fraction", cell.deployment.memory_fraction},
            {"budget_bytes", fit.budget},
            {"weights_bytes", fit.weights},
            {"adapters_bytes", fit.adapters},
            {"draft_bytes", fit.draft},
            {"activations_bytes", fit.activations},
            {"runtime_bytes", fit.context},
            {"communication_bytes", fit.communication},
            {"headroom_bytes", fit.headroom},
            {"kv_bytes", fit.left},
            {"kv_bytes_per_token", cell.kv_bytes_per_token},
            {"kv_bytes_per_token_and_rank", fit.per_token},
            {"copies", fit.copies},
            {"blocks", fit.blocks},
            {"block_tokens", cell.deployment.block_tokens},
            {"max_num_seqs", cell.deployment.batch.sequences},
            {"max_num_batched_tokens", cell.deployment.batch.tokens}};
}

OrderedJson speed_json(const PlannedSpeed& speed) {
    OrderedJson json{{"load", speed.load},
                     {"requests_per_s", speed.requests_per_s},
                     {"output_tokens_per_s", speed.output_tokens_per_s}};
    put(json, "ttft_p50_s", speed.ttft_p50_s);
    put(json, "ttft_p99_s", speed.ttft_p99_s);
    put(json, "tpot_p50_s", speed.tpot_p50_s);
    put(json, "itl_p50_s", speed.itl_p50_s);
    put(json, "itl_p99_s", speed.itl_p99_s);
    put(json, "e2e_mean_s", speed.e2e_mean_s);
    put(json, "interactivity_tok_per_s", speed.interactivity_tok_per_s);
    put(json, "goodput_per_s", speed.goodput_per_s);
    put(json, "goodput_ratio", speed.goodput_ratio);
    json["shown"] = speed.shown;
    put(json, "binding", speed.binding);
    json["runs"] = speed.runs;
    return json;
}

OrderedJson host_cache_json(const PlannedHostCache& cache) {
    OrderedJson json{{"bytes", cache.bytes},
                     {"bytes_per_s", cache.bytes_per_s},
                     {"tokens", cache.tokens},
                     {"load_s", cache.load_s}};
    put(json, "compute_s", cache.compute_s);
    return json;
}

OrderedJson host_layers_json(const PlannedHostLayers& layers) {
    OrderedJson json{{"gpu_layers", layers.on_gpu},
                     {"gpu_bytes_read", layers.split.gpu_bytes},
                     {"host_bytes_read", layers.split.host_bytes},
                     {"host_bytes", layers.split.resident_on_host},
                     {"host_bytes_per_s", layers.bytes_per_s}};
    put(json, "least_s_per_token", layers.least_s);
    return json;
}

OrderedJson fleet_json(const PlannedFleet& fleet) {
    OrderedJson json{{"replicas", fleet.replicas}, {"gpus", fleet.gpus}, {"utilization", fleet.utilization}};
    put(json, "usd_per_month", fleet.usd_per_month);
    put(json, "usd_per_m_output", fleet.usd_per_m_output);
    return json;
}

OrderedJson staircase_json(const Staircase& stairs) {
    OrderedJson json{{"servers", stairs.servers},     {"reserved", stairs.reserved},
                     {"on_demand", stairs.on_demand}, {"on_demand_mean", stairs.on_demand_per_hour},
                     {"spot", stairs.spot},           {"spot_mean", stairs.spot_per_hour}};
    put(json, "usd_per_month", stairs.usd_per_month);
    put(json, "usd_of_peak_per_month", stairs.usd_of_peak_per_month);
    return json;
}

OrderedJson autoscaler_json(const ScaledServers& scaled, const std::string& cold_start_from) {
    const ScalingRule& rule = scaled.rule;
    OrderedJson json{{"in_flight_target", rule.in_flight_target},
                     {"least_servers", rule.least},
                     {"most_servers", rule.most},
                     {"cold_start_s", rule.cold_start_s},
                     {"cold_start_from", cold_start_from},
                     {"missed_share", scaled.missed},
                     {"idle_share", scaled.idle},
                     {"servers_mean", scaled.servers_per_hour},
                     {"servers_max", scaled.most_servers},
                     {"longest_wait_s", scaled.longest_wait_s}};
    put(json, "usd_per_month", scaled.usd_per_month);
    put(json, "kw", scaled.kw);
    return json;
}

OrderedJson cell_json(const DeploymentPlan& plan, const PlannedCell& cell) {
    OrderedJson json{{"gpu", cell.gpu},
                     {"weights", cell.weights},
                     {"kv", cell.kv},
                     {"tp", cell.deployment.tensor_parallel},
                     {"pp", cell.deployment.pipeline_parallel},
                     {"ep", cell.deployment.expert_parallel},
                     {"fits", cell.refused.empty()}};
    put(json, "refused", cell.refused);
    put(json, "nearest_change", cell.nearest);
    if (!cell.notes.empty()) json["notes"] = cell.notes;
    json["pool_tokens"] = cell.pool_tokens;
    json["sequences_at_once"] = {
        {"p50", cell.sequences_p50}, {"p99", cell.sequences_p99}, {"context", cell.sequences_context}};
    if (plan.sequences) json["tokens_per_sequence"] = cell.pool_tokens / *plan.sequences;
    json["memory"] = fit_json(cell);
    if (cell.host_cache) json["host_cache"] = host_cache_json(*cell.host_cache);
    if (cell.host_layers) json["host_layers"] = host_layers_json(*cell.host_layers);
    json["suggested"] = {{"max_model_len", cell.settings.max_model_len},
                         {"max_num_seqs", cell.settings.max_num_seqs},
                         {"max_num_batched_tokens", cell.settings.max_num_batched_tokens}};
    put(json, "profile", cell.profile);
    if (cell.speed) json["speed"] = speed_json(*cell.speed);
    put(json, "no_speed", cell.no_speed);
    put(json, "usd_per_h", cell.usd_per_h);
    put(json, "usd_per_m_output", cell.usd_per_m_output);
    if (cell.fleet) json["fleet"] = fleet_json(*cell.fleet);
    return json;
}

OrderedJson answer_json(const CostAnswer& answer) {
    OrderedJson json{{"question", answer.question->name}};
    for (const auto& [figure, formula] : answer.question->formulas) json["formulas"][figure] = formula;
    for (const auto& [name, number] : answer.inputs)
        json["inputs"][name] = {{"value", number.value}, {"source", number.source}};
    json["figures"] = answer.figures;
    put(json, "result", answer.result);
    put(json, "verdict", answer.verdict);
    return json;
}

}  // namespace

std::string cost_answer_json(const CostAnswer& answer) {
    OrderedJson json{{"schema", "paretoken/cost/1"}};
    json.update(answer_json(answer));
    return json.dump(2);
}

std::string sizing_json(const DeploymentPlan& plan) {
    OrderedJson json{{"schema", kSizingSchema}, {"version", version()},
                     {"estimated", true},       {"answer", answer_of(plan)},
                     {"model", plan.model},     {"engine", plan.engine},
                     {"context", plan.context}, {"lengths", lengths_json(plan.lengths)},
                     {"slos", plan.slos}};
    for (const auto& [name, input] : plan.inputs)
        json["inputs"][name] = {{"value", input.value}, {"source", input.source}};
    OrderedJson demand{{"target_utilization", plan.demand.target_utilization}};
    put(demand, "requests_per_s", plan.demand.requests_per_s);
    if (!plan.demand.hours.empty()) demand["requests_per_s_by_hour"] = plan.demand.hours;
    put(demand, "users", plan.demand.users);
    json["demand"] = std::move(demand);
    if (!plan.price_card.empty())
        json["prices"] = {{"card", plan.price_card},
                          {"as_of", plan.price_as_of},
                          {"basis", plan.price_basis},
                          {"earning_share", plan.earning_share}};
    json["cells"] = OrderedJson::array();
    for (const PlannedCell& cell : plan.cells) json["cells"].push_back(cell_json(plan, cell));
    put(json, "best", plan.best);
    if (plan.staircase) json["staircase"] = staircase_json(*plan.staircase);
    if (plan.autoscaled) json["autoscaler"] = autoscaler_json(*plan.autoscaled, plan.cold_start_from);
    for (const CostAnswer& decision : plan.decisions) json["decisions"].push_back(answer_json(decision));
    return json.dump(2);
}

}  // namespace paretoken::reports
