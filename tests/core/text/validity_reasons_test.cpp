#include "core/text/validity_reasons.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace paretoken {
namespace {

TEST(ValidityReasons, EachCheckHasOneRowOfTwoSentences) {
    std::set<std::string_view> checks;
    for (const ValidityReason& reason : validity_reasons()) {
        EXPECT_TRUE(checks.insert(reason.check).second) << reason.check;
        for (const std::string_view text : {reason.means, reason.remedy}) {
            EXPECT_TRUE(text.ends_with('.')) << text;
            EXPECT_GT(text.size(), 20u);
        }
        EXPECT_TRUE(is_explained(reason.check));
    }
}

TEST(ValidityReasons, AFactThatIsNotKnownIsExplainedByItsKind) {
    EXPECT_TRUE(is_explained("unknown_sent"));
    EXPECT_FALSE(is_explained("nonsense"));
}

}  // namespace
}  // namespace paretoken
