#pragma once
// The options of `run` and `sweep`, made from the list of a plan's fields (core/plan/plan_fields.h), and the
// configuration file, whose values they replace.
#include <CLI/App.hpp>
#include <set>
#include <string>
#include <string_view>

#include "core/plan/plan_fields.h"

namespace paretoken::cli {

/// The options that the user gave, as text.
struct PlanOptions {
    PlanTexts given;
    std::string recipe;
    std::string config;
    bool print_config = false;
};

/// The number of values that a command takes for fields that have levels.
enum class Levels {
    one,     ///< a run: one value
    several  ///< a sweep: a ladder of values, "1..64"
};

/// Adds the options of all fields except those named in `without`, and --recipe (left out if `without` has
/// "recipe"), --config and --print-config. A sweep has no --arrivals, because its levels decide them.
void add_plan_options(CLI::App& command, PlanOptions& options, Levels levels,
                      const std::set<std::string_view>& without = {});

/// Returns the recipe's values, replaced by those of the configuration file, and both replaced by those of
/// the command line. Hidden secrets come from the environment. Throws UsageError.
PlanTexts texts_of(const PlanOptions& options);

/// Returns a configuration file for the same plan, with secrets hidden. `levels` are texts that a plan cannot
/// hold: the ladder of a sweep.
std::string config_text(const LoadPlan& asked, const PlanTexts& levels = {});

}  // namespace paretoken::cli
