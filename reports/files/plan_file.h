#pragma once
// The options of a run as JSON text ("paretoken/plan/1"), which `--print-config` prints and `--config FILE`
// reads. Keys are the names of core/plan/plan_fields.h; numbers, flags and lists have their own JSON types.
// Pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken::reports {

inline constexpr std::string_view kPlanSchema = "paretoken/plan/1";

std::string plan_json(const PlanTexts& texts);

/// Reads a plan. `where` is the file's name, for messages. The schema may be left out; null means "not
/// given". Throws a UsageError that names the file and the key if the key is not an option or its value has
/// the wrong type.
PlanTexts parse_plan_json(std::string_view text, const std::string& where);

/// Reads the cells of a sweep (`--cells FILE`): a JSON list of objects {option: value}, the format of other
/// tools' parameter files. Keys are returned as they are written. Throws a UsageError that names the file and
/// the place.
std::vector<std::map<std::string, std::string>> parse_cells_json(std::string_view text,
                                                                 const std::string& where);

/// An echo as the text of a JSON object, in the form that result files hold.
std::string echo_json(const PlanEcho& echo);

}  // namespace paretoken::reports
