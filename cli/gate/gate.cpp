// paretoken gate: is the candidate worse than the baseline? Exit status 0: no, 1: yes, 5: undecided.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/console/console_watcher.h"
#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/gate/gate_command.h"
#include "cli/interop/exports.h"
#include "cli/interop/foreign_results.h"
#include "cli/options/invocation.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/spec.h"
#include "experiments/run.h"
#include "experiments/server/launch.h"
#include "experiments/server/lifecycle.h"
#include "experiments/server/resolve.h"
#include "experiments/session.h"
#include "reports/analysis/gate/notes.h"
#include "reports/analysis/gate/same_work.h"
#include "reports/analysis/gate/sections.h"
#include "reports/analysis/gate/why.h"
#include "reports/document/table.h"
#include "reports/files/file_io.h"
#include "reports/files/json/gate_file.h"
#include "reports/pages/gate.h"

namespace paretoken::cli {

namespace fs = std::filesystem;
using experiments::GatePlan;
using experiments::GateSide;
using reports::GatePolicy;
using reports::GateReport;

GatePolicy policy_of(const GateCommand& command) {
    GatePolicy policy = command.policy.empty()
                            ? reports::default_policy()
                            : reports::parse_policy_json(
                                  reports::read_option_file(command.policy, "--policy"), command.policy);
    if (command.max_pairs) policy.max_pairs = *command.max_pairs;
    for (const std::string& limit : command.limits)
        policy.limits.push_back(naming("--limit", [&] { return reports::parse_limit(limit); }));
    reports::check(policy);
    return policy;
}

std::set<reports::Across> across_of(const GateCommand& command) {
    return command.across.empty() ? std::set<reports::Across>() : reports::parse_across(command.across);
}

bool is_given(const GateSide& side) {
    return !side.url.empty() || !side.command.empty();
}

std::vector<fs::path> directories_of(const std::vector<std::string>& names, const std::string& store) {
    std::vector<fs::path> directories;
    for (const std::string& name : names) {
        if (fs::is_directory(name))
            directories.emplace_back(name);
        else if (reports::BaselineStore(store).holds(name))
            directories.push_back(reports::BaselineStore(store).find(name).directory);
        else
            throw UsageError(fmt::format(
                "{} is neither a directory nor a baseline in {}; `paretoken baseline list` shows the stored "
                "ones, --store names another place, and --create-baseline measures the candidate as a new "
                "one",
                name, store));
    }
    return directories;
}

namespace {

// ---- the two sides

void require_one_way(const GateCommand& command) {
    for (const auto& [name, side, directories] :
         {std::tuple{"baseline", &command.baseline_server, &command.baseline},
          std::tuple{"candidate", &command.candidate_server, &command.candidate}}) {
        const int ways =
            (side->url.empty() ? 0 : 1) + (side->command.empty() ? 0 : 1) + (directories->empty() ? 0 : 1);
        if (ways != 1)
            throw UsageError(
                fmt::format("give the {0} as one of --{0} DIR…, --{0}-url URL and --{0}-cmd COMMAND", name));
    }
    if (is_given(command.baseline_server) && !is_given(command.candidate_server))
        throw UsageError(
            "the baseline would be measured and the candidate was measured before: measure both (two URLs or "
            "commands), or give the directories of both");
    if (command.create_baseline && (command.baseline.size() != 1 || !is_given(command.candidate_server)))
        throw UsageError(
            "--create-baseline: give the name as --baseline NAME, and the server to measure as "
            "--candidate-url or --candidate-cmd");
}

// ---- the output of the verdict

void append_to(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file << text << "\n";
    if (!file.flush())
        throw RuntimeError(fmt::format("cannot write {}, which GITHUB_STEP_SUMMARY names", path));
}

void write_pages(const GateReport& report, const fs::path& directory) {
    write_page(report.headline, reports::gate_sections(report), directory, "gate");
    reports::write_file_atomically(directory / "junit.xml", reports::gate_junit(report));
}

/// Prints the report, and throws the error that its verdict requires.
void conclude(const GateReport& report, bool github, const Presentation& shown,
              const std::vector<std::string>& exports) {
    write_gate_exports(exports, report);
    if (shown.quiet)
        print("{}", reports::paragraph(report.headline));
    else
        print("{}", reports::gate_console(report, shown.verbose));
    if (github) {
        print("{}", reports::gate_annotations(report));
        if (const char* summary = std::getenv("GITHUB_STEP_SUMMARY"); summary != nullptr && *summary != '\0')
            append_to(summary, markdown_page(report.headline, reports::gate_sections(report)));
    }
    std::fflush(stdout);
    switch (report.verdict) {  // whose headline is printed above
        case reports::GateVerdict::pass:
            return;
        case reports::GateVerdict::fail:
            throw Error(ExitCode::gate_failed, "the gate failed (exit code 1)");
        case reports::GateVerdict::inconclusive:
            throw Error(ExitCode::gate_inconclusive, "the gate is inconclusive (exit code 5)");
    }
}

// ---- judging stored runs

/// Throws UsageError if the directory holds a verdict already.
void refuse_to_replace(const fs::path& directory) {
    if (fs::exists(directory / reports::kGateFileName))
        throw UsageError(
            fmt::format("{} holds the verdict of a gate; give another --out, or --overwrite to replace it",
                        directory.string()));
}

void judge(const GateCommand& command) {
    const LoadPlan asked = plan_of(texts_of(command.plan));
    if (!asked.out.empty() && !asked.overwrite) refuse_to_replace(asked.out);
    const GateReport report =
        experiments::judge_gate(policy_of(command),
                                {.baseline = directories_of(command.baseline, command.store),
                                 .candidate = directories_of(command.candidate, command.store),
                                 .history = directories_of(command.history, command.store)},
                                across_of(command), command.within_run, command.checklist);
    if (!asked.out.empty()) {
        const reports::OutputDirectory output(output_request(asked, reports::OutputKind::gate));
        reports::write_file_atomically(output.path() / reports::kGateFileName,
                                       reports::gate_json(report, std::nullopt));
        write_pages(report, output.path());
    }
    conclude(report, command.github, command.shown, command.exports);
}

// ---- measuring

/// Returns whether the baseline is to be measured for the first time.
bool creates_baseline(const GateCommand& command) {
    return command.create_baseline && !fs::is_directory(command.baseline.front()) &&
           !reports::BaselineStore(command.store).holds(command.baseline.front());
}

/// Throws UsageError if the stored runs are too few to judge any metric, before anything is measured.
void add_stored(const GateCommand& command, GatePlan& plan) {
    constexpr std::size_t kFewestStored = 3;
    for (const std::string& name : command.baseline)
        plan.baseline.stored += (plan.baseline.stored.empty() ? "" : " ") + name;
    if (creates_baseline(command)) return;
    plan.stored_runs = experiments::runs_below(directories_of(command.baseline, command.store));
    plan.history = experiments::runs_below(directories_of(command.history, command.store));
    reports::require_comparable(plan.stored_runs, {}, plan.across);
    if (const Provenance& from = plan.stored_runs.front().result.provenance; !from.measured_by.empty())
        throw UsageError(
            fmt::format("the baseline was measured by {}, and runs of different programs are not compared: "
                        "give files of it for the candidate, too (--candidate FILE…)",
                        from.program()));
    if (plan.stored_runs.size() < kFewestStored)
        throw UsageError(fmt::format(
            "the baseline has {} run{}, and a gate that measures a candidate needs {} or more: {}",
            plan.stored_runs.size(), plan.stored_runs.size() == 1 ? "" : "s", kFewestStored,
            fs::is_directory(command.baseline.front())
                ? "give the directories of further runs of the same load, too"
                : fmt::format("`paretoken baseline update {} RUN…` adds runs of the same load",
                              command.baseline.front())));
}

/// Returns whether the candidate takes the option from a stored baseline if the user does not give it.
bool is_of_work(const PlanField& field) {
    for (const char* const own :
         {"url", "model", "seed", "salt", "shard", "shards", "rendezvous", "start_at"})
        if (field.name == own) return false;
    for (const char* const also : {"endpoint", "endpoint_type", "dataset_path", "text"})
        if (field.name == also) return true;
    return field.kind == FieldKind::workload || field.kind == FieldKind::load;
}

/// Returns whether an option that is given takes the place of one of the stored run's: another option for the
/// length of the run, or a rate instead of a closed loop.
bool is_replaced(std::string_view name, const PlanTexts& given, const PlanEcho& stored) {
    if (given.contains(name)) return true;
    const bool gives_rate = given.contains("request_rate") || given.contains("arrivals");
    if (name == "arrivals" || name == "request_rate") return gives_rate;
    if (name == "num_prompts") return given.contains("duration") && !stored.contains("duration");
    if (name == "duration") return given.contains("num_prompts") && !stored.contains("num_prompts");
    const auto arrivals = stored.find("arrivals");
    const bool closed = arrivals == stored.end() || arrivals->second == "at_once";
    return (name == "concurrency" || name == "ramp_up") && gives_rate && closed;
}

/// Throws UsageError if a dataset of another kind than that of the stored run is given, whose lengths would
/// not apply to it.
void require_dataset(const RunResult& stored, const PlanTexts& given) {
    const auto before = stored.plan.find("dataset");
    const auto now = given.find("dataset");
    if (before == stored.plan.end() || now == given.end() || now->second.empty()) return;
    const auto kind_of = [](std::string_view spec) { return spec.substr(0, spec.find(':')); };
    if (kind_of(before->second) != kind_of(now->second.front()))
        throw UsageError(fmt::format(
            "--dataset {}: the baseline was measured with {}; leave --dataset out, and the candidate "
            "gets the baseline's requests",
            now->second.front(), before->second));
}

/// Returns the plan of the options `given`, and of those of a stored run for the rest of the work. Prints the
/// latter unless `quiet`. Throws UsageError if the options that are given ask for other work.
LoadPlan with_work_of(const RunResult& stored, const PlanTexts& given,
                      const std::set<reports::Across>& across, bool quiet) {
    PlanEcho taken;
    for (const auto& [name, value] : stored.plan) {
        const PlanField* const field = plan_field_named(name);
        if (field != nullptr && is_of_work(*field) && !is_replaced(name, given, stored.plan))
            taken.emplace(name, value);
    }
    require_dataset(stored, given);
    PlanTexts texts = paretoken::texts_of(taken);
    texts.insert(given.begin(), given.end());
    const LoadPlan asked = plan_of(texts);
    PlanEcho with_given = stored.plan;
    for (const auto& [name, value] : echo_of(experiments::with_load(asked))) {
        const bool is_rate = name == "arrivals" && given.contains("request_rate");
        const bool is_file = name.starts_with("dataset") || name == "text";  // it may have moved
        if (is_rate || (given.contains(name) && !is_file && name != "request_rate")) with_given[name] = value;
    }
    if (const auto found = reports::difference_of_plans(stored.plan, with_given, across))
        throw UsageError(fmt::format(
            "{}; the baseline was measured with other options: leave these out, and the candidate gets the "
            "baseline's",
            *found));
    if (const std::string line = shell_line(arguments_of(taken)); !quiet && !line.empty())
        print(stderr, "the baseline's options: {}\n", line);
    return asked;
}

GatePlan plan_of_gate(const GateCommand& command) {
    const PlanTexts given = texts_of(command.plan);
    GatePlan plan{.asked = plan_of(given),
                  .baseline = command.baseline_server,
                  .candidate = command.candidate_server,
                  .policy = policy_of(command),
                  .across = across_of(command),
                  .checklist = command.checklist};
    if (!command.baseline.empty()) add_stored(command, plan);
    if (!given.contains("seed")) plan.seeds = experiments::seeds_of(plan.stored_runs);
    if (!plan.stored_runs.empty())
        plan.asked = with_work_of(plan.stored_runs.front().result, given, plan.across, command.shown.quiet);
    if (!command.max_time.empty())
        plan.max_time = naming("--max-time", [&] { return parse_duration(command.max_time); });
    if (plan.asked.virtual_time)
        for (const GateSide* const side : {&plan.baseline, &plan.candidate})
            if (side->stored.empty() && !experiments::names_simulator(side->url))
                throw UsageError(
                    fmt::format("--virtual: both sides must be sim:PROFILE, but one is {}", side->shown()));
    return plan;
}

void print_dry_run(const GatePlan& plan) {
    const auto looks = reports::looks_of(plan.policy);
    print("baseline   {}\ncandidate  {}\n", plan.baseline.shown(), plan.candidate.shown());
    std::string at;
    for (const Look& look : looks) at += fmt::format("{}{}", at.empty() ? "" : ", ", look.pairs);
    const bool stored = !plan.baseline.stored.empty();
    const std::uint64_t sides = stored ? 1 : 2;
    const std::string_view counted = stored ? "run" : "pair";
    print("judged     after {} {}s, until there is a verdict\n", at, counted);
    const LoadPlan load = experiments::with_load(plan.asked);
    if (load.stop.duration) {
        const double pair_s = static_cast<double>(sides) * seconds(*load.stop.duration);
        print(
            "time       about {:.0f} s for each {}, {:.0f} to {:.0f} minutes in all, and the starts of "
            "servers\n",
            pair_s, counted, pair_s * 3 / 60, pair_s * static_cast<double>(plan.policy.max_pairs) / 60);
    } else {
        print("time       {0} to {1} times as long as one run, which has {2} requests\n", 3 * sides,
              sides * plan.policy.max_pairs, load.stop.requests.value_or(0));
    }
}

/// Measures the first runs of a baseline and stores them.
void create_baseline(const GateCommand& command, const GatePlan& plan, const experiments::Access& access,
                     const fs::path& directory, ConsoleWatcher& watcher, const std::stop_token& stop) {
    const std::string& name = command.baseline.front();
    reports::BaselineStore(command.store).require_writable();
    const auto runs = experiments::measure_baseline(plan, access, directory,
                                                    {this_invocation(), watcher, stop}, command.runs);
    reports::BaselineStore(command.store).save(name, runs, false);
    print("{}: {} runs stored in {} as the first ones; there was nothing to compare them with\n", name,
          runs.size(), command.store);
    if (const auto warnings = reports::warnings_text(experiments::runs_below(runs), {}); !warnings.empty())
        print("{}", reports::paragraph(warnings));
}

/// Returns ", at most 6 more minutes" for a gate that is not at its last look. `of_time`: what is left of
/// --max-time.
std::string time_left_of(const GateReport& report, std::optional<Duration> of_time) {
    if (!report.pair_s || report.pairs >= report.policy.max_pairs) return "";
    double left = *report.pair_s * static_cast<double>(report.policy.max_pairs - report.pairs);
    if (of_time) left = std::min(left, std::max(0.0, seconds(*of_time)));
    return left < 90 ? fmt::format(", at most {:.0f} more seconds", std::ceil(left))
                     : fmt::format(", at most {:.0f} more minutes", std::ceil(left / 60));
}

}  // namespace

void with_output(GatePlan plan, bool quiet, const WithOutput& action) {
    experiments::require_rate_for_burstiness(plan.asked);
    LoadPlan client = plan.asked;
    client.route = LoadPlan{}.route;  // a side may have several servers
    experiments::refuse_options_without_effect(client);
    const auto streams = experiments::most_in_flight(experiments::with_load(plan.asked));
    if (streams && !plan.asked.virtual_time) experiments::require_descriptors(*streams);
    InterruptWatch interrupt(
        "\nending the gate: repeat the command with --out set to its directory to continue it (press "
        "Ctrl-C again to end at once)\n");
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::gate));
    plan.asked = experiments::with_dataset(plan.asked);
    ConsoleWatcher watcher(interrupt, quiet);
    action(plan, output.path(), watcher, interrupt.token());
}

