// paretoken sweep: a ladder of load levels, in as many cells and repeats as wanted, or a search for the
// highest level that meets SLOs; a run directory each, one table; saved after every point, resumable.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/console_watcher.h"
#include "cli/interrupt.h"
#include "cli/invocation.h"
#include "cli/plan_options.h"
#include "core/error.h"
#include "core/spec.h"
#include "experiments/redaction.h"
#include "experiments/slo_search.h"
#include "experiments/sweep.h"
#include "reports/files/plan_file.h"
#include "reports/files/run_directory.h"
#include "reports/pages/console.h"

namespace paretoken::cli {
namespace {

using experiments::Axis;
using experiments::SweepPlan;

/// What a sweep takes besides the options of a run.
struct SweepOptions {
    PlanOptions plan;
    std::vector<std::string> grid;
    std::string cells_file;
    std::uint64_t repeats = 1;
    std::string order = "ascending";
    std::string search;
    std::vector<std::string> slos;
    double precision = 1.1;
    std::uint64_t max_runs = 12;
};

/// What was asked, taken apart: the ladder, and the plan that its levels have in common.
struct Asked {
    SweepPlan plan;
    PlanTexts ladder;  ///< the option that lists the levels, as given
};

std::vector<double> levels_of(const PlanField& field, const Texts& texts) {
    try {
        return parse_ladder(texts.front(), field.type == FieldType::count ? Rungs::whole : Rungs::decimal);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{} {}", option_of(field), error.what()));
    }
}

std::vector<experiments::Cell> cells_of(const SweepOptions& options) {
    if (!options.cells_file.empty() && !options.grid.empty())
        throw UsageError("--cells and --grid both say what to vary; give one of them");
    if (!options.cells_file.empty())
        return experiments::resolved_cells(
            reports::parse_cells_json(reports::read_file(options.cells_file), options.cells_file),
            options.cells_file);
    std::vector<experiments::Variation> variations;
    for (const std::string& text : options.grid) {
        try {
            variations.push_back(experiments::parse_variation(text));
        } catch (const UsageError& error) {
            throw UsageError(fmt::format("--grid {}", error.what()));
        }
    }
    return experiments::product_of(variations);
}

/// Throws UsageError where a cell cannot be asked for.
void check_cells(const SweepPlan& plan) {
    for (const experiments::Cell& cell : plan.cells) {
        for (const Axis other : {Axis::concurrency, Axis::request_rate})
            if (other != plan.axis && cell.contains(std::string(experiments::name_of(other))))
                throw UsageError(fmt::format("this sweep is over {}, and a cell names {}",
                                             experiments::name_of(plan.axis), experiments::name_of(other)));
        (void)experiments::in_cell(plan.asked, cell);
    }
}

Asked asked_of(const SweepOptions& options) {
    PlanTexts texts = texts_of(options.plan);
    Asked asked;
    asked.plan.repeats = options.repeats;
    asked.plan.order = experiments::order_named(options.order);
    asked.plan.cells = cells_of(options);
    if (texts.contains("arrivals"))
        throw UsageError("--arrivals: a sweep takes --request-rate or --concurrency, which it varies");
    for (const Axis axis : {Axis::concurrency, Axis::request_rate}) {
        const auto ladder = texts.find(experiments::name_of(axis));
        if (ladder == texts.end() || ladder->second.empty()) continue;
        if (!asked.ladder.empty()) throw UsageError("a sweep has one axis: --concurrency or --request-rate");
        asked.plan.axis = axis;
        asked.ladder.insert(*ladder);
        texts.erase(ladder);
    }
    if (asked.ladder.empty()) {
        const bool cells_say = asked.plan.cells.front().contains("request_rate");
        if (cells_say) asked.plan.axis = Axis::request_rate;
        const char* all = options.search.empty() ? "1..64" : "1..65536";
        asked.ladder[std::string(experiments::name_of(asked.plan.axis))] = {all};
    }
    const auto& [name, values] = *asked.ladder.begin();
    asked.plan.levels = levels_of(*plan_field_named(name), values);
    asked.plan.asked = plan_of(texts);
    check_cells(asked.plan);
    return asked;
}

/// The search that was asked for; nothing when none was.
std::optional<experiments::SloSearchPlan> search_of(const SweepOptions& options, const SweepPlan& plan) {
    if (options.search.empty()) {
        if (!options.slos.empty())
            throw UsageError("--slo: a sweep judges no SLO unless it searches; add --search slo");
        return std::nullopt;
    }
    if (options.search != "slo") throw UsageError(fmt::format("--search '{}': expected slo", options.search));
    if (options.slos.empty())
        throw UsageError("--search slo: give the limits to meet, e.g. --slo ttft_p95:800");
    if (plan.cells.size() > 1 || plan.repeats > 1)
        throw UsageError(
            "--search slo goes over one cell and chooses its own repeats; leave --grid, --cells and "
            "--repeat out");
    if (!(options.precision > 1)) throw UsageError("--precision must be above 1");
    if (options.max_runs < 2)
        throw UsageError("--max-runs must be at least 2: what passes is measured twice");
    experiments::SloSearchPlan search{
        .sweep = plan, .precision = options.precision, .max_runs = options.max_runs};
    for (const std::string& text : options.slos) {
        search.slos.push_back(parse_slo(text));
        search.slo_texts.push_back(text);
    }
    return search;
}

void show_table(const reports::SweepFile& file, const std::filesystem::path& directory) {
    fmt::print("{}", reports::sweep_summary(file, {.directory = directory.string()}));
    std::fflush(stdout);
}

/// The points of this sweep, with what an earlier one into the same directory has measured.
reports::SweepFile planned(const SweepPlan& plan, const experiments::Invocation& invocation,
                           const std::filesystem::path& directory) {
    reports::SweepFile fresh = experiments::fresh_sweep(plan, invocation);
    if (plan.asked.overwrite) return fresh;
    auto [file, judged_otherwise] = experiments::resumed(std::move(fresh), directory);
    if (judged_otherwise) experiments::judge_points_anew(file, plan.asked, directory);
    return file;
}

void sweep(SweepPlan plan, std::optional<experiments::SloSearchPlan> search,
           const experiments::Access& access) {
    const experiments::Invocation invocation = this_invocation();
    InterruptWatch interrupt(InterruptWatch::kFollowing, InterruptWatch::kCuttingOff);
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::sweep));
    const std::filesystem::path& directory = output.path();
    interrupt.end_at_once([&output] { output.release(); });
    plan.asked = experiments::with_dataset(plan.asked);
    SweepPlan listed = plan;
    if (search) {
        search->sweep = plan;
        listed.levels.clear();  // a search chooses its own
    }
    reports::SweepFile file = planned(listed, invocation, directory);
    if (!search && experiments::nothing_to_measure(file)) {
        fmt::print(stderr, "every point was measured by the sweep of {}; --overwrite measures them again\n",
                   file.started_at);
        show_table(file, directory);
        experiments::require_valid(file, directory);
        return;
    }
    if (!plan.asked.virtual_time) experiments::require_descriptors(experiments::most_in_flight(file));
    ConsoleWatcher watcher;
    const experiments::OpenTarget open = [&](const LoadPlan& asked) {
        return experiments::open_target(asked, access, watcher, interrupt.token());
    };
    std::unique_ptr<experiments::Target> target;
    if (search) target = open(experiments::in_cell(plan.asked, plan.cells.front()));
    interrupt.end_in_order();
    if (plan.asked.overwrite) experiments::remove_points(file, directory);
    try {
        if (search) {
            experiments::search_knee(*target, *search, file, directory, invocation, watcher,
                                     {interrupt.token(), interrupt.cut_off()});
        } else {
            experiments::measure_points(open, plan, file, directory, invocation, watcher,
                                        {interrupt.token(), interrupt.cut_off()});
        }
    } catch (...) {
        show_table(file, directory);  // what was measured until then
        throw;
    }
    show_table(file, directory);
    if (search) {
        experiments::require_found(*file.search);
    } else {
        experiments::require_valid(file, directory);
    }
}

