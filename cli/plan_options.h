#pragma once
// The options of `run` and `sweep`, bound from the list of a plan's fields (core/plan/plan_fields.h), and the
// configuration file that they are laid over.
#include <CLI/App.hpp>
#include <set>
#include <string>
#include <string_view>

#include "core/plan/plan_fields.h"

namespace paretoken::cli {

/// What the user gave, as text.
struct PlanOptions {
    PlanTexts given;
    std::string recipe;
    std::string config;
    bool print_config = false;
};

/// What a command takes of the fields that have levels.
enum class Levels {
    one,     ///< a run: one value
    several  ///< a sweep: a ladder of values, "1..64"
};

/// All but the fields `without`; "recipe" among them leaves out --recipe.
void add_plan_options(CLI::App& command, PlanOptions& options, Levels levels,
                      const std::set<std::string_view>& without = {});

/// The recipe's values, the configuration file's over them and the command line's over both; hidden secrets
/// come from the environment. Throws UsageError.
PlanTexts texts_of(const PlanOptions& options);

/// A configuration file that asks for the same, secrets hidden. `levels` are texts that no plan holds: a
/// sweep's ladder.
std::string config_text(const LoadPlan& asked, const PlanTexts& levels = {});

}  // namespace paretoken::cli