namespace {

void measure(const GateCommand& command, const GatePlan& plan, const experiments::Access& access,
             const fs::path& directory, ConsoleWatcher& watcher, const std::stop_token& stop) {
    if (creates_baseline(command)) return create_baseline(command, plan, access, directory, watcher, stop);
    const bool quiet = command.shown.quiet;
    const auto tell = [&plan, quiet, began = Clock::now()](const GateReport& report) {
        if (quiet || report.verdict != reports::GateVerdict::inconclusive) return;
        const auto of_time =
            plan.max_time ? std::optional(*plan.max_time - (Clock::now() - began)) : std::nullopt;
        print(stderr, "after {} {}{}: {}\n", report.pairs,
              report.design == reports::GateDesign::stored ? "runs" : "pairs", time_left_of(report, of_time),
              reports::progress_of(report));
    };
    const GateReport report =
        experiments::measure_gate(plan, access, directory, {this_invocation(), watcher, stop}, tell);
    write_pages(report, directory);
    if (!quiet) print("  files       {}\n", directory.string());
    conclude(report, command.github, command.shown, command.exports);
}

void gate(const GateCommand& command) {
    if (command.print_policy) {
        print("{}", reports::policy_json(policy_of(command)));
        return;
    }
    check_gate_exports(command.exports);
    if (!command.self_test.empty()) return self_test(command);
    require_one_way(command);
    if (!is_given(command.candidate_server)) return judge(command);
    const GatePlan plan = plan_of_gate(command);
    if (command.plan.print_config) {
        print("{}\n", config_text(plan.asked));
        return;
    }
    if (command.dry_run) return print_dry_run(plan);
    const experiments::Access access = access_of(plan.asked);
    without_telling(experiments::gate_secrets(plan, access), [&] {
        with_output(
            plan, command.shown.quiet,
            [&](const GatePlan& ready, const fs::path& directory, ConsoleWatcher& watcher,
                const std::stop_token& stop) { measure(command, ready, access, directory, watcher, stop); });
    });
}

void add_own_options(CLI::App& sub, GateCommand& command) {
    sub.option_defaults()->group("Sides");
    sub.add_option(
        "--baseline", command.baseline,
        "Runs of the baseline: directories, or the name of a stored baseline; with --candidate-url "
        "or --candidate-cmd, the candidate is measured as often as the verdict needs, with the options of "
        "the baseline's first run for workload and load, and the seeds of its runs in turn");
    sub.add_option("--candidate", command.candidate, "Runs of the candidate, three or more: directories");
    sub.add_option("--history", command.history,
                   "With --baseline: earlier baselines, as directories or names. Their variation between "
                   "days widens the intervals, and metrics that become worse over time are named");
    sub.add_option("--baseline-url", command.baseline_server.url,
                   "URL of the baseline's server; both servers are measured in turn");
    sub.add_option("--candidate-url", command.candidate_server.url, "URL of the candidate's server");
    sub.add_option("--baseline-cmd", command.baseline_server.command,
                   "Shell command that starts the baseline's server, once for each run; {port} in it becomes "
                   "a free port");
    sub.add_option("--candidate-cmd", command.candidate_server.command,
                   "Shell command that starts the candidate's server, once for each run");
    sub.add_option("--store", command.store, "Directory of the stored baselines")->capture_default_str();
    sub.add_flag("--create-baseline", command.create_baseline,
                 "If there is no --baseline NAME yet: measure the candidate and store its runs under the "
                 "name, without a verdict");
    sub.add_option(
        "--self-test", command.self_test,
        "Name of a stored baseline: measure its server against itself (6 pairs, or --max-pairs), and "
        "print the smallest shift of each metric that a gate shows on this machine, and how long a "
        "gate takes. Load and command are those of the baseline, unless options or --baseline-cmd or "
        "--baseline-url give others");
    sub.add_option("--runs", command.runs, "With --create-baseline: number of runs")
        ->capture_default_str()
        ->check(CLI::Range(3, 100));
    sub.option_defaults()->group("Verdict");
    sub.add_option("--policy", command.policy,
                   "JSON file with metrics, tolerances and limits, as --print-policy writes it");
    sub.add_flag("--print-policy", command.print_policy,
                 "Print the policy as a file for --policy and do nothing else");
    sub.add_option("--limit", command.limits,
                   "Limit that every run of the candidate must certify: ttft_p95:800 (ms), or in quotes "
                   "'ttft_p95<800ms'; may be repeated");
    sub.add_option("--across", command.across,
                   "Allowed differences between the sides, separated by commas: model, hardware, load, host")
        ->join(',');
    sub.add_option("--max-pairs", command.max_pairs,
                   "Largest number of pairs of runs, or of runs of the candidate beside a stored "
                   "baseline; at least 3 [16]");
    sub.add_option("--max-time", command.max_time,
                   "Time limit (30m): no pair is begun that would probably exceed it");
    sub.add_flag("--within-run", command.within_run,
                 "Accept one run per side, judged by its own intervals, which do not include the variation "
                 "from run to run");
    sub.add_flag("--dry-run", command.dry_run, "Print what would be measured and how long it takes");
    sub.add_flag("--checklist", command.checklist,
                 "Also list facts that should be known before a rollout: their values in the candidate's "
                 "runs, or the commands that would show them");
    sub.add_flag("--github", command.github,
                 "Print annotations for GitHub Actions, and append the verdict to its step summary");
}

}  // namespace

