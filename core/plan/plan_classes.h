#pragma once
// The classes of requests that --class describes: "interactive:rate=4,isl=512,osl=128".
#include <string>
#include <utility>

#include "core/plan/plan_fields.h"

namespace paretoken {

/// Splits "interactive:rate=4,isl=512" into the name and the fields. Throws UsageError if there is no name.
std::pair<std::string, std::string> class_name_and_fields(const std::string& spec);

/// Returns the plan with one class for each of its `class_specs`: a copy of the plan's only class in which
/// the values of the spec replace the copied ones. A spec that gives a rate, arrivals or a concurrency
/// removes the copied values of all three; one that gives a dataset removes the copied dataset, except the
/// length of outputs. A plan without class_specs, or whose classes have names already, is unchanged. Throws
/// UsageError naming --class.
LoadPlan with_classes(LoadPlan asked);

/// Returns whether the plan has classes and each of their specs gives this field, so that the field has no
/// effect if it is given for the whole load. Throws as with_classes() does.
bool every_class_gives(const LoadPlan& asked, const PlanField& field);

}  // namespace paretoken
