#pragma once
// The options of commands that plan for a load: --demand and --target-utilization.
#include <string>

namespace paretoken::cli {

/// Reads "50rps", "50req/s", "50/s" or "50". Throws UsageError naming --demand.
double requests_per_s_in(std::string text);

/// Returns a share above 0 and at most 1. Throws UsageError naming --target-utilization for others.
double share_to_use(double share);

}  // namespace paretoken::cli
