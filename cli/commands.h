#pragma once
// One function per command; each adds its subcommand, options, validation and action (cli/<command>.cpp).
// An action reports failure by throwing core/error.h's Error; main turns it into one line and an exit code.
#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace paretoken {
struct LoadPlan;
}

namespace paretoken::cli {

void add_run(CLI::App& app);
void add_sweep(CLI::App& app);
void add_serve(CLI::App& app);
void add_micro(CLI::App& app);
void add_micro_compare(CLI::App& micro);  ///< `micro compare`
void add_calibrate(CLI::App& app);
void add_report(CLI::App& app);
void add_cost(CLI::App& app);
void add_plan(CLI::App& app);
void add_gate(CLI::App& app);
void add_baseline(CLI::App& app);
void add_dataset(CLI::App& app);
void add_cache(CLI::App& app);
void add_watch(CLI::App& app);
void add_compare(CLI::App& app);
void add_export(CLI::App& app);
void add_import(CLI::App& app);
void add_merge(CLI::App& app);
void add_help(CLI::App& app);
void add_show(CLI::App& app);
void add_translate(CLI::App& app);
void add_try(CLI::App& app);

/// Returns the plan of `run`, or of the first level of `sweep`, with these options. Reads no file but
/// --config and --cells. Throws an exception that says why an option is refused.
LoadPlan plan_of_run(std::vector<std::string> words);
LoadPlan plan_of_sweep(std::vector<std::string> words);

/// Prints the help that --help or --help-all among the arguments asks for; returns whether one of them does.
bool answer_help(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace paretoken::cli
