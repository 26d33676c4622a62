#include "reports/analysis/plan/plan_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace paretoken::reports {
namespace {

constexpr double kGibOfPlan = 1024.0 * 1024 * 1024;
constexpr double kMilliseconds = 1e3;
constexpr double kPercent = 100;
constexpr double kGigabyte = 1e9;

std::string gib(double bytes) {
    return fmt::format("{:.2f}", bytes / kGibOfPlan);
}

std::string whole_number(double value) {
    return grouped(static_cast<std::uint64_t>(std::max(0.0, value)));
}

std::string load_text(const DeploymentPlan& plan, const PlannedSpeed& speed) {
    return plan.demand.users ? fmt::format("{} users", whole_number(speed.load))
                             : fmt::format("{} req/s", significant(speed.load));
}

std::string demand_text(const Demand& demand) {
    if (demand.users) return fmt::format("{} users", whole_number(*demand.users));
    return fmt::format(
        "{} req/s{}", significant(*demand.requests_per_s),
        demand.hours.empty() ? "" : fmt::format(" (busiest of {} hours)", demand.hours.size()));
}

/// ", serving in 45 % of the paid time"; empty if that is always.
std::string serving_text(const DeploymentPlan& plan) {
    return plan.earning_share < 1
               ? fmt::format(", serving in {} % of the paid time", significant(100 * plan.earning_share))
               : "";
}

/// How a server divides the model beside tensor parallelism: ", PP 2, EP 8"; usually empty.
std::string division_of(const PlannedCell& cell) {
    std::string text;
    if (const auto stages = cell.deployment.pipeline_parallel; stages > 1)
        text += fmt::format(", PP {}", stages);
    if (const auto experts = cell.deployment.expert_parallel; experts > 1)
        text += fmt::format(", EP {}", experts);
    return text;
}

}  // namespace

std::string reason_without_best(const DeploymentPlan& plan) {
    if (plan.cells.empty()) return "nothing to plan";
    return fmt::format("nothing carries this: on {}, {}", name_of_cell(plan.cells.front()),
                       remark_on(plan.cells.front()));
}

namespace {

/// "1 server", "3 servers", "1 to 3 servers"
std::string servers_text(double count, std::optional<double> most = std::nullopt) {
    const auto text = [](double value) {
        return value == std::floor(value) ? fmt::format("{:.0f}", value) : significant(value);
    };
    const std::string range = most && *most != count ? " to " + text(*most) : "";
    return fmt::format("{}{} server{}", text(count), range, most.value_or(count) == 1 ? "" : "s");
}

std::string fleet_answer(const DeploymentPlan& plan, const PlannedCell& cell) {
    const PlannedFleet& fleet = *cell.fleet;
    std::string bill = fleet.usd_per_month ? fmt::format("${} per month", dollars(*fleet.usd_per_month))
                                           : std::string("no price is known");
    std::string text =
        fmt::format("{} × {}, {} weights, {} cache: {} for {}, {:.0f} % utilized", fleet.gpus, cell.gpu,
                    cell.weights, cell.kv, bill, demand_text(plan.demand), 100 * fleet.utilization);
    if (cell.gpus() > 1)
        text +=
            fmt::format(", {} of {} GPUs{}", servers_text(fleet.replicas), cell.gpus(), division_of(cell));
    if (fleet.usd_per_m_output)
        text += fmt::format(", ${} per M output tokens", dollars(*fleet.usd_per_m_output));
    return text + serving_text(plan);
}

std::string cell_answer(const DeploymentPlan& plan, const PlannedCell& cell) {
    std::string text = fmt::format("{} × {}{}, {} weights, {} cache: ", cell.gpus(), cell.gpu,
                                   division_of(cell), cell.weights, cell.kv);
    if (cell.speed) {
        text += fmt::format("{} within the limits, {} output tok/s", load_text(plan, *cell.speed),
                            significant(cell.speed->output_tokens_per_s));
        if (cell.usd_per_h) text += fmt::format(", ${} per hour", dollars(*cell.usd_per_h));
        if (cell.usd_per_m_output)
            text += fmt::format(", ${} per M output tokens", dollars(*cell.usd_per_m_output));
        return text + serving_text(plan);
    }
    text += fmt::format("{} tokens of KV cache, {} requests of {} tokens (p99) at once",
                        whole_number(cell.pool_tokens), grouped(cell.sequences_p99),
                        whole_number(plan.lengths.total_p99));
    if (cell.usd_per_h) text += fmt::format(", ${} per hour", dollars(*cell.usd_per_h));
    return text;
}

const PlannedCell& shown_cell(const DeploymentPlan& plan) {
    return plan.cells.at(plan.best.value_or(0));
}

}  // namespace

