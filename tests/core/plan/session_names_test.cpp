#include "core/plan/session_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal_of_names(const std::vector<std::string>& texts) {
    try {
        (void)session_headers_of(texts);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(SessionNames, HaveTheConversationsIdUnlessAnotherScopeIsGiven) {
    EXPECT_EQ(parse_session_name("X-Session-ID"), (SessionName{"X-Session-ID", SessionScope::conversation}));
    EXPECT_EQ(parse_session_name("X-Session-ID=agent").scope, SessionScope::conversation);
    EXPECT_EQ(parse_session_name("cache_salt=job"), (SessionName{"cache_salt", SessionScope::job}));
    EXPECT_EQ(parse_session_name("X-Dynamo-Parent-Session-ID=parent").scope, SessionScope::parent);
    EXPECT_EQ(parse_session_name("X-Dynamo-Session-Final=final").scope, SessionScope::final_turn);
}

TEST(SessionNames, TheUsualHeadersAreSentUnlessOthersOrNoneAreAskedFor) {
    EXPECT_THAT(session_headers_of({}),
                ElementsAre(SessionName{"X-Session-Affinity"}, SessionName{"X-Correlation-ID"}));
    EXPECT_THAT(session_headers_of({"none"}), IsEmpty());
    EXPECT_THAT(session_headers_of({"A=job", "B"}),
                ElementsAre(SessionName{"A", SessionScope::job}, SessionName{"B"}));
}

TEST(SessionNames, RefuseControlCharactersAndUnknownScopes) {
    EXPECT_THAT(refusal_of_names({"X\r\nEvil: 1"}), HasSubstr("expected NAME"));
    EXPECT_THAT(refusal_of_names({"X-Session: 1"}), HasSubstr("expected NAME"));
    EXPECT_THAT(refusal_of_names({"=job"}), HasSubstr("expected NAME"));
    EXPECT_THAT(refusal_of_names({"X\"Y"}), HasSubstr("expected NAME"));
    EXPECT_THAT(refusal_of_names({"X=user"}), HasSubstr("'X=user': expected NAME"));
    EXPECT_THAT(refusal_of_names({"none", "X"}), HasSubstr("none stands beside other headers"));
}

TEST(SessionNames, RefuseNamesThatRequestsHaveForSomethingElse) {
    EXPECT_THAT(refusal_of_names({"Content-Length=job"}), HasSubstr("'Content-Length' is a header"));
    EXPECT_THAT(refusal_of_names({"hOST=agent"}), HasSubstr("'hOST' is a header"));
    EXPECT_THROW((void)parse_session_token("connection"), UsageError);
    for (const char* const text : {"messages=job", "model", "stream=agent"})
        EXPECT_THROW((void)parse_session_field(text), UsageError) << text;
    EXPECT_EQ(parse_session_field("user=job").name, "user");
}

TEST(SessionNames, TokensBelongToAConversationOrAJob) {
    EXPECT_EQ(parse_session_token("x-session-token").scope, SessionScope::conversation);
    EXPECT_EQ(parse_session_token("x-session-token=agent").scope, SessionScope::conversation);
    EXPECT_EQ(parse_session_token("x-session-token=job").scope, SessionScope::job);
    for (const char* const text : {"x-session-token=parent", "x-session-token=final", "none: 1", ""})
        EXPECT_THROW((void)parse_session_token(text), UsageError) << text;
}

}  // namespace
}  // namespace paretoken
