#include "simulator/faults.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"
#include "tests/support/simulated_load.h"

namespace paretoken::sim {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal_of(FaultKind kind, std::string_view text) {
    try {
        parse_fault(kind, text);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Faults, AreNamedWithTheirFields) {
    EXPECT_EQ(parse_fault(FaultKind::quirk, "crlf"), (Fault{.what = Misbehaviour::crlf, .seed = {}}));
    EXPECT_EQ(parse_fault(FaultKind::fault, "reset:p=.01,after=5tok,seed=3"),
              (Fault{.what = Misbehaviour::reset, .probability = .01, .seed = 3, .count = 5}));
    EXPECT_EQ(parse_fault(FaultKind::fault, "stall:ms=20,after=2"),
              (Fault{.what = Misbehaviour::stall, .seed = {}, .count = 2, .time = milliseconds(20)}));
    EXPECT_EQ(parse_fault(FaultKind::quirk, "split:bytes=3").count, 3);
}

TEST(Faults, RefusalsSayWhatThereIs) {
    EXPECT_THAT(refusal_of(FaultKind::quirk, "crfl"),
                AllOf(HasSubstr("--quirk crfl"), HasSubstr("no-space")));
    EXPECT_THAT(refusal_of(FaultKind::quirk, "reset"), HasSubstr("--fault reset"));
    EXPECT_THAT(refusal_of(FaultKind::fault, "reset:p=2"), HasSubstr("between 0 and 1"));
    EXPECT_THAT(refusal_of(FaultKind::fault, "reset:after=soon"), HasSubstr("whole number"));
    EXPECT_THAT(refusal_of(FaultKind::quirk, "split:bytes=0"), HasSubstr("from 1 on"));
    EXPECT_THAT(refusal_of(FaultKind::quirk, "crlf:ms=3"), AllOf(HasSubstr("\"ms\""), HasSubstr("p=1")));
}

TEST(Faults, EveryRowIsAcceptedAndDoesSomethingAndIsInTheHelp) {
    std::set<std::string_view> names;
    for (const FaultRow& row : fault_table()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        const Fault fault = parse_fault(row.kind, row.name);
        EXPECT_EQ(fault.what, row.what);
        EXPECT_NE(faults_of_answer(std::span(&fault, 1), 0, 1), InjectedFaults{}) << row.name;
        EXPECT_THAT(fault_help(row.kind), HasSubstr(std::string(row.title)));
    }
}

TEST(Faults, StrikeTheSameRequestsForTheSameSeedAndAsManyAsTheyShould) {
    const std::vector<Fault> faults{parse_fault(FaultKind::fault, "reset:p=.25"),
                                    parse_fault(FaultKind::quirk, "crlf:p=.5,seed=9")};
    int resets = 0;
    int both = 0;
    int moved = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        const InjectedFaults one = faults_of_answer(faults, 1, i);
        EXPECT_EQ(one, faults_of_answer(faults, 1, i));
        const InjectedFaults other = faults_of_answer(faults, 2, i);
        EXPECT_EQ(one.line_end, other.line_end) << "this one has a seed of its own";
        resets += one.reset_after ? 1 : 0;
        both += one.reset_after && one.line_end == "\r\n" ? 1 : 0;
        moved += one.reset_after != other.reset_after ? 1 : 0;
    }
    EXPECT_NEAR(resets, 2500, 200);
    EXPECT_NEAR(both, 1250, 150);
    EXPECT_GT(moved, 1000);
}

TEST(Faults, ChangeTheEventsAsTheySay) {
    const std::string plain =
        "data: {\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}\n\ndata: [DONE]\n\n";
    EXPECT_EQ(events_with_faults({}, plain), plain);
    EXPECT_EQ(events_with_faults(
                  {.line_end = "\r\n", .no_space = true, .no_done = true, .null_content = true}, plain),
              "data:{\"delta\":{\"role\":\"assistant\",\"content\":null}}\r\n\r\n");
}

TEST(Faults, PiecesJoinToTheBody) {
    const auto pieces = writes_with_faults({.piece_bytes = 3}, "abcdefgh", false);
    EXPECT_THAT(pieces, ::testing::ElementsAre("abc", "def", "gh"));
    EXPECT_THAT(writes_with_faults({.piece_bytes = 5}, "abcdefgh", true),
                ::testing::ElementsAre("5\r\nabcde\r\n", "3\r\nfgh\r\n"));
    EXPECT_THAT(writes_with_faults({}, "abc", false), ::testing::ElementsAre("abc"));
}

// Tests the injected faults through the real client.

struct Case {
    FaultKind kind = FaultKind::quirk;
    std::string text;
    Outcome outcome = Outcome::ok;
    std::int64_t tokens = 8;  ///< streamed
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
    std::string name;
    for (const char c : info.param.text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return name;
}

constexpr std::uint64_t kRequests = 6;  // slots wait after failures, longer each time

/// Returns the records of requests of eight tokens, three at a time, against a server with these faults.
std::vector<RequestRecord> records_with(std::vector<Fault> faults, bool chat = true,
                                        std::uint64_t requests = kRequests) {
    paretoken::testing::SimulatedLoad load{.requests = requests};
    load.server.faults = std::move(faults);
    load.body.protocol = chat ? &protocol::kChat : &protocol::kCompletions;
    return paretoken::testing::outcome_of(load).records;
}

class FaultyServer : public ::testing::TestWithParam<Case> {};

TEST_P(FaultyServer, EndsAsItShould) {
    const Case& wanted = GetParam();
    for (const bool chat : {true, false}) {
        const auto records = records_with({parse_fault(wanted.kind, wanted.text)}, chat);
        ASSERT_EQ(records.size(), kRequests);
        for (const RequestRecord& r : records) {
            EXPECT_EQ(name_of(r.outcome), name_of(wanted.outcome)) << r.error;
            EXPECT_EQ(r.streamed_tokens, wanted.tokens);
            if (wanted.outcome == Outcome::ok) {
                EXPECT_EQ(r.usage.completion.value_or(8), 8);
                EXPECT_EQ(r.finish_reason, "length");
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Quirks, FaultyServer,
    ::testing::Values(Case{FaultKind::quirk, "crlf"}, Case{FaultKind::quirk, "bare-cr"},
                      Case{FaultKind::quirk, "no-space"}, Case{FaultKind::quirk, "pings"},
                      Case{FaultKind::quirk, "pings:every=3"}, Case{FaultKind::quirk, "split:bytes=1"},
                      Case{FaultKind::quirk, "split:bytes=100"}, Case{FaultKind::quirk, "coalesce:tokens=3"},
                      Case{FaultKind::quirk, "coalesce:tokens=50"}, Case{FaultKind::quirk, "close-delimited"},
                      Case{FaultKind::quirk, "no-done"}, Case{FaultKind::quirk, "null-content"},
                      Case{FaultKind::quirk, "reasoning-content"},
                      Case{FaultKind::quirk, "gzip", Outcome::malformed, 0}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyServer,
    ::testing::Values(Case{FaultKind::fault, "reset:after=5tok", Outcome::disconnected, 5},
                      Case{FaultKind::fault, "stall:after=3,ms=30"},
                      Case{FaultKind::fault, "slow-headers:ms=30"},
                      Case{FaultKind::fault, "http-429", Outcome::http_error, 0},
                      Case{FaultKind::fault, "http-503", Outcome::http_error, 0},
                      Case{FaultKind::fault, "error-chunk:after=2", Outcome::stream_error, 2},
                      Case{FaultKind::fault, "truncate:after=4", Outcome::truncated, 4}),
    name_of_case);

TEST(FaultsThroughTheClient, AStallIsAGapAndSlowHeadersAreALateFirstToken) {
    for (const RequestRecord& r : records_with({parse_fault(FaultKind::fault, "stall:after=3,ms=80")}))
        EXPECT_GE(r.longest_gap.value_or(Duration{}), milliseconds(60));
    for (const RequestRecord& r : records_with({parse_fault(FaultKind::fault, "slow-headers:ms=80")})) {
        EXPECT_GE(*r.headers - *r.sent, milliseconds(80));
        EXPECT_GE(*r.first_event - *r.sent, milliseconds(80));
    }
}

TEST(FaultsThroughTheClient, ACoalescedWriteIsSeenAsOne) {
    for (const RequestRecord& r : records_with({parse_fault(FaultKind::quirk, "coalesce:tokens=4")})) {
        EXPECT_EQ(r.chunks, 8);
        EXPECT_GE(r.grouped_chunks, 6);  // 7 if a busy host reads both writes at once
    }
}

TEST(FaultsThroughTheClient, AnAnswerCompressedUnaskedIsSaidToBeWhatIsWrong) {
    for (const RequestRecord& r : records_with({parse_fault(FaultKind::quirk, "gzip")}))
        EXPECT_THAT(r.error, AllOf(HasSubstr("gzip"), HasSubstr("compression")));
}

TEST(FaultsThroughTheClient, SeveralAtOnceWithAProbabilityEachAreCountedByClass) {
    const auto records = records_with(
        {parse_fault(FaultKind::quirk, "crlf:p=.5"), parse_fault(FaultKind::quirk, "split:bytes=11"),
         parse_fault(FaultKind::fault, "reset:p=.4,seed=1"),
         parse_fault(FaultKind::fault, "http-503:p=.3,seed=2")},
        true, 12);
    std::map<std::string, int> outcomes;
    for (const RequestRecord& r : records) ++outcomes[std::string(name_of(r.outcome))];
    EXPECT_GT(outcomes["ok"], 0);
    EXPECT_GT(outcomes["disconnected"], 0);
    EXPECT_GT(outcomes["http_error"], 0);
    EXPECT_EQ(outcomes["ok"] + outcomes["disconnected"] + outcomes["http_error"], 12);
}

}  // namespace
}  // namespace paretoken::sim