std::string answer_of(const DeploymentPlan& plan) {
    if (!plan.best) return reason_without_best(plan);
    const PlannedCell& cell = plan.cells[*plan.best];
    return cell.fleet ? fleet_answer(plan, cell) : cell_answer(plan, cell);
}

std::string caution_on(const DeploymentPlan& plan) {
    constexpr double kMostUsed = .85;
    if (!plan.best || !plan.cells[*plan.best].fleet || !plan.cells[*plan.best].speed) return "";
    const PlannedCell& cell = plan.cells[*plan.best];
    PlannedSpeed all = *cell.speed;
    all.load *= static_cast<double>(cell.fleet->replicas);
    const double used = plan.demand.requests_per_s.value_or(plan.demand.users.value_or(0)) / all.load;
    if (!(used > kMostUsed)) return "";
    return fmt::format(
        "The demand is {:.0f} % of the {} that these servers carry within the limits, which leaves little "
        "for a busier minute or a server that fails; --target-utilization .7 plans a reserve.",
        kPercent * used, load_text(plan, all));
}

std::string prices_text(const DeploymentPlan& plan) {
    if (plan.price_card.empty()) return "";
    return fmt::format("{} of {}, {}{}", plan.price_card, plan.price_as_of, plan.price_basis,
                       serving_text(plan));
}

std::string name_of_cell(const PlannedCell& cell) {
    return fmt::format("{}, {} weights, {} cache, TP {}{}", cell.gpu, cell.weights, cell.kv,
                       cell.deployment.tensor_parallel, division_of(cell));
}

std::string remark_on(const PlannedCell& cell) {
    if (!cell.refused.empty())
        return cell.refused + (cell.nearest.empty() ? "" : fmt::format("; {} would fit", cell.nearest));
    if (!cell.no_speed.empty()) return "no load is within the limits: " + cell.no_speed;
    return fmt::format("{}", fmt::join(cell.notes, "; "));
}

