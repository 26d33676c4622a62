// paretoken sweep: measures a ladder of load levels, in any number of cells and repeats, or searches for the
// highest level that meets SLOs. Each point has a run directory. It saves after every point and can resume.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/console/console_watcher.h"
#include "cli/console/interrupt.h"
#include "cli/console/presentation.h"
#include "cli/console/print.h"
#include "cli/interop/exports.h"
#include "cli/options/invocation.h"
#include "cli/options/plan_options.h"
#include "cli/shard.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_classes.h"
#include "core/plan/shard.h"
#include "core/spec.h"
#include "experiments/fleet/fleet.h"
#include "experiments/run.h"
#include "experiments/server/command_line.h"
#include "experiments/server/launch.h"
#include "experiments/server/redaction.h"
#include "experiments/session.h"
#include "experiments/sweep/answer.h"
#include "experiments/sweep/rate_span.h"
#include "experiments/sweep/slo_search.h"
#include "experiments/sweep/sweep.h"
#include "loadgen/interruption.h"
#include "reports/files/file_io.h"
#include "reports/files/plan_file.h"
#include "reports/files/run_directory.h"
#include "reports/pages/console.h"

namespace paretoken::cli {
namespace {

using experiments::Axis;
using experiments::SweepPlan;

constexpr std::uint64_t kMostRuns = 12;  // of a search, unless an option says something else
constexpr double kSameLevel = 1;         // precision of a ladder, whose neighbours may be far apart

/// The options of a sweep, besides those of a run.
struct SweepOptions {
    PlanOptions plan;
    ExportOptions exports = {};
    Presentation shown;
    std::vector<std::string> grid;
    std::string cells_file;
    std::uint64_t repeats = 1;
    std::string order = "ascending";
    std::string restart = "changed";
    std::string search;
    double precision = 1.1;
    std::optional<std::uint64_t> max_runs = {};
    std::string max_time;
    std::string at;
    std::vector<std::string> links;
    std::string against;
    bool anyway = false;
    bool extend = false;
    bool dry_run = false;
};

/// The parsed command line: the ladder, and the plan that its levels share.
struct Asked {
    SweepPlan plan;
    PlanTexts ladder;            ///< the option that lists the levels, as given
    std::size_t auto_rates = 0;  ///< number of levels that pilot runs find; 0: the ladder lists them
};

/// Returns the number of levels of "auto" or "auto:8"; nothing for a ladder.
std::optional<std::size_t> auto_rates_in(const PlanField& field, const Texts& texts) {
    const std::string& text = texts.front();
    if (field.name != "request_rate" || !text.starts_with("auto")) return std::nullopt;
    if (text == "auto") return experiments::kUsualRates;
    const auto count =
        text[4] == ':' ? naming(option_of(field), [&] { return parse_count(text.substr(5)); }) : 0;
    if (count < 2 || count > 1000)
        throw UsageError(fmt::format("--request-rate '{}': expected auto or auto:COUNT, e.g. auto:8", text));
    return count;
}

std::vector<double> levels_of(const PlanField& field, const Texts& texts) {
    return naming(option_of(field), [&] {
        return parse_ladder(texts.front(), field.type == FieldType::count ? Rungs::whole : Rungs::decimal);
    });
}

std::vector<experiments::Cell> cells_of(const SweepOptions& options,
                                        const std::set<std::string>& placeholders) {
    if (!options.cells_file.empty() && !options.grid.empty())
        throw UsageError("--cells and --grid both say what to vary; give one of them");
    if (!options.cells_file.empty())
        return experiments::resolved_cells(
            reports::parse_cells_json(reports::read_option_file(options.cells_file, "--cells"),
                                      options.cells_file),
            options.cells_file, placeholders);
    std::vector<experiments::Variation> variations;
    for (const std::string& text : options.grid)
        variations.push_back(
            naming("--grid", [&] { return experiments::parse_variation(text, placeholders); }));
    return experiments::product_of(variations);
}

std::set<std::string> placeholders_in(const PlanTexts& texts) {
    ServerLaunch server;
    const auto text_of = [&](const char* name) {
        const auto found = texts.find(name);
        return found == texts.end() || found->second.empty() ? std::string() : found->second.front();
    };
    server.command = text_of("server_cmd");
    server.ready_url = text_of("ready_url");
    server.after_run_command = text_of("after_run_cmd");
    if (const auto found = texts.find("server_env"); found != texts.end()) server.environment = found->second;
    return experiments::placeholders_of(server);
}

/// Renames each placeholder that takes the value of an option to the name of that option.
void link_placeholders(SweepPlan& plan, const SweepOptions& options) {
    std::map<std::string, std::string> renamed;
    std::set<std::string> linked;
    for (const std::string& text : options.links) {
        const auto [name, field] = naming("--link", [&] {
            return experiments::parse_link(text, experiments::placeholders_of(plan.asked.server));
        });
        if (plan.cells.front().contains(name))
            throw UsageError(
                fmt::format("--link '{}': --grid or --cells gives {} values already", text, name));
        renamed[name] = "{" + field + "}";
        linked.insert(name);
    }
    experiments::require_values(plan.asked.server, plan.cells, linked);
    plan.asked.server = experiments::with_values(std::move(plan.asked.server), renamed);
}

/// Throws UsageError for a cell that this sweep cannot measure.
void check_cells(const SweepPlan& plan) {
    for (const experiments::Cell& cell : plan.cells) {
        for (const Axis other : {Axis::concurrency, Axis::request_rate})
            if (other != plan.axis && cell.contains(std::string(experiments::name_of(other))))
                throw UsageError(
                    fmt::format("this sweep varies {0}, but a cell sets {1}; leave {1} out of the cells",
                                experiments::name_of(plan.axis), experiments::name_of(other)));
        for (const auto& [name, value] : cell)
            if (const PlanField* field = plan_field_named(name);
                field && every_class_gives(plan.asked, *field))
                throw UsageError(fmt::format(
                    "the cells give {0}, but every --class gives its own {0}; leave it out of the "
                    "class that is to vary",
                    name));
        const LoadPlan asked = experiments::in_cell(plan.asked, cell);
        if (!cell.contains(std::string(experiments::name_of(plan.axis))))
            experiments::require_class_to_vary(asked, plan.axis);
        experiments::require_rate_for_burstiness(experiments::at_level(asked, plan.axis, 1));
    }
}

Asked asked_of(const SweepOptions& options) {
    PlanTexts texts = texts_of(options.plan);
    Asked asked;
    asked.plan.repeats = options.repeats;
    asked.plan.order = experiments::order_named(options.order);
    asked.plan.restart = experiments::restart_named(options.restart);
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
    asked.plan.cells = cells_of(options, placeholders_in(texts));
    if (asked.ladder.empty()) {
        const bool cells_say = asked.plan.cells.front().contains("request_rate");
        if (cells_say) asked.plan.axis = Axis::request_rate;
        const char* all = options.search.empty() ? "1..64" : "1..65536";
        asked.ladder[std::string(experiments::name_of(asked.plan.axis))] = {all};
    }
    const auto& [name, values] = *asked.ladder.begin();
    if (const auto count = auto_rates_in(*plan_field_named(name), values))
        asked.auto_rates = *count;
    else
        asked.plan.levels = levels_of(*plan_field_named(name), values);
    if (asked.auto_rates > 0 && (asked.plan.cells.size() > 1 || !options.search.empty()))
        throw UsageError(
            "--request-rate auto finds the levels of one cell; leave --grid, --cells and --search out");
    if (asked.auto_rates > 0 && texts.contains("class"))
        throw UsageError(
            "--request-rate auto finds the levels of a load without classes; list the rates, or leave "
            "--class out");
    asked.plan.asked =
        with_shard(experiments::with_server(plan_of(texts), texts.contains("url")), variable_of_environment);
    if (asked.plan.asked.fleet.rendezvous.empty() && shard_of(asked.plan.asked).count > 1)
        throw UsageError(
            asked.plan.asked.virtual_time
                ? "a sweep in virtual time uses all cores in one process and is not divided; leave out "
                  "--shard"
                : "a sweep decides what to measure next, so that its shards must hear of each other; give "
                  "--rendezvous HOST:PORT or --rendezvous DIRECTORY");
    link_placeholders(asked.plan, options);
    if (!options.against.empty()) {
        if (!options.search.empty() || asked.auto_rates > 0)
            throw UsageError(
                "--against measures a ladder on two servers; leave --search and --request-rate auto out");
        experiments::set_against(asked.plan, options.against);
        asked.plan.anyway = options.anyway;
    } else if (options.anyway) {
        throw UsageError(
            "--anyway is for --against with servers of different models, but there is no --against");
    }
    if (asked.plan.restart != experiments::Restart::changed && asked.plan.asked.server.command.empty())
        throw UsageError(fmt::format(
            "--restart {}: it says when the server of --server-cmd is started anew, but there is no "
            "--server-cmd",
            options.restart));
    check_cells(asked.plan);
    return asked;
}

/// Returns the search of the command line, or the ladder with a time limit; nothing if there is neither.
std::optional<experiments::SloSearchPlan> search_of(const SweepOptions& options, const SweepPlan& plan) {
    const bool ladder = options.search.empty();
    if (ladder && !options.at.empty())
        throw UsageError("--at: saturation is found by a search; add --search slo and the limits to meet");
    if (ladder && options.max_time.empty()) return std::nullopt;
    const char* const what = ladder ? "--max-time" : "--search slo";
    for (const std::string& rule : plan.asked.stop.rules)
        if (rule.starts_with("requests=") || rule.starts_with("duration="))
            throw UsageError(fmt::format(
                "--stop {}: {} lengthens runs that have too little evidence; give --num-prompts or "
                "--duration, which it can change",
                rule, what));
    if (!ladder && options.search != "slo")
        throw UsageError(fmt::format("--search '{}': expected slo", options.search));
    if (plan.asked.slos.empty())
        throw UsageError(fmt::format("{}: give the limits to meet, e.g. --slo ttft_p95:800", what));
    if (plan.cells.size() > 1 || plan.repeats > 1)
        throw UsageError(
            fmt::format("{} goes over one cell and chooses its own repeats; leave --grid, --cells, --against "
                        "and --repeat out",
                        what));
    if (!(options.precision > 1)) throw UsageError("--precision must be above 1");
    if (options.max_runs.value_or(kMostRuns) < 2)
        throw UsageError("--max-runs must be at least 2: what passes is measured twice");
    experiments::SloSearchPlan search{.sweep = plan,
                                      .ladder = ladder,
                                      .precision = options.precision,
                                      .max_runs = options.max_runs.value_or(kMostRuns)};
    if (!options.links.empty())
        throw UsageError(fmt::format(
            "{} measures one server, and --link starts one for each level; leave --link out", what));
    if (!options.max_time.empty())
        search.max_time = naming("--max-time", [&] { return parse_duration(options.max_time); });
    if (search.max_time && !options.max_runs) search.max_runs = experiments::kNoLimitOnRuns;
    if (!options.at.empty()) search.at = naming("--at", [&] { return parse_number(options.at); });
    return search;
}

bool has_run(const reports::SweepPoint& point) {
    return point.state == reports::PointState::done;
}

/// Prints what --quiet leaves of a sweep: the answer of its search, or how many of its points are valid.
void print_verdict(const reports::SweepFile& file, const std::filesystem::path& directory) {
    if (file.search) {
        print("{}", reports::answer_lines(*file.search, file.axis));
    } else {
        const auto valid = std::ranges::count_if(file.points, [](const reports::SweepPoint& point) {
            return has_run(point) && point.verdict != Verdict::invalid;
        });
        print("{} of {} points are measured and not invalid: {}\n", valid, file.points.size(),
              directory.string());
    }
    std::fflush(stdout);
}

void show_table(const reports::SweepFile& file, const std::filesystem::path& directory,
                const Presentation& shown) {
    if (shown.quiet && !shown.json) return print_verdict(file, directory);
    print_sweep(file, directory, shown);
    if (shown.json) return;
    if (std::ranges::any_of(file.points, has_run))
        print("  {:12}{}\n", "report", shown.report_command(directory));
    if (file.search && !file.search->narrow.empty()) print("  {:12}{}\n", "continue", file.search->narrow);
    std::fflush(stdout);
}

bool has_begun(const reports::SweepPoint& point) {
    return point.state != reports::PointState::pending;
}

/// Ends a sweep over a ladder: prints its table, and for each cell what its runs say about the limits. Throws
/// if a point is missing or invalid, if no cell has a load within the limits, or, if it is required that they
/// are met, unless in each cell the highest load within the limits is shown to meet them.
void conclude(const SweepPlan& plan, const reports::SweepFile& file, const std::filesystem::path& directory,
              const Presentation& shown) {
    show_table(file, directory, shown);
    std::vector<std::pair<experiments::Cell, reports::SweepSearch>> answers;
    if (!plan.asked.slos.empty())
        for (const experiments::Cell& cell : experiments::cells_of(file.points))
            answers.emplace_back(cell, experiments::answer_in(plan, file, cell, directory));
    for (const auto& [cell, answer] : answers)
        if (!shown.json)
            print("{}{}", cell.empty() ? "" : fmt::format("  {}\n", experiments::text_of(cell)),
                  reports::answer_lines(answer, file.axis));
    std::fflush(stdout);
    experiments::require_valid(file,
                               shell_line(experiments::words_to_continue(this_invocation(), directory)));
    const bool is_any_within =
        std::ranges::any_of(answers, [](const auto& of) { return of.second.within.has_value(); });
    if (plan.asked.require.empty() && is_any_within) return;
    for (const auto& [cell, answer] : answers) experiments::require_shown(file, cell, answer, kSameLevel);
}

/// Returns the points of this sweep, with the results of an earlier one in `directory`. Writes nothing.
experiments::Resumed planned(const SweepPlan& plan, const experiments::Invocation& invocation,
                             const std::filesystem::path& directory, bool extend) {
    reports::SweepFile fresh = experiments::fresh_sweep(plan, invocation);
    if (plan.asked.overwrite) return {std::move(fresh)};
    if (extend && std::filesystem::exists(directory / reports::kSweepFileName))
        fresh = experiments::extending(std::move(fresh), reports::read_sweep(directory));
    return experiments::resumed(std::move(fresh), directory);
}

/// Prints the commands that measure the points one by one, with the server that each needs.
void print_dry_run(const SweepPlan& plan, std::optional<experiments::SloSearchPlan> search,
                   std::size_t auto_rates, bool extend) {
    SweepPlan listed = plan;
    listed.asked = experiments::with_common_dataset(plan.asked, plan.cells);
    if (auto_rates > 0) {
        print(
            "# {} rates from one request at a time to saturation, found by closed loops of 1, 2, 4, … in "
            "flight\n",
            auto_rates);
        return;
    }
    if (search) {
        search->sweep = listed;
        print("# a {} {}; the command{} of the first run{}:\n", search->ladder ? "ladder" : "search",
              search->max_time ? fmt::format("that ends within {}", text_of(*search->max_time))
                               : fmt::format("of at most {} runs", search->max_runs),
              search->ladder ? "s" : "", search->ladder ? "s" : "");
        if (!search->ladder) listed.levels.resize(1);
    }
    const std::filesystem::path directory = plan.asked.out.empty() ? "runs/TIME" : plan.asked.out;
    const reports::SweepFile file = planned(listed, this_invocation(), directory, extend).file;
    if (!search) print("# {}\n", experiments::text_of(experiments::outline_of(listed, file)));
    for (const experiments::Stretch& stretch : experiments::stretches_of(listed, file.points)) {
        if (!stretch.server.empty())
            print("# one server: {}\n", stretch.server.substr(0, stretch.server.find('\n')));
        for (const std::size_t i : stretch.points) {
            const reports::SweepPoint& point = file.points[i];
            const LoadPlan at = search ? experiments::plan_of_step(*search, {.level = point.load}, point)
                                       : experiments::plan_at(listed, point);
            std::vector<std::string> words = experiments::run_words(listed, point, at);
            words.insert(words.end(), {"--out", (directory / point.directory).string()});
            print("{}{}\n", point.state == reports::PointState::done ? "# measured already: " : "",
                  shell_line(words));
        }
    }
}

void sweep(SweepPlan plan, std::optional<experiments::SloSearchPlan> search, std::size_t auto_rates,
           bool extend, const experiments::Access& access, const Presentation& shown,
           const ExportOptions& exports) {
    InterruptWatch interrupt(InterruptWatch::kFollowing, InterruptWatch::kCuttingOff);
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::sweep));
    const std::filesystem::path& directory = output.path();
    InterruptWatch::Preparation preparation(interrupt, [&output] { output.release(); });
    plan.asked = experiments::with_common_dataset(plan.asked, plan.cells);
    ConsoleWatcher watcher(interrupt, shown.quiet);
    experiments::ServerLauncher launcher(access, watcher, interrupt.token(),
                                         experiments::companions_of(plan.asked, watcher, interrupt.token()));
    const experiments::Session session{this_invocation(), watcher, {interrupt.token(), interrupt.cut_off()}};
    if (auto_rates > 0) {
        if (plan.asked.overwrite) std::filesystem::remove_all(directory / "pilot");
        const auto target = launcher.open(experiments::in_cell(plan.asked, plan.cells.front()), directory);
        preparation.end();
        auto found = experiments::rates_to_saturation(*target, plan, auto_rates, directory, session);
        plan.levels = std::move(found.rates);
        if (search) search->spent_before = found.spent;
        if (search && found.spent >= *search->max_time)
            throw Error(
                ExitCode::gate_inconclusive,
                fmt::format("the runs that found the rates took all of --max-time; this command "
                            "continues with the levels: {}",
                            shell_line(experiments::words_to_continue(session.invocation, directory))));
    }
    SweepPlan listed = plan;
    if (search) {
        search->sweep = plan;
        listed.levels.clear();  // a search chooses its levels
    }
    auto [file, judged_otherwise] = planned(listed, session.invocation, directory, extend);
    if (judged_otherwise) experiments::judge_points_anew(file, plan.asked, directory);
    if (!search && experiments::nothing_to_measure(file)) {
        print(stderr,
              "every point was measured by the sweep that began at {}; --overwrite measures them again\n",
              file.started_at);
        write_exports(exports, reports::find_run_directories(directory));
        conclude(plan, file, directory, shown);
        return;
    }
    if (!plan.asked.virtual_time) experiments::require_descriptors(experiments::most_in_flight(file));
    if (!search && !shown.quiet)
        print(stderr, "{}\n", experiments::text_of(experiments::outline_of(plan, file)));
    std::unique_ptr<experiments::Target> target;
    if (search) {
        const LoadPlan asked = experiments::in_cell(plan.asked, plan.cells.front());
        target = launcher.open(experiments::at_level(asked, plan.axis, 1), directory);
    }
    preparation.end();
    if (plan.asked.overwrite) experiments::remove_points(file, directory);
    try {
        if (search) {
            experiments::search_levels(*target, *search, file, directory, session);
        } else {
            experiments::measure_points(launcher, plan, file, directory, session);
        }
    } catch (...) {
        // Shows the points measured so far; before the first one there is only the reason.
        if (std::ranges::any_of(file.points, has_begun)) show_table(file, directory, shown);
        throw;
    }
    if (std::ranges::any_of(file.points, has_run))
        write_exports(exports, reports::find_run_directories(directory));
    if (!search) return conclude(plan, file, directory, shown);
    show_table(file, directory, shown);
    if (search->ladder && plan.asked.require.empty() && file.search->within) return;
    experiments::require_shown(file, plan.cells.front(), *file.search,
                               search->ladder ? kSameLevel : search->precision);
}