void add_gate(CLI::App& app) {
    const auto command = std::make_shared<GateCommand>();
    CLI::App* sub =
        app.add_subcommand("gate", "Compare a candidate with a baseline: pass, fail or inconclusive");
    add_own_options(*sub, *command);
    add_plan_options(*sub, command->plan, Levels::one,
                     and_those_of_shards({"url", "server_cmd", "server_env", "ready_url", "reset_cache",
                                          "after_run_cmd", "slo", "require", "baseline", "listen"}));
    add_presentation_options(*sub, command->shown, Shows::text);
    add_gate_export_option(*sub, command->exports);
    sub->footer(
        "Exit codes: 0 pass, 1 fail, 5 inconclusive, 2 wrong options or runs that cannot be compared, "
        "3 a side cannot be reached, 4 a run is invalid. A job of CI stops a rollout at 1; at 5 nothing is "
        "known to be worse, so that it warns and goes on (GitLab: allow_failure: exit_codes: 5; in shell: "
        "|| [ $? = 5 ]), or repeats the gate with more --max-pairs or with more stored runs, as the verdict "
        "says. --help-all also has --virtual, --api-key-env and --host-noise accept (for a busy machine).");
    sub->callback([command] {
        ForeignResults foreign;
        foreign.replace(command->baseline);
        foreign.replace(command->candidate);
        gate(*command);
    });
}

}  // namespace paretoken::cli
