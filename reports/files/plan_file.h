#pragma once
// What was asked of a run as JSON text ("paretoken/plan/1"): what `--print-config` prints and `--config FILE`
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

/// `where` is the file's name, for messages. The schema may be left out; null means "not given". Throws
/// UsageError naming the file and a key that is no option's or whose value has the wrong type.
PlanTexts parse_plan_json(std::string_view text, const std::string& where);

/// A JSON list of objects {option: value}: the cells of a sweep, as `--cells FILE` reads them and as
/// parameter files of other tools are written. Keys come as they stand. Throws UsageError naming the file and
/// the place.
std::vector<std::map<std::string, std::string>> parse_cells_json(std::string_view text,
                                                                 const std::string& where);

/// An echo as the text of a JSON object, as result files hold it.
std::string echo_json(const PlanEcho& echo);

}  // namespace paretoken::reports
