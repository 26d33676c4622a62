// paretoken plan: what fits on GPUs, how fast it would be, how many of them a demand needs, and the bill.
// Everything comes from cards and runs in virtual time.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cards/price.h"
#include "cli/commands.h"
#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/options/demand.h"
#include "cli/options/invocation.h"
#include "cli/plan/plan_cells.h"
#include "cli/plan/plan_from.h"
#include "cli/plan/plan_hours.h"
#include "cli/plan/runs_directory.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/random.h"
#include "core/result/slo.h"
#include "core/spec.h"
#include "datasets/catalog.h"
#include "datasets/describe.h"
#include "datasets/recognise.h"
#include "datasets/synthetic/lengths.h"
#include "experiments/sizing.h"
#include "reports/analysis/plan/engine_command.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/manifests.h"
#include "reports/files/json/sizing_json.h"
#include "reports/pages/sizing.h"

namespace paretoken::cli {
namespace {

using reports::DeploymentPlan;
using reports::PlannedCell;

struct PlanCommand {
    CellOptions cells;
    std::string isl = "512";
    std::string osl = "128";
    bool osl_is_given = false;
    std::optional<double> hit;
    std::string dataset;
    std::string log;
    std::vector<std::string> slos;
    std::string demand;
    std::string users;
    double target_utilization = 1;
    ScalingOptions scaling;
    std::optional<double> sequences;
    std::string price;
    std::string price_basis;
    std::string api;
    std::string emit;
    std::string out;
    std::uint64_t seed = 0;
    bool json = false;
    std::string from;
    std::vector<std::string> at;
};

bool has_pairs(const PlanCommand& command) {
    return command.isl.starts_with("pairs:");
}

/// The lengths of many drawn requests.
reports::PlannedLengths drawn_lengths(const PlanCommand& command) {
    constexpr int kDraws = 20'000;
    Random random(derived_seed(command.seed, "plan"));
    std::vector<double> inputs;
    std::vector<double> outputs;
    if (has_pairs(command)) {
        if (command.osl_is_given)
            throw UsageError("--isl pairs:… gives the output lengths as well; leave --osl out");
        const datasets::LengthPairs pairs =
            naming("--isl", [&] { return datasets::LengthPairs(command.isl); });
        for (int i = 0; i < kDraws; ++i) {
            const datasets::LengthPair pair = pairs.draw(random);
            inputs.push_back(static_cast<double>(pair.input));
            outputs.push_back(static_cast<double>(pair.output));
        }
        return reports::lengths_of(command.isl, "of the pairs", inputs, outputs);
    }
    const datasets::Lengths input = naming("--isl", [&] { return datasets::Lengths(command.isl); });
    const datasets::Lengths output = naming("--osl", [&] { return datasets::Lengths(command.osl); });
    for (int i = 0; i < kDraws; ++i) {
        inputs.push_back(static_cast<double>(input.draw(random)));
        outputs.push_back(static_cast<double>(output.draw(random)));
    }
    return reports::lengths_of(command.isl, command.osl, inputs, outputs);
}

/// The file of requests in place of --isl and --osl, and how its rows are read.
struct RequestsFile {
    std::string path;  ///< empty: there is none
    Spec format;       ///< without a name: as the file looks
};

/// The file of --log, whose columns --dataset may name, or that of --dataset, which may have its columns
/// beside it: columns:path=FILE,input_tokens=NAME.
RequestsFile file_in(const PlanCommand& command) {
    std::error_code error;
    const bool has_format = !command.dataset.empty() && !std::filesystem::exists(command.dataset, error) &&
                            (!command.log.empty() || command.dataset.find("path=") != std::string::npos);
    if (!has_format) return {command.log.empty() ? command.dataset : command.log, {}};
    Spec format = parse_spec(command.dataset);
    std::string path = command.log.empty() ? datasets::file_of(format, "") : command.log;
    format.fields.erase("path");
    return {std::move(path), std::move(format)};
}

datasets::FileDescription described(const PlanCommand& command) {
    const char* const option = command.log.empty() ? "--dataset" : "--log";
    const auto [file, format] = file_in(command);
    if (!command.log.empty() && !command.dataset.empty() && format.name.empty())
        throw UsageError(
            "--log and --dataset both name a file; beside --log, --dataset says which of its columns holds "
            "what: columns:input_tokens=NAME,output_tokens=NAME,at_s=NAME");
    auto found = datasets::description_of(
        file,
        datasets::row_format_of(format.name.empty() ? parse_spec(datasets::guessed_format(file)) : format));
    if (!found.total)
        throw UsageError(fmt::format(
            "{} {}: its rows do not state the tokens of prompts and answers, which depend on the model's "
            "tokenizer; give --isl and --osl, or a file with input_tokens and output_tokens",
            option, file));
    if (!command.log.empty() && !found.requests_per_s)
        throw UsageError(fmt::format(
            "--log {}: its rows have no times, so that no rate follows from it; give it as --dataset, and "
            "--demand",
            file));
    return found;
}

reports::PlannedLengths lengths_in(const datasets::FileDescription& found, const std::string& file) {
    return {.input = fmt::format("of {}", file),
            .output = fmt::format("of {}", file),
            .input_mean = found.input->mean,
            .output_mean = found.output->mean,
            .input_p99 = found.input->p99,
            .total_p50 = found.total->p50,
            .total_p99 = found.total->p99,
            .total_max = found.total->max};
}

reports::Demand demand_of(const PlanCommand& command) {
    reports::Demand demand{.target_utilization = share_to_use(command.target_utilization)};
    if (!command.demand.empty() && !command.users.empty())
        throw UsageError("--demand and --users are two ways to say how much load there is; give one of them");
    std::error_code error;
    if (std::filesystem::is_regular_file(command.demand, error)) {
        demand.hours = hourly_requests_per_s(command.demand);
        demand.requests_per_s = *std::ranges::max_element(demand.hours);
    } else if (!command.demand.empty()) {
        demand.requests_per_s = requests_per_s_in(command.demand, ", or a file of hours that exists");
    }
    if (!command.users.empty()) {
        demand.users = static_cast<double>(parse_count(command.users));
        if (*demand.users < 1) throw UsageError("--users 0: expected at least one user");
    }
    const bool has_demand = demand.requests_per_s || demand.users;
    if (has_demand && command.slos.empty())
        throw UsageError(
            fmt::format("{}: the number of GPUs depends on the limits to meet; add e.g. --slo ttft_p95:800",
                        demand.users ? "--users" : "--demand"));
    return demand;
}

std::filesystem::path directory_of(const RunsDirectory& runs, const PlannedCell& cell) {
    const cards::Deployment& on = cell.deployment;
    return runs.path() / fmt::format("{}-{}-{}-tp{}-pp{}-ep{}", cell.gpu, cell.weights, cell.kv,
                                     on.tensor_parallel, on.pipeline_parallel, on.expert_parallel);
}

/// Calls `work(i)` for every i below `count`, on as many threads as there are processors. Throws what the
/// first call that failed threw, after the others have ended.
template <class Work>
void for_all(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    {
        std::vector<std::jthread> threads;
        const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
        for (std::size_t t = 0; t < std::min(count, most); ++t)
            threads.emplace_back([&] {
                for (std::size_t i = next++; i < count; i = next++) {
                    try {
                        work(i);
                    } catch (...) {
                        const std::scoped_lock lock(mutex);
                        if (!failure) failure = std::current_exception();
                        next = count;
                    }
                }
            });
    }
    if (failure) std::rethrow_exception(failure);
}

/// Prompts of which a share is one of several texts that all of them begin with.
Spec prompts_with_hits(const PlanCommand& command) {
    constexpr const char* kTexts = "8";
    const auto refuse = [&](std::string_view what) -> UsageError {
        return UsageError(fmt::format("--hit {}: {}", *command.hit, what));
    };
    if (command.slos.empty())
        throw refuse("the speed depends on it, which needs limits; add --slo ttft_p95:800");
    if (!(*command.hit > 0 && *command.hit < 1)) throw refuse("expected a share above 0 and below 1");
    if (command.isl.find_first_not_of("0123456789kMG.") != std::string::npos)
        throw refuse("give one input length with it, such as --isl 2000");
    const auto tokens = static_cast<double>(parse_count(command.isl));
    const double shared = std::round(*command.hit * tokens);
    if (shared < 1 || shared >= tokens) throw refuse("the prompt is too short for it");
    return {"shared_prefix",
            {{"groups", kTexts},
             {"levels", fmt::format("{:.0f}", shared)},
             {"unique", fmt::format("{:.0f}", tokens - shared)},
             {"osl", command.osl}}};
}

/// The limits as those of each request: "ttft:800" for "ttft_p95:800".
std::vector<std::string> limits_of_requests(const std::vector<std::string>& slos) {
    std::vector<std::string> limits;
    for (const std::string& slo : slos) {
        const auto limit = slo.find_first_of(":<>");
        const auto percentile = slo.find_last_not_of("0123456789.", limit - 1);
        const bool has_one = percentile + 1 < limit && slo[percentile] == 'p' && slo[percentile - 1] == '_';
        limits.push_back(has_one ? slo.substr(0, percentile - 1) + slo.substr(limit) : slo);
    }
    return limits;
}

LoadPlan asked_of(const PlanCommand& command, const PlannedCell& cell) {
    LoadPlan asked;
    asked.targets = {cell.profile};
    asked.virtual_time = true;
    asked.seed = command.seed;
    asked.salt = "plan";
    asked.slos = command.slos;
    asked.classes.front().goodput = limits_of_requests(command.slos);
    if (command.hit) {
        asked.classes.front().dataset = prompts_with_hits(command);
        return asked;
    }
    if (const RequestsFile file = file_in(command); file.path.empty()) {
        asked.classes.front().dataset = {"synthetic", {{"isl", command.isl}}};
        if (!has_pairs(command)) asked.classes.front().dataset.fields["osl"] = command.osl;
    } else {
        asked.classes.front().dataset = file.format;
        asked.classes.front().dataset_path = file.path;
    }
    return asked;
}

experiments::Axis axis_of(const reports::Demand& demand) {
    return demand.users ? experiments::Axis::concurrency : experiments::Axis::request_rate;
}

/// The load at which a search ends.
double most_load(const reports::Demand& demand) {
    constexpr double kMostPerS = 1e5;
    constexpr double kMostUsers = 1 << 14;
    return demand.users ? kMostUsers : kMostPerS;
}

void search(PlannedCell& cell, const PlanCommand& command, const reports::Demand& demand,
            const RunsDirectory& runs, const std::stop_token& stop) {
    if (!cell.refused.empty() || cell.profile.empty()) return;
    const experiments::FoundLoad found =
        experiments::highest_simulated_load(asked_of(command, cell), axis_of(demand), most_load(demand),
                                            directory_of(runs, cell), this_invocation(), stop);
    cell.speed = found.speed;
    cell.no_speed = found.why_none;
}

/// Sets what follows from the speed of a cell and the price of its servers.
void set_prices_of_tokens(const DeploymentPlan& plan, PlannedCell& cell) {
    if (cell.speed && !plan.demand.users) cell.speed = reports::at_its_rate(*cell.speed, plan.lengths);
    cell.usd_per_m_output = reports::usd_per_m_at_speed(plan, cell);
}

void price(DeploymentPlan& plan, const PlanCommand& command) {
    const std::vector<cards::PriceCard> prices =
        command.price.empty() ? cards::default_price_cards() : std::vector{cards::price_card(command.price)};
    const std::optional<std::string> basis =
        command.price_basis.empty() ? std::nullopt : std::optional(command.price_basis);
    // A GPU without a price on a basis that others have is planned without one.
    const auto lacks_basis = [&](const PlannedCell& cell) {
        return basis && std::ranges::none_of(prices, [&](const cards::PriceCard& card) {
                   const cards::PricedItem* const item = cards::priced_gpu(card, cell.gpu);
                   return item != nullptr && item->usd_per_h.contains(*basis);
               });
    };
    const bool basis_is_known = !std::ranges::all_of(plan.cells, lacks_basis);
    for (PlannedCell& cell : plan.cells) {
        if (cell.profile.empty() || (basis_is_known && lacks_basis(cell))) continue;
        for (const cards::PriceCard& card : prices) {
            if (!command.price_basis.empty() && command.price.empty() &&
                cards::priced_gpu(card, cell.gpu) == nullptr)
                continue;
            const auto rate = cards::hourly_rate(card, {cell.gpu, cell.gpus(), {}}, basis);
            if (!rate) continue;
            cell.usd_per_h = rate->usd_per_h;
            plan.price_card = card.name;
            plan.price_as_of = card.as_of;
            plan.price_basis = rate->basis;
            plan.earning_share = cards::earning_share(card);
            break;
        }
        if (!cell.usd_per_h && !command.price.empty())
            throw UsageError(fmt::format("--price {}: the card has no price for {}; add it under \"gpus\"",
                                         command.price, cell.gpu));
    }
    for (PlannedCell& cell : plan.cells) set_prices_of_tokens(plan, cell);
}

/// Confirms the number of replicas of a cell by runs at the demand. If their number is another one than
/// follows from the searched load, the load of these runs replaces that.
void confirm_fleet(const DeploymentPlan& plan, PlannedCell& cell, const PlanCommand& command,
                   const RunsDirectory& runs, const std::stop_token& stop) {
    const reports::Demand& demand = plan.demand;
    const double needed = demand.requests_per_s.value_or(demand.users.value_or(0));
    std::optional<reports::PlannedSpeed> confirmed;  // of the last number that was within the limits
    const auto is_within = [&](std::uint64_t replicas) {
        const double per_replica = needed / static_cast<double>(replicas) / demand.target_utilization;
        const double load = demand.users ? std::ceil(per_replica) : per_replica;
        auto speed = experiments::speed_within_limits(
            asked_of(command, cell), axis_of(demand), load,
            directory_of(runs, cell) / fmt::format("check-{}", replicas), this_invocation(), stop);
        const bool within = speed.has_value();
        if (within) confirmed = std::move(speed);
        return within;
    };
    const auto fewest = reports::fewest_within(cell.fleet->replicas, is_within);
    if (!fewest) {
        cell.no_speed = "the runs at the demand miss them, also with half as many servers again";
        cell.speed.reset();
        cell.fleet.reset();
        return set_prices_of_tokens(plan, cell);
    }
    const std::uint64_t replicas = *fewest;
    if (replicas != cell.fleet->replicas) {
        confirmed->binding = cell.speed->binding;
        confirmed->runs = cell.speed->runs;
        cell.speed = confirmed;
        set_prices_of_tokens(plan, cell);
        cell.fleet = reports::fleet_of(plan, cell, replicas);
    }
    if (!demand.users || !cell.usd_per_h) return;
    // Fewer users get more tokens each, so that the tokens of the mean demand are measured.
    const double each = reports::mean_load(demand) / static_cast<double>(replicas);
    const auto at_demand =
        experiments::speed_within_limits(asked_of(command, cell), axis_of(demand), std::ceil(each),
                                         directory_of(runs, cell) / "demand", this_invocation(), stop);
    if (at_demand && each > 0)
        cell.fleet->usd_per_m_output =
            reports::usd_per_m_at(plan, cell, at_demand->output_tokens_per_s * each / std::ceil(each));
}

void size_fleets(DeploymentPlan& plan, const PlanCommand& command, const RunsDirectory& runs,
                 const std::stop_token& stop) {
    if (!plan.demand.requests_per_s && !plan.demand.users) return;
    for (PlannedCell& cell : plan.cells)
        if (cell.speed && cell.speed->load > 0)
            cell.fleet = reports::fleet_of(plan, cell, reports::replicas_for(plan.demand, cell.speed->load));
    // Every cell is confirmed, not only the best one, so that its figures do not depend on the other cells.
    for_all(plan.cells.size(), [&](std::size_t i) {
        if (plan.cells[i].fleet) confirm_fleet(plan, plan.cells[i], command, runs, stop);
    });
}

/// Answers the questions of `paretoken cost` that follow from the best cell.
void decide(DeploymentPlan& plan, const PlanCommand& command, const std::optional<cards::ApiPrice>& api) {
    const PlannedCell& cell = plan.cells[*plan.best];
    cards::ModelCardOptions types;
    if (cell.kv != "auto") types.kv_dtype = cell.kv;
    reports::CostGiven known = reports::known_to_cost(
        plan, cell, cards::model_card(command.cells.model_card, types), cards::find_gpu(cell.gpu));
    if (api) reports::add_api(known, plan.lengths, command.hit.value_or(0), *api, command.api);
    if (!plan.price_card.empty()) {
        const cards::PriceCard card =
            cards::price_card(command.price.empty() ? plan.price_card : command.price);
        if (card.usd_per_kwh) known.numbers["usd_per_kwh"] = {*card.usd_per_kwh, "price card"};
        if (const auto watts = server_watts(card, cell))
            known.numbers["watts"] = {static_cast<double>(cell.fleet ? cell.fleet->replicas : 1) * *watts,
                                      "price card and GPU card"};
    }
    plan.decisions = reports::answers_from(known);
}

void write_files(const DeploymentPlan& plan, const std::filesystem::path& directory) {
    reports::ensure_directory(directory);
    reports::write_file_atomically(directory / reports::kSizingFileName, reports::sizing_json(plan) + "\n");
    write_page(reports::answer_of(plan), reports::sizing_sections(plan), directory, "plan");
}

/// Says where the other inputs of the speed come from.
void name_inputs(DeploymentPlan& plan, const PlanCommand& command) {
    if (plan.slos.empty() || plan.cells.empty()) return;
    const PlannedCell& cell = plan.cells[plan.best.value_or(0)];
    plan.inputs["chunk"] = {static_cast<double>(cell.deployment.batch.tokens),
                            command.cells.max_num_batched_tokens
                                ? "given"
                                : fmt::format("default of {} on {}", plan.engine, cell.gpu)};
    if (command.hit)
        plan.inputs["hit"] = {*command.hit, "given; prompts begin with one of 8 texts"};
    else if (file_in(command).path.empty())
        plan.inputs["hit"] = {0, "assumed, because no prompt begins like another; see --hit"};
}

/// The form of the command with --from, which takes everything else from a run.
void plan_from_run(const PlanCommand& command, const CLI::App& sub) {
    for (const CLI::Option* option : sub.get_options()) {
        constexpr std::array<std::string_view, 6> kTaken = {"--from", "--at",  "--model-card",
                                                            "--gpu",  "--out", "--json"};
        const std::string name = option->get_name();
        if (option->count() > 0 && std::find(kTaken.begin(), kTaken.end(), name) == kTaken.end())
            throw UsageError(fmt::format(
                "{} has no effect with --from, which takes the load and the server from the run{}", name,
                name == "--demand" || name == "--slo"
                    ? fmt::format("; `{} --slo ttft_p95:800 --demand 50rps` says how many of the measured "
                                  "servers a demand needs",
                                  shell_line({"paretoken", "report", command.from}))
                    : ""));
    }
    if (command.cells.gpus.size() > 1) throw UsageError("--gpu: with --from, give the one GPU of the server");
    plan_from({.run = command.from,
               .levels = command.at,
               .model_card = command.cells.model_card,
               .gpu = command.cells.gpus.empty() ? "" : command.cells.gpus.front(),
               .out = command.out,
               .json = command.json});
}

bool is_file_of_servers(const std::string& form) {
    return form == "compose" || form == "k8s";
}

std::string emitted(const DeploymentPlan& plan, const std::string& form) {
    if (form == "compose") return reports::compose_file(plan);
    if (form == "k8s") return reports::kubernetes_manifests(plan);
    return reports::server_command_of(plan, form);
}

/// Warns that a server with more GPUs than a host usually has is not started by one command.
void note_several_hosts(const DeploymentPlan& plan) {
    if (plan.cells[*plan.best].gpus() <= reports::kGpusOfHost) return;
    print(stderr,
          "paretoken: warning: a server has {} GPUs, and most hosts have at most {}: start the engine on "
          "several hosts as its documentation says, with these options, or plan with fewer ranks (--tp, "
          "--pp)\n",
          plan.cells[*plan.best].gpus(), reports::kGpusOfHost);
}

/// Plans for the engine whose command is printed: memory and limits have other meanings and defaults in
/// another.
void plan_for_emitted(PlanCommand& command) {
    if (const auto engine = cards::find_engine(command.emit)) command.cells.engine = cards::name_of(*engine);
}

void plan(const PlanCommand& command) {
    if (command.cells.model_card.empty())
        throw UsageError("--model-card is required: a known model, a config.json or a GGUF file");
    if (!command.emit.empty() && !is_file_of_servers(command.emit))
        (void)reports::engine_to_emit(command.emit);
    reports::Demand demand = demand_of(command);
    std::optional<cards::ApiPrice> api;
    if (!command.api.empty())
        api = cards::api_price_named(command.api, command.price.empty()
                                                      ? std::vector<cards::PriceCard>{}
                                                      : std::vector{cards::price_card(command.price)});
    std::vector<std::string> slos;
    for (const std::string& text : command.slos)
        for (std::string& one : slo_texts(text)) slos.push_back(std::move(one));
    const bool asks_for_speed = !slos.empty() || demand.requests_per_s || demand.users;
    if (asks_for_speed && command.cells.gpus.empty() && !command.cells.gpu_memory.empty())
        throw UsageError(
            "limits and demands need the speed of a GPU, and --gpu-memory says its size alone; add --gpu "
            "NAME, or leave --slo and the demand out");
    reports::PlannedLengths lengths;
    if (const RequestsFile file = file_in(command); file.path.empty()) {
        lengths = drawn_lengths(command);
    } else {
        const datasets::FileDescription found = described(command);
        lengths = lengths_in(found, file.path);
        const bool has_demand = demand.requests_per_s || demand.users;
        if (!command.log.empty() && !has_demand && !slos.empty()) {
            if (found.hours.size() > 1) demand.hours = found.hours;
            demand.requests_per_s = demand.hours.empty() ? found.requests_per_s->peak_hour
                                                         : *std::ranges::max_element(demand.hours);
        }
    }
    if (command.hit) (void)prompts_with_hits(command);
    const Scaling scaling = scaling_of(demand, command.scaling);
    DeploymentPlan plan = planned_cells(command.cells, lengths);
    plan.slos = slos;
    plan.demand = demand;
    plan.sequences = command.sequences;
    const RunsDirectory runs(command.out);
    const InterruptWatch interrupt(
        "\nending the plan: no plan is written (press Ctrl-C again to end at once)\n");
    if (!slos.empty()) {
        PlanCommand resolved = command;
        resolved.slos = slos;
        try {
            for_all(plan.cells.size(),
                    [&](std::size_t i) { search(plan.cells[i], resolved, demand, runs, interrupt.token()); });
            price(plan, command);
            size_fleets(plan, resolved, runs, interrupt.token());
        } catch (const RuntimeError& error) {
            // A search that is interrupted names a command that continues this search alone.
            if (!std::string_view(error.what()).starts_with("interrupted")) throw;
            throw RuntimeError("interrupted; nothing was planned. The same command begins anew");
        }
    } else {
        price(plan, command);
    }
    plan.best = best_of(plan.cells, !slos.empty());
    plan_hours(plan, scaling);
    name_inputs(plan, command);
    if (plan.best) decide(plan, command, api);
    if (!command.out.empty()) write_files(plan, command.out);
    if (!command.emit.empty()) {
        const std::string text = emitted(plan, command.emit);
        note_several_hosts(plan);
        return print("{}", text);
    }
    if (command.json) return print("{}\n", reports::sizing_json(plan));
    print("{}", reports::sizing_console(plan));
    if (!command.out.empty())
        print("  {:12}{}\n", "files", (std::filesystem::path(command.out) / "plan.html").string());
}

void add_hardware_options(CLI::App& sub, CellOptions& cells) {
    sub.option_defaults()->group("Model and GPUs");
    sub.add_option("--model-card", cells.model_card, "A known model, a config.json or a GGUF file");
    sub.add_option("--gpu", cells.gpus,
                   "GPUs with a card: NAME or NAMExN (N ranks per server), several with commas, or all")
        ->delimiter(',');
    sub.add_option(
        "--gpu-memory", cells.gpu_memory,
        "Memory of a GPU without a card, as its driver reports it: 24GiB. Only the fit is then planned");
    sub.add_option("--weights", cells.weights,
                   "Formats of the weights: bf16,fp8,int4 [as the model card says]")
        ->delimiter(',');
    sub.add_option("--kv", cells.kv, "Formats of the KV cache: auto,fp8 [auto]")->delimiter(',');
    sub.add_option("--tp", cells.tp, "Ranks of tensor parallelism: 1,2,4,8 [N of --gpu NAMExN, else 1,2,4,8]")
        ->delimiter(',');
    sub.add_option("--pp", cells.pp, "Stages of pipeline parallelism, each of --tp ranks: 1,2,4 [1]")
        ->delimiter(',');
    sub.add_option("--ep", cells.ep, "Ranks of --tp that have whole experts of their own: 1,8 [1]")
        ->delimiter(',');
    sub.add_option("--dcp", cells.dcp,
                   "Ranks that divide the tokens of a sequence among them (decode context parallelism)")
        ->capture_default_str();
    sub.add_flag("--attention-dp", cells.attention_dp, "Each rank keeps the attention of its own requests");
    sub.add_option("--link", cells.link,
                   "peers (GPUs read each other's memory) or host [by the card of the GPU]");
    sub.option_defaults()->group("Engine");
    sub.add_option("--engine", cells.engine, "vllm, sglang, trtllm or llamacpp")->capture_default_str();
    sub.add_option(
        "--memory-fraction", cells.memory_fraction,
        "The engine's share of the memory, in its own meaning [vllm, trtllm .9; sglang .88; llamacpp 1]");
    sub.add_option("--max-model-len", cells.max_model_len,
                   "Longest context that the server accepts [the model's]");
    sub.add_option("--max-num-seqs", cells.max_num_seqs, "Most sequences of a step [the engine's default]")
        ->check(CLI::Range(1, 1'000'000));
    sub.add_option("--max-num-batched-tokens,--chunk", cells.max_num_batched_tokens,
                   "Most tokens of a step, and so of a chunk of a prompt [the engine's default]")
        ->check(CLI::Range(1, 100'000'000));
    sub.add_option("--sampler", cells.sampler,
                   "torch or flashinfer: how vLLM samples, which its log says and which decides its buffers")
        ->capture_default_str();
    sub.add_option("--lora", cells.lora,
                   "LoRA adapters that a server holds at once, and their largest rank: 4:16 [none]");
    sub.add_option("--draft-model", cells.draft_model, "Model card of a model that drafts tokens [none]");
    sub.add_option("--draft-tokens", cells.draft_tokens, "Tokens drafted in a step [4]")
        ->check(CLI::Range(1, 64));
    sub.add_option("--acceptance", cells.acceptance,
                   "Probability that a drafted token is right; without --draft-model, drafts take no time");
    sub.add_option("--kv-offload", cells.kv_offload,
                   "Size of the host's memory in which a server keeps KV cache: 256GiB [none]");
    sub.add_option("--kv-offload-speed", cells.kv_offload_speed,
                   "Speed at which it comes back to all GPUs of the server together")
        ->capture_default_str();
    sub.add_option("--gpu-layers", cells.gpu_layers,
                   "Layers that llama.cpp keeps on its GPU, with the output head as one more [all]");
    sub.add_option("--host-speed", cells.host_speed,
                   "With --gpu-layers: speed at which the host's memory is read")
        ->capture_default_str();
    sub.add_option("--weights-memory", cells.weights_memory,
                   "Weights on each GPU: 16.5GiB [by the model card]");
    sub.add_option("--overhead", cells.overhead,
                   "Buffers, context and communication on each GPU: 2GiB or 0 [by the model and the engine]");
    sub.add_option("--memory-headroom", cells.headroom, "Memory that each GPU leaves free: 1GiB [0]");
}

void add_load_options(CLI::App& sub, PlanCommand& command) {
    sub.option_defaults()->group("Load and limits");
    sub.add_option("--isl", command.isl, "Input lengths in tokens: 512 or lognormal:mean=512,cv=1")
        ->capture_default_str();
    sub.add_option("--osl", command.osl, "Output lengths in tokens")->capture_default_str();
    const auto lengths = [&](CLI::Option* option) { return option->excludes("--isl")->excludes("--osl"); };
    lengths(
        sub.add_option("--dataset", command.dataset,
                       "A file of requests that states their lengths, in place of --isl and --osl, or the "
                       "columns of one: columns:path=FILE,input_tokens=NAME,output_tokens=NAME"));
    lengths(sub.add_option("--log", command.log,
                           "A log with times and lengths, whose columns --dataset columns:… may name; with "
                           "--slo, the demand is that of its hours"));
    sub.add_option("--hit", command.hit,
                   "Share of a prompt that is one of 8 texts, which the prefix cache holds, in the runs of "
                   "the search; needs one length as --isl [0]")
        ->excludes("--dataset")
        ->excludes("--log");
    sub.add_option("--slo", command.slos,
                   "Limits to meet, in milliseconds: ttft_p95:800, or a preset such as @chat; with them, the "
                   "highest load of every cell is searched for in virtual time");
    sub.add_option("--demand", command.demand,
                   "Requests per second to carry: 50rps, or a CSV file with the columns hour,requests_per_s");
    sub.add_option("--users", command.users, "Users to carry, each with one request in flight at all times");
    sub.add_option("--target-utilization", command.target_utilization,
                   "Share of the load within the limits that may be used")
        ->capture_default_str();
    sub.add_option("--cold-start", command.scaling.cold_start,
                   "With hours: time to start a server, or a sweep that started servers [120s]");
    sub.add_option("--min-servers", command.scaling.least,
                   "With hours: fewest servers of the autoscaler [as many as the quietest hour needs]")
        ->check(CLI::Range(1, 1'000'000));
    sub.add_option("--max-servers", command.scaling.most,
                   "With hours: most servers of the autoscaler [as many as the busiest hour needs]")
        ->check(CLI::Range(1, 1'000'000));
    sub.add_option("--sequences", command.sequences,
                   "Also print the tokens of each of so many sequences at once")
        ->check(CLI::Range(1.0, 1e9));
    sub.add_option("--seed", command.seed, "Seed of the lengths and arrivals")->capture_default_str();
}

}  // namespace

void add_plan(CLI::App& app) {
    const auto command = std::make_shared<PlanCommand>();
    CLI::App* sub = app.add_subcommand("plan",
                                       "Find what fits on which GPUs, how many of them a load needs, and "
                                       "what they cost, before renting any");
    add_hardware_options(*sub, command->cells);
    add_load_options(*sub, *command);
    sub->option_defaults()->group("Prices and output");
    sub->add_option("--price", command->price, "Price card, by its name or as a file [the shipped cards]");
    sub->add_option("--price-basis", command->price_basis,
                    "on_demand, reserved_1y, spot, … [the card's mix or on_demand]");
    sub->add_option("--api", command->api,
                    "Hosted API to compare the cost with, by its name in a price card");
    sub->add_option(
        "--emit", command->emit,
        "Print what starts the servers of the best cell: the command of vllm, sglang, trtllm or "
        "llamacpp (planned for that engine, unless --engine names another), or the files of compose or "
        "k8s with --engine");
    sub->add_option("--model", command->cells.model,
                    "Model that --emit writes: a repository of Hugging Face or a path [by --model-card]");
    sub->add_option("--out", command->out,
                    "Directory for plan.json, plan.md, plan.html and the simulated runs");
    sub->add_flag("--json", command->json, "Print plan.json instead of text");
    sub->footer("Exit codes: 0 planned, also if nothing fits; 2 wrong options; 3 a file cannot be written.");
    sub->option_defaults()->group("Measured server");
    sub->add_option(
        "--from", command->from,
        "A run or a sweep of a server: fit a simulated server to one of its levels, and predict others");
    sub->add_option(
           "--at", command->at,
           "Levels to predict: 1,4,16 in flight, or requests per second [the other levels of the sweep]")
        ->delimiter(',');
    sub->callback([command, sub] {
        command->osl_is_given = sub->count("--osl") > 0;
        if (sub->count("--engine") == 0) plan_for_emitted(*command);
        command->from.empty() ? plan(*command) : plan_from_run(*command, *sub);
    });
}

}  // namespace paretoken::cli