void sweep_or_print(const SweepOptions& options) {
    const Asked asked = asked_of(options);
    const auto search = search_of(options, asked.plan);
    if (options.plan.print_config) {
        fmt::print("{}\n", config_text(asked.plan.asked, asked.ladder));
        if (!options.grid.empty() || !options.cells_file.empty() || search || options.repeats > 1)
            fmt::print(
                stderr,
                "--grid, --cells, --repeat, --order and --search are no part of a configuration file\n");
        return;
    }
    const experiments::Access access = access_of(asked.plan.asked);
    without_telling(experiments::secrets_of(asked.plan.asked, access.api_key),
                    [&] { sweep(asked.plan, search, access); });
}

}  // namespace

void add_sweep(CLI::App& app) {
    const auto options = std::make_shared<SweepOptions>();
    CLI::App* sub =
        app.add_subcommand("sweep", "Measure a ladder of load levels, or search the highest; resumable");
    add_plan_options(*sub, options->plan, Levels::several);
    const char* vary = "What to vary";
    sub->add_option(
           "--grid", options->grid,
           "NAME=VALUE,VALUE: measure the ladder for each value of an option of `run` (isl=512,2048); "
           "repeatable, all combinations are measured")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->group(vary);
    sub->add_option(
           "--cells", options->cells_file,
           "JSON list of {option: value}: measure the ladder for each; a cell that names the axis has "
           "that level alone. Parameter files of `vllm bench sweep` can be read")
        ->type_name("FILE")
        ->group(vary);
    sub->add_option("--repeat", options->repeats,
                    "Measure every point so often, each time with the next seed, and give the spread between "
                    "runs")
        ->type_name("COUNT")
        ->check(CLI::Range(1, 1000))
        ->default_str("1")
        ->group(vary);
    sub->add_option(
           "--order", options->order,
           "Order of the levels: ascending, random, or abba (up and down in turn, repeat by repeat), "
           "so that what drifts with time does not look like an effect of load")
        ->type_name("TEXT")
        ->default_str("ascending")
        ->group(vary);
    const char* searching = "Search";
    sub->add_option(
           "--search", options->search,
           "slo: find the highest level that meets every --slo, by doubling and bisection; the level "
           "found is measured a second time, and only that run certifies it")
        ->type_name("TEXT")
        ->group(searching);
    sub->add_option("--slo", options->slos,
                    "Limit on a percentile: TAG_pNN:MILLISECONDS (ttft_p95:800), p90 when none is said; "
                    "repeatable")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->group(searching);
    sub->add_option("--precision", options->precision,
                    "End when the lowest failing level is at most so many times the highest passing one")
        ->type_name("NUMBER")
        ->default_str("1.1")
        ->group(searching);
    sub->add_option("--max-runs", options->max_runs, "Runs of a search at most")
        ->type_name("COUNT")
        ->default_str("12")
        ->group(searching);
    sub->callback([options] { sweep_or_print(*options); });
}

}  // namespace paretoken::cli