Table cells_table(const DeploymentPlan& plan) {
    const bool has_speed = std::any_of(plan.cells.begin(), plan.cells.end(), [](const PlannedCell& cell) {
        return cell.speed || !cell.no_speed.empty();
    });
    const bool has_fleet = std::any_of(plan.cells.begin(), plan.cells.end(),
                                       [](const PlannedCell& cell) { return cell.fleet.has_value(); });
    Table table;
    table.columns = {{"server", Align::left}, {"weights/KV", Align::left}};
    if (has_fleet)
        for (const char* const title : {"GPUs", "$/month"}) table.columns.push_back({title});
    if (has_speed)
        for (const char* const title : {"load", "tok/s", "TTFT p99 ms", "ITL p99 ms", "good %", "$/M out"})
            table.columns.push_back({title});
    if (!has_speed) table.columns.push_back({"KV GiB"});  // with speeds, the table is wide enough without
    for (const char* const title : {"tokens", "at once"}) table.columns.push_back({title});
    for (const PlannedCell* const ranked : ranked_cells(plan)) {
        const PlannedCell& cell = *ranked;
        std::vector<std::string> row{fmt::format("{} × {}{}", cell.gpus(), cell.gpu, division_of(cell)),
                                     fmt::format("{}/{}", cell.weights, cell.kv)};
        if (has_fleet) {
            row.push_back(cell.fleet ? grouped(cell.fleet->gpus) : "–");
            row.push_back(cell.fleet && cell.fleet->usd_per_month ? dollars(*cell.fleet->usd_per_month)
                                                                  : "–");
        }
        if (has_speed) {
            row.push_back(cell.speed ? load_text(plan, *cell.speed) : "–");
            row.push_back(cell.speed ? significant(cell.speed->output_tokens_per_s) : "–");
            row.push_back(cell.speed ? significant(cell.speed->ttft_p99_s, kMilliseconds) : "–");
            row.push_back(cell.speed ? significant(cell.speed->itl_p99_s, kMilliseconds) : "–");
            row.push_back(cell.speed ? significant(cell.speed->goodput_ratio, kPercent) : "–");
            row.push_back(cell.usd_per_m_output ? dollars(*cell.usd_per_m_output) : "–");
        }
        if (!has_speed) row.push_back(gib(cell.fit.left));
        row.push_back(whole_number(cell.pool_tokens));
        row.push_back(grouped(cell.sequences_p99));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table memory_table(const PlannedCell& cell) {
    const cards::Fit& fit = cell.fit;
    Table table;
    table.columns = {{"memory of one GPU", Align::left}, {"GiB"}};
    const auto add = [&table](const char* name, double bytes) { table.rows.push_back({name, gib(bytes)}); };
    add("reported by the driver", cell.deployment.memory_bytes);
    add("the engine's budget", fit.budget);
    add("weights", fit.weights);
    if (fit.adapters > 0) add("LoRA adapters", fit.adapters);
    if (fit.draft > 0) add("draft model", fit.draft);
    add("activations", fit.activations);
    add("runtime", fit.context);
    add("communication", fit.communication);
    if (fit.headroom > 0) add("left free", fit.headroom);
    add(fit.left < 0 ? "missing" : "KV cache", fit.left < 0 ? -fit.left : fit.left);
    return table;
}

namespace {

std::string text_of(const PlannedHostCache& cache, const PlannedLengths& lengths) {
    std::string text = fmt::format(
        "{} GiB of the host's memory hold {} tokens; at {} GB/s, the cache of a prompt of {} tokens "
        "comes back in {} ms",
        gib(cache.bytes), whole_number(cache.tokens), significant(cache.bytes_per_s / kGigabyte),
        whole_number(lengths.input_mean), significant(cache.load_s * kMilliseconds));
    if (cache.compute_s)
        text += fmt::format(", and computing it takes {} ms at least{}",
                            significant(*cache.compute_s * kMilliseconds),
                            *cache.compute_s < cache.load_s ? ", which may be less" : "");
    return text;
}

std::string text_of(const PlannedHostLayers& layers) {
    std::string text = fmt::format(
        "{} layers are on the GPU, and {} GiB of weights in the host's memory, which is read at {} GB/s",
        layers.on_gpu, gib(layers.split.resident_on_host), significant(layers.bytes_per_s / kGigabyte));
    if (layers.least_s)
        text += fmt::format("; a token of one request takes {} ms at least ({} tokens/s at most)",
                            significant(*layers.least_s * kMilliseconds), significant(1 / *layers.least_s));
    return text;
}

}  // namespace

Facts input_facts(const DeploymentPlan& plan) {
    struct Input {
        const char* key;
        const char* name;
        const char* meaning;
    };
    constexpr std::array<Input, 4> kInputs{{{"hit", "Cached", "of the prompts' tokens"},
                                            {"acceptance", "Acceptance", "of the drafted tokens"},
                                            {"drafts", "Drafts", "tokens per step and request"},
                                            {"chunk", "Chunk", "tokens in a step"}}};
    Facts facts;
    for (const Input& known : kInputs)
        if (const auto input = plan.inputs.find(known.key); input != plan.inputs.end())
            facts.items.emplace_back(known.name, fmt::format("{:g} {} ({})", input->second.value,
                                                             known.meaning, input->second.source));
    return facts;
}

Facts cache_facts(const DeploymentPlan& plan, const PlannedCell& cell) {
    const double per_sequence = plan.sequences ? cell.pool_tokens / *plan.sequences : 0;
    const double ratio = cell.fit.weights > 0 ? std::max(0.0, cell.fit.left) / cell.fit.weights : 0;
    Facts facts{
        {{"KV per token", fmt::format("{} KiB", significant(cell.kv_bytes_per_token / 1024, 4))},
         {"KV per request",
          fmt::format("{} GiB at p50, {} at p99, {} at most, on each rank", gib(cell.sequence_bytes_p50),
                      gib(cell.sequence_bytes_p99), gib(cell.sequence_bytes_max))},
         {"KV pool", fmt::format("{} GiB per GPU, {} tokens in {} blocks of {}",
                                 gib(std::max(0.0, cell.fit.left)), whole_number(cell.pool_tokens),
                                 grouped(cell.fit.blocks), cell.deployment.block_tokens)},
         {"Requests at once",
          fmt::format("{} at p50, {} at p99, {} of {}", grouped(cell.sequences_p50),
                      grouped(cell.sequences_p99), grouped(cell.sequences_context),
                      plan.knows_context ? fmt::format("the whole context of {}", grouped(plan.context))
                                         : fmt::format("{} tokens (the model's context is not known)",
                                                       grouped(plan.context)))},
         {"KV ÷ weights", significant(ratio)},
         {"Contiguous", fmt::format("{} requests, if each reserved {}", grouped(cell.sequences_context),
                                    plan.knows_context ? std::string("the whole context")
                                                       : fmt::format("{} tokens", grouped(plan.context)))}}};
    if (plan.sequences)
        facts.items.emplace_back("Per sequence",
                                 fmt::format("{} tokens for each of {} sequences", whole_number(per_sequence),
                                             whole_number(*plan.sequences)));
    if (cell.fit.copies > 1)
        facts.items.emplace_back(
            "Copies", fmt::format("{} ranks hold the same bytes of the cache", significant(cell.fit.copies)));
    if (cell.host_cache) facts.items.emplace_back("Host cache", text_of(*cell.host_cache, plan.lengths));
    if (cell.host_layers) facts.items.emplace_back("On the host", text_of(*cell.host_layers));
    facts.items.emplace_back("Suggested",
                             fmt::format("max-model-len {}, max-num-seqs {}, max-num-batched-tokens {}",
                                         cell.settings.max_model_len, cell.settings.max_num_seqs,
                                         cell.settings.max_num_batched_tokens));
    return facts;
}

Facts hours_facts(const DeploymentPlan& plan) {
    if (!plan.staircase) return {};
    const Staircase& stairs = *plan.staircase;
    const auto [least, most] = std::ranges::minmax(stairs.servers);
    std::string bill = "no price is known for every kind of rent that is used";
    if (stairs.usd_per_month) bill = fmt::format("${} per month", dollars(*stairs.usd_per_month));
    if (stairs.usd_of_peak_per_month)
        bill += fmt::format("; ${} with the busiest hour's servers always on demand",
                            dollars(*stairs.usd_of_peak_per_month));
    Facts facts{{{"Servers by hour", servers_text(least, most)},
                 {"Reserved", fmt::format("{} (median of the hours)", servers_text(stairs.reserved))},
                 {"On demand", fmt::format("up to {} more (95 % of the hours), {} on average",
                                           stairs.on_demand, significant(stairs.on_demand_per_hour))},
                 {"Spot", fmt::format("up to {} more, for requests that can wait; {} on average", stairs.spot,
                                      significant(stairs.spot_per_hour))},
                 {"Bill by hour", bill}}};
    if (!plan.autoscaled) return facts;
    const ScaledServers& scaled = *plan.autoscaled;
    facts.items.emplace_back("Autoscaler",
                             fmt::format("{} requests in flight per server, {}, a start takes {} s ({})",
                                         significant(scaled.rule.in_flight_target),
                                         servers_text(scaled.rule.least, scaled.rule.most),
                                         significant(scaled.rule.cold_start_s), plan.cold_start_from));
    std::string outcome = fmt::format(
        "{} % of the requests wait for a server, {} s at most; {} % of the capacity is idle; {} on "
        "average, {} at most",
        significant(100 * scaled.missed), significant(scaled.longest_wait_s), significant(100 * scaled.idle),
        servers_text(scaled.servers_per_hour), scaled.most_servers);
    if (scaled.usd_per_month)
        outcome += fmt::format("; ${} per month on demand", dollars(*scaled.usd_per_month));
    if (scaled.kw) outcome += fmt::format("; {} kW on average", significant(*scaled.kw));
    facts.items.emplace_back("With it", std::move(outcome));
    return facts;
}

namespace {

/// The servers of every hour, with the numbers up to which they are reserved and on demand.
Section hours_section(const DeploymentPlan& plan) {
    const Staircase& stairs = *plan.staircase;
    PictureSeries series{.name = "servers", .points = {}, .style = "line"};
    for (std::size_t hour = 0; hour < stairs.servers.size(); ++hour)
        series.points.push_back({.x = static_cast<double>(hour),
                                 .y = static_cast<double>(stairs.servers[hour]),
                                 .row = "",
                                 .note = ""});
    const auto reserved = static_cast<double>(stairs.reserved);
    Picture picture{
        .id = "hours",
        .title = "Needed by hour",
        .x_title = "Hour",
        .y_title = "servers",
        .series = {std::move(series)},
        .lines = {{"reserved", reserved}, {"on demand", reserved + static_cast<double>(stairs.on_demand)}},
        .linear_x = true};
    return {.id = "hours",
            .title = "Servers by hour",
            .blocks = {{hours_facts(plan)}, {Charts{{{.id = "hours", .picture = std::move(picture)}}}}}};
}

}  // namespace

Facts decision_facts(const DeploymentPlan& plan) {
    Facts facts;
    for (const CostAnswer& answer : plan.decisions)
        facts.items.emplace_back(answer.question->name, answer.text());
    return facts;
}

std::vector<Section> sizing_sections(const DeploymentPlan& plan) {
    std::vector<Section> sections;
    Section answer{.id = "plan", .title = "The answer"};
    answer.blocks.push_back({Paragraph{.text = answer_of(plan) + "."}});
    if (std::string caution = caution_on(plan); !caution.empty())
        answer.blocks.push_back({Paragraph{.text = std::move(caution)}});
    answer.blocks.push_back({Paragraph{.text = "Everything here is an estimate: memory by the cards of the "
                                               "model and the GPU, speed by simulated runs, "
                                               "and cost by a price card."}});
    Facts asked{
        {{"Model", plan.model},
         {"Engine", plan.engine},
         {"Lengths", fmt::format("input {}, output {}; together {} tokens at p50, {} at p99",
                                 plan.lengths.input, plan.lengths.output,
                                 whole_number(plan.lengths.total_p50), whole_number(plan.lengths.total_p99))},
         {"Limits", fmt::format("{}", fmt::join(plan.slos, ", "))},
         {"Demand", plan.demand.requests_per_s || plan.demand.users ? demand_text(plan.demand) : ""},
         {"Prices", prices_text(plan)}}};
    for (auto& input : input_facts(plan).items) asked.items.push_back(std::move(input));
    answer.blocks.push_back({std::move(asked)});
    sections.push_back(std::move(answer));
    Facts remarks;
    for (const PlannedCell* const cell : ranked_cells(plan))
        remarks.items.emplace_back(name_of_cell(*cell), remark_on(*cell));
    sections.push_back(
        {.id = "cells", .title = "Every combination", .blocks = {{cells_table(plan)}, {remarks}}});
    if (plan.cells.empty()) return sections;
    if (plan.staircase) sections.push_back(hours_section(plan));
    const PlannedCell& cell = shown_cell(plan);
    sections.push_back({.id = "memory",
                        .title = "Memory of " + name_of_cell(cell),
                        .blocks = {{memory_table(cell)}, {cache_facts(plan, cell)}}});
    if (!plan.decisions.empty())
        sections.push_back(
            {.id = "decisions",
             .title = "Costs and decisions",
             .blocks = {{Paragraph{.text = "paretoken cost QUESTION answers each with other numbers, "
                                           "and its --help has the formulas."}},
                        {decision_facts(plan)}}});
    return sections;
}

}  // namespace paretoken::reports
