#include "simulator/truth.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paretoken::sim {
namespace {

using std::chrono::nanoseconds;

TruthEntry entry_of(const std::string& id, std::size_t tokens) {
    TruthEntry entry{.id = id,
                     .received = TimePoint(nanoseconds(1'000'000'007)),
                     .kernel_stamp = true,
                     .admitted = TimePoint(nanoseconds(1'000'000'009)),
                     .prompt_tokens = 5,
                     .complete = true,
                     .due = {},
                     .written = {},
                     .tokens = {}};
    for (std::size_t k = 0; k < tokens; ++k) {
        entry.due.emplace_back(nanoseconds(2'000'000'000 + k));
        entry.written.emplace_back(nanoseconds(2'000'001'000 + k));
        entry.tokens.push_back(1);
    }
    return entry;
}

TEST(TruthLog, IsJsonWithEveryNanosecond) {
    TruthLog log;
    log.add(entry_of("a\"1", 2));
    const auto dump = nlohmann::json::parse(log.json());
    EXPECT_EQ(dump["dropped"], 0);
    EXPECT_EQ(dump["requests"][0],
              nlohmann::json::parse(R"({"id":"a\"1","received_ns":1000000007,"kernel_stamp":true,
        "admitted_ns":1000000009,"prompt_tokens":5,"complete":true,"due_ns":[2000000000,2000000001],
        "written_ns":[2000001000,2000001001],"tokens":[1,1]})"));
}

TEST(TruthLog, TellsReasoningApartWhereThereIsAny) {
    TruthEntry entry = entry_of("a", 2);
    entry.reasoning_tokens = 1;
    TruthLog log;
    log.add(entry);
    EXPECT_EQ(nlohmann::json::parse(log.json())["requests"][0]["reasoning_tokens"], 1);
}

TEST(TruthLog, NamesTheFaultThatCutAnAnswer) {
    TruthEntry entry = entry_of("a", 2);
    entry.cut_by = "error-chunk";
    TruthLog log;
    log.add(entry);
    EXPECT_EQ(nlohmann::json::parse(log.json())["requests"][0]["cut_by"], "error-chunk");
}

TEST(TruthLog, DropsTheOldestBeyondEitherBound) {
    TruthLog by_requests(3, 1000);
    for (int i = 0; i < 5; ++i) by_requests.add(entry_of(std::to_string(i), 1));
    EXPECT_EQ(by_requests.entries().size(), 3U);
    EXPECT_EQ(by_requests.entries().front().id, "2");
    TruthLog by_tokens(100, 10);
    for (int i = 0; i < 5; ++i) by_tokens.add(entry_of(std::to_string(i), 4));
    EXPECT_EQ(by_tokens.entries().size(), 2U);
    EXPECT_EQ(nlohmann::json::parse(by_tokens.json())["dropped"], 3);
}

TEST(TruthLog, IsEmptyAfterClearing) {
    TruthLog log;
    log.add(entry_of("a", 2));
    log.clear();
    EXPECT_EQ(nlohmann::json::parse(log.json())["requests"], nlohmann::json::array());
}

}  // namespace
}  // namespace paretoken::sim
