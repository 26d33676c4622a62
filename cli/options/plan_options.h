#pragma once
// Makes the options of the commands that send a load from the fields of a plan (core/plan/plan_fields.h), and
// reads and writes their configuration file (--config), whose values the command line replaces.
#include <CLI/App.hpp>
#include <set>
#include <string>
#include <string_view>

#include "core/plan/plan_fields.h"

namespace paretoken::cli {

struct PlanOptions {
    PlanTexts given = {};     ///< values from the command line, by the names of their fields
    std::string recipe = {};  ///< name given to --recipe; empty means none
    std::string config = {};  ///< path given to --config; empty means none
    bool print_config = false;
    std::set<std::string_view> further = {};  ///< options that the file may have and that are no fields
};

/// The number of values that a command takes for the concurrency and for the request rate.
enum class Levels {
    one,     ///< a run: one value
    several  ///< a sweep: a ladder of values, "1..64"
};

/// Adds the options of all fields except those named in `without`, and --recipe (left out if `without` has
/// "recipe"), --config and --print-config. Parsing fills `options`, which must outlive `command`. With
/// Levels::several there is no --arrivals, because the levels of a sweep decide the arrivals.
void add_plan_options(CLI::App& command, PlanOptions& options, Levels levels,
                      const std::set<std::string_view>& without = {});

/// Returns `names` and the fields that divide a load, for commands that one process carries out.
std::set<std::string_view> and_those_of_shards(std::set<std::string_view> names);

/// Returns the values of recipe, configuration file and command line, of which the later go before the
/// earlier. Secrets that the file hides are read from environment variables. Throws UsageError.
PlanTexts texts_of(const PlanOptions& options);

/// Returns the text of a configuration file for the plan `asked`, with secrets hidden. `levels` are further
/// values, which a plan cannot hold: the levels of a sweep ("1..64") by the name of their field, and those of
/// PlanOptions::further.
std::string config_text(const LoadPlan& asked, const PlanTexts& levels = {});

}  // namespace paretoken::cli
