#pragma once
// The simulated server in virtual time as a target.
#include <memory>

namespace paretoken {
struct LoadPlan;
}

namespace paretoken::experiments {

class Target;

/// Throws UsageError for a plan with another server, or several.
std::unique_ptr<Target> virtual_target(const LoadPlan& asked);

}  // namespace paretoken::experiments
