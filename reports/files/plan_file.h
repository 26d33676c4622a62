#pragma once
// The options of a run as JSON text ("paretoken/plan/1"), which `--print-config` prints and `--config FILE`
// reads. Keys are the names of core/plan/plan_fields.h; numbers, flags and lists have their own JSON types.
// The functions are pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken::reports {

inline constexpr std::string_view kPlanSchema = "paretoken/plan/1";

/// The options as text. `texts` has the texts of each option by its name; options without texts are left out.
std::string plan_json(const PlanTexts& texts);

/// Reads a plan; "schema" may be left out, and null means not given. Throws a UsageError that names the file
/// (`where`) for a text that is no JSON object, too deep or of another schema, and the key for one that is no
/// option or has a value of another type.
PlanTexts parse_plan_json(std::string_view text, const std::string& where);

/// Reads the cells of a sweep (`--cells FILE`, as vLLM's parameter files): a JSON list of objects {option:
/// value}. Throws a UsageError that names the file for another text or an empty list, and the number of a
/// cell that is empty or malformed.
std::vector<std::map<std::string, std::string>> parse_cells_json(std::string_view text,
                                                                 const std::string& where);

/// The options of a run (name → text) as a JSON object, in the form that result files hold: numbers and flags
/// have their own JSON types.
std::string echo_json(const PlanEcho& echo);

}  // namespace paretoken::reports
