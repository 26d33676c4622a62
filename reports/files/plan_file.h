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

/// Reads a plan. `where` is the file's name, for messages. The key "schema" may be left out. An option
/// whose value is null counts as not given. Throws a UsageError that names the file if the text is not a
/// JSON object, is nested too deep or has another schema. Throws a UsageError that also names the key if
/// the key is not an option, or if its value is neither a text, a number, true, false, nor a list of these.
PlanTexts parse_plan_json(std::string_view text, const std::string& where);

/// Reads the cells of a sweep (`--cells FILE`): a JSON list of objects {option: value}, which is the format
/// of vLLM's files of benchmark parameters. Keys are returned as they are written. Throws a UsageError that
/// names the file if the text is not such a list or the list is empty, and also the number of the cell if a
/// cell is empty or malformed.
std::vector<std::map<std::string, std::string>> parse_cells_json(std::string_view text,
                                                                 const std::string& where);

/// The options of a run (name → text) as a JSON object, in the form that result files hold: numbers and flags
/// have their own JSON types.
std::string echo_json(const PlanEcho& echo);

}  // namespace paretoken::reports
