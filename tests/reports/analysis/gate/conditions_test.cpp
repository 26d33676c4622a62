#include "reports/analysis/gate/conditions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace paretoken::reports {
namespace {

TEST(Conditions, NameThreeValuesAndCountTheOthers) {
    std::vector<GateRun> runs(5);
    for (std::size_t i = 0; i < runs.size(); ++i)
        runs[i].result.provenance.started_at = fmt::format("2026-11-2{}T08:00:00Z", i);
    const auto conditions = conditions_of(runs, std::span(runs).first(1));
    ASSERT_FALSE(conditions.empty());
    EXPECT_EQ(conditions.front().name, "days");
    EXPECT_EQ(conditions.front().baseline, "2026-11-20, 2026-11-21, 2026-11-22 and 2 more");
    EXPECT_EQ(conditions.front().candidate, "2026-11-20");
}

}  // namespace
}  // namespace paretoken::reports
