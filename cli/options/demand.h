#pragma once
// The options of commands that plan for a load: --demand and --target-utilization.
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cli {

/// Reads "50rps", "50req/s", "50/s" or "50". Throws UsageError naming --demand and, after what is expected,
/// what `other` says could have been there.
double requests_per_s_in(std::string text, std::string_view other = {});

/// Reads the requests per second of consecutive hours from a file with the columns hour and requests_per_s.
/// Throws a UsageError that names the line of a wrong value or of a gap.
std::vector<double> hourly_requests_per_s(const std::string& path);

/// Returns a share above 0 and at most 1. Throws UsageError naming --target-utilization for others.
double share_to_use(double share);

}  // namespace paretoken::cli
