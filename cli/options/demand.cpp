#include "cli/options/demand.h"

#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "core/spec.h"

namespace paretoken::cli {

double requests_per_s_in(std::string text) {
    const std::string given = text;
    for (const std::string_view unit : {"rps", "req/s", "/s"})
        if (text.ends_with(unit)) {
            text.resize(text.size() - unit.size());
            break;
        }
    const double rate = naming("--demand", [&] { return parse_number(text); });
    if (!(rate > 0))
        throw UsageError(fmt::format("--demand {}: expected a rate above 0, such as 50rps", given));
    return rate;
}

double share_to_use(double share) {
    if (share > 0 && share <= 1) return share;
    throw UsageError(fmt::format("--target-utilization {}: expected a share above 0 and at most 1", share));
}

}  // namespace paretoken::cli
