#pragma once
// The options of a run as JSON text ("paretoken/plan/1"), for `--print-config` and `--config FILE`. Keys are
// the names of core/plan/plan_fields.h; numbers, flags and lists have their own JSON types.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken::reports {

inline constexpr std::string_view kPlanSchema = "paretoken/plan/1";

/// The options as text. `texts` has the texts of each option by its name; options without texts are left out.
/// Those that are no fields of a plan come last.
std::string plan_json(const PlanTexts& texts);

/// Reads a plan; "schema" may be left out, and null means not given. Throws a UsageError that names the file
/// (`where`) for a text of another form or schema, and the key that is unknown or has another type. `further`
/// are names of options that are no fields of a plan.
PlanTexts parse_plan_json(std::string_view text, const std::string& where,
                          const std::set<std::string_view>& further = {});

/// Reads the cells of a sweep (`--cells FILE`, as vLLM's parameter files): a JSON list of objects {option:
/// value}. Throws a UsageError that names the file, and the number of an empty or malformed cell.
std::vector<std::map<std::string, std::string>> parse_cells_json(std::string_view text,
                                                                 const std::string& where);

/// The options of a run (name → text) as a JSON object; numbers and flags have their own JSON types.
std::string echo_json(const PlanEcho& echo);

}  // namespace paretoken::reports
