#include "core/plan/hang_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/spec.h"

namespace paretoken {

HangUp parse_hang_up(std::string_view text) {
    const Spec spec = parse_spec(fmt::format("cancel:{}", text));
    spec.expect_only({"p", "after"});
    const double share = spec.number("p");
    if (!(share > 0 && share <= 1))
        throw UsageError(fmt::format("'{}': p must be above 0 and at most 1", text));
    const auto after = spec.fields.find("after");
    if (after == spec.fields.end())
        throw UsageError(fmt::format("'{}': expected p=SHARE,after=DURATION, e.g. p=.05,after=2s", text));
    std::string patience = after->second;
    std::ranges::replace(patience, ';', ',');
    return {share, RandomDuration(patience)};
}

}  // namespace paretoken