void sweep_or_print(const SweepOptions& options) {
    check(options.exports);
    const Asked asked = asked_of(options);
    const auto search = search_of(options, asked.plan);
    if (options.plan.print_config) {
        print("{}\n", config_text(asked.plan.asked, asked.ladder));
        if (!options.grid.empty() || !options.cells_file.empty() || search || options.repeats > 1 ||
            !options.against.empty())
            print(stderr,
                  "--grid, --cells, --repeat, --order, --against and --search are not part of a "
                  "configuration file\n");
        return;
    }
    if (options.dry_run) return print_dry_run(asked.plan, search, asked.auto_rates, options.extend);
    const experiments::Access access = access_of(asked.plan.asked);
    LoadPlan with_both = asked.plan.asked;
    with_both.targets.insert(with_both.targets.end(), asked.plan.against.begin(), asked.plan.against.end());
    without_telling(experiments::secrets_of(with_both, access.api_key), [&] {
        if (experiments::follows(asked.plan.asked))
            return follow(experiments::with_common_dataset(asked.plan.asked, asked.plan.cells), access);
        sweep(asked.plan, search, asked.auto_rates, options.extend, access, options.shown, options.exports);
    });
}

/// Adds the options of the command, which fill the result.
std::shared_ptr<SweepOptions> options_of(CLI::App* sub) {
    const auto options = std::make_shared<SweepOptions>();
    add_plan_options(*sub, options->plan, Levels::several, {"listen"});
    sub->option_defaults()->group("Variation");
    sub->add_option(
           "--grid", options->grid,
           "NAME=VALUE,VALUE: measure all levels for each value of an option of `run` (isl=512,2048) or of a "
           "placeholder {NAME} of --server-cmd; may be repeated, and all combinations are then measured")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    sub->add_option(
           "--cells", options->cells_file,
           "JSON list of {option: value}: measure all levels for each combination. If a combination names "
           "the load itself, only that level is measured. Parameter files of `vllm bench sweep` can be read")
        ->type_name("FILE");
    sub->add_option("--against", options->against,
                    "Second server with the same model, e.g. one that drafts tokens or has another KV "
                    "format. Every point is measured on both servers in turn, and the load at which the "
                    "better server changes is printed")
        ->type_name("URL");
    sub->add_flag("--anyway", options->anyway,
                  "With --against: also compare servers that name different models");
    sub->add_option(
           "--repeat", options->repeats,
           "Number of runs of every point, each with the next seed; the result has the spread between them")
        ->type_name("COUNT")
        ->check(CLI::Range(1, 1000))
        ->default_str("1");
    sub->add_option("--order", options->order,
                    "Order of the levels: ascending, random, or abba (upwards and downwards in turn with "
                    "--repeat), so that a drift over time does not look like an effect of the load")
        ->type_name("TEXT")
        ->default_str("ascending");
    sub->add_option("--restart", options->restart,
                    "When the server of --server-cmd is started again: changed (only when its command "
                    "changes; cells are then ordered for the fewest starts), cell, or repeat")
        ->type_name("TEXT")
        ->default_str("changed")
        ->group("Server");
    sub->add_option("--link", options->links,
                    "PLACEHOLDER=OPTION: give a placeholder of --server-cmd the value that an option has at "
                    "each level (max_num_seqs=concurrency); may be repeated")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->group("Server");
    sub->add_flag(
        "--extend", options->extend,
        "Add points with other options to the sweep that --out holds; they become cells of their own");
    sub->add_flag(
        "--dry-run", options->dry_run,
        "Print the commands that would measure the points, and the starts of servers, and do nothing else");
    sub->option_defaults()->group("Search");
    auto* const search = sub->add_option("--search", options->search,
                                         "slo: find the highest load that meets every --slo, by doubling and "
                                         "bisection. The load that is found is "
                                         "measured a second time, and only that run certifies it");
    search->type_name("TEXT");
    sub->add_option("--precision", options->precision,
                    "The search ends when the lowest load that fails is at most this many times the highest "
                    "that passes")
        ->type_name("NUMBER")
        ->default_str("1.1")
        ->needs(search);
    sub->add_option("--max-runs", options->max_runs,
                    "Largest number of runs of a search [12, or no limit with --max-time]")
        ->type_name("COUNT")
        ->needs(search);
    sub->add_option(
           "--max-time", options->max_time,
           "Time limit of a search, or of a ladder with --slo (30m; virtual time with --virtual). Runs are "
           "as "
           "long as a decision needs, and none is begun that would probably exceed the limit. On a ladder, "
           "runs that miss a limit end early, and levels next to the answer are measured again with more "
           "requests")
        ->type_name("DURATION");
    sub->add_option(
           "--at", options->at,
           "Load, in the unit of the search; its share of the saturation is printed after the search")
        ->type_name("LOAD");
    add_price_option(*sub, options->shown);
    add_presentation_options(*sub, options->shown, Shows::text_and_json);
    sub->footer(
        "--help-all also has --repeat, --json, --header, --arrivals, --virtual (a simulated server without "
        "waiting), --api-key-env and --host-noise accept (for a busy machine).");
    add_export_options(*sub, options->exports);
    return options;
}

}  // namespace

void add_sweep(CLI::App& app) {
    CLI::App* sub = app.add_subcommand(
        "sweep",
        "Measure several load levels, or search for the highest one that meets limits; can be resumed");
    sub->callback([options = options_of(sub)] { sweep_or_print(*options); });
}

LoadPlan plan_of_sweep(std::vector<std::string> words) {
    CLI::App app;
    const auto options = options_of(&app);
    std::ranges::reverse(words);
    app.parse(words);
    const SweepPlan plan = asked_of(*options).plan;
    (void)search_of(*options, plan);
    return experiments::at_level(experiments::in_cell(plan.asked, plan.cells.front()), plan.axis, 1);
}

}  // namespace paretoken::cli
