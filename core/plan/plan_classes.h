#pragma once
// The classes of requests that --class describes: "interactive:rate=4,isl=512,osl=128".
#include <string>
#include <utility>

#include "core/plan/plan_fields.h"

namespace paretoken {

/// Splits "interactive:rate=4,isl=512" into the name and the fields. Throws UsageError if there is no name.
std::pair<std::string, std::string> class_name_and_fields(const std::string& spec);

/// Returns the plan with one class for each of its `class_specs`. Each class begins as a copy of the plan's
/// only class; the values in its spec then replace the copied ones. Rate, arrivals and concurrency belong
/// together: a spec that gives one of them removes the copied values of all three. A spec that gives a
/// dataset removes the copied dataset, its fields and its file; only the field for the output length is kept.
/// A plan without class_specs, or whose classes have names already, is returned unchanged. Throws UsageError
/// naming --class and the mistake.
LoadPlan with_classes(LoadPlan asked);

/// Returns whether the plan has classes and each of their specs gives this field, so that the field has no
/// effect if it is given for the whole load. Throws as with_classes() does.
bool every_class_gives(const LoadPlan& asked, const PlanField& field);

}  // namespace paretoken
