#include "reports/analysis/gate/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/text/printable.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;

std::string repeated(const std::string& unit, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += unit;
    return text;
}

const std::string kProse =
    "A gate compares a candidate with a baseline and says one of three things: pass, fail or inconclusive. "
    "It says fail only when the candidate is worse by more than a tolerance and chance does not explain it.";

TEST(RepeatedText, IsAnyUnitAgainAndAgainAndNoProse) {
    EXPECT_TRUE(repeats_itself(repeated(" the", 40)));
    EXPECT_TRUE(repeats_itself(repeated("!", 200)));
    EXPECT_TRUE(repeats_itself(repeated("the answer to your question is that ", 20)));
    EXPECT_TRUE(repeats_itself("A good begin, and then: " + repeated("no no no ", 40)));
    EXPECT_FALSE(repeats_itself(kProse));
    EXPECT_FALSE(repeats_itself(repeated("ab", 20))) << "too short to say";
}

TEST(AnswerCheck, CountsAnswersThatAreEmptyRepeatOneTextOrAreAllTheSame) {
    AnswerCheck check;
    check.add(0, kProse);
    check.add(1, " \n");
    check.add(2, repeated(" the", 40));
    check.add(3, kProse);
    check.add(4, "yes");
    check.add(5, "yes");
    check.add(6, "");
    const AnswerFaults& faults = check.faults();
    EXPECT_EQ(faults.answers, 7u);
    EXPECT_EQ(faults.empty, 2u);
    EXPECT_EQ(faults.repeated, 2u) << "short answers may be alike";
    EXPECT_EQ(faults.empty_example, "request 1");
    EXPECT_THAT(faults.repeated_example, HasSubstr("request 2: \"the the"));
}

TEST(AnswerCheck, ShowsTheBeginningOfAnAnswerWithoutCuttingACharacter) {
    for (const std::string first : {"", "a", "ab"}) {
        AnswerCheck check;
        check.add(0, first + repeated("\u20ac", 100));
        const std::string& shown = check.faults().repeated_example;
        EXPECT_THAT(shown, HasSubstr("\u20ac\u2026\"")) << first;
        EXPECT_EQ(printable_line(shown), shown) << "half a character would be replaced";
    }
}

}  // namespace
}  // namespace paretoken::reports
