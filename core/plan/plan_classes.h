#pragma once
// The classes of requests that --class describes: "interactive:rate=4,isl=512,osl=128".
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken {

struct RequestClass;

/// Splits "interactive:rate=4,isl=512" into the name and the fields. Throws UsageError if there is no name.
std::pair<std::string, std::string> class_name_and_fields(const std::string& spec);

/// Returns the plan with a copy of its only class for each of its `class_specs`, whose values replace the
/// copied ones. A spec with a rate, arrivals or a concurrency removes all three, one with a dataset the
/// copied dataset but for the length of outputs. Throws UsageError naming --class.
LoadPlan with_classes(LoadPlan asked);

/// A cap of a class of requests, and the option that gives it.
struct Cap {
    std::uint64_t most = 0;
    std::string_view option;
};
/// Returns the caps that the class has. Workers and shards divide each of them.
std::vector<Cap> caps_of(const RequestClass& of);

/// Returns whether the plan has classes and each of their specs gives this field, so that the field has no
/// effect if it is given for the whole load. Throws as with_classes() does.
bool every_class_gives(const LoadPlan& asked, const PlanField& field);

}  // namespace paretoken
