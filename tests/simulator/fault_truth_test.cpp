// What the truth log and X-Sim-Truth say of answers that a fault changes, delays or cuts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/units.h"
#include "simulator/server.h"
#include "tests/simulator/running_server.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;

std::string chat_of(std::int64_t tokens) {
    return fmt::format(
        R"({{"messages":[{{"role":"user","content":"x"}}],"max_tokens":{},"ignore_eos":true,"stream":true}})",
        tokens);
}

ServerOptions with_faults(std::initializer_list<std::string_view> quirks,
                          std::initializer_list<std::string_view> faults) {
    ServerOptions options;
    for (const auto text : quirks) options.faults.push_back(parse_fault(FaultKind::quirk, text));
    for (const auto text : faults) options.faults.push_back(parse_fault(FaultKind::fault, text));
    return options;
}

/// The events with a token: the JSON of each, in order.
std::vector<json> token_events(std::string_view bytes) {
    std::vector<json> events;
    for (std::size_t at = 0; (at = bytes.find("data: {", at)) != std::string_view::npos; ++at) {
        const std::string_view line = bytes.substr(at + 6, bytes.find('\n', at) - at - 6);
        json event = json::parse(line);
        if (event.contains("choices") && event["choices"][0]["delta"].contains("content") &&
            !event["choices"][0]["delta"].contains("role"))
            events.push_back(std::move(event));
    }
    return events;
}

/// An answer with its record in the truth log.
struct Told {
    std::vector<json> events;
    json truth;
};

Told told_of(std::string_view profile, const ServerOptions& options, std::int64_t tokens) {
    const RunningServer server(profile, options);
    std::string bytes;
    {
        Client client(server.port());
        client.request("POST", "/v1/chat/completions", chat_of(tokens),
                       "X-Sim-Truth: 1\r\nConnection: close\r\n");
        bytes = client.rest();
    }
    Client reader(server.port());
    return {token_events(bytes), truth_of(reader)["requests"].at(0)};
}

void expect_events_agree(const Told& told) {
    const json& written = told.truth["written_ns"];
    EXPECT_EQ(told.truth["tokens"].size(), written.size());
    ASSERT_EQ(told.events.size(), written.size());
    for (std::size_t k = 0; k < written.size(); ++k) {
        EXPECT_EQ(told.events[k]["sim"]["written_ns"], written[k]) << k;
        EXPECT_EQ(told.events[k]["sim"]["due_ns"], told.truth["due_ns"][k]) << k;
        EXPECT_GE(written[k], told.truth["due_ns"][k]);
    }
}

TEST(FaultTruth, EventsOfAnAnswerWithQuirksTellWhenTheyWereWritten) {
    expect_events_agree(told_of("ideal?ttft=1ms&itl=1ms", with_faults({"pings", "no-done"}, {}), 5));
    expect_events_agree(told_of("ideal?ttft=1ms&itl=1ms", with_faults({"close-delimited"}, {}), 5));
}

TEST(FaultTruth, TokensInOneWriteHaveItsTime) {
    const Told told = told_of("ideal?ttft=1ms&itl=5ms", with_faults({"coalesce:tokens=3"}, {}), 5);
    expect_events_agree(told);
    const json& written = told.truth["written_ns"];
    EXPECT_EQ(written[0], written[2]);
    EXPECT_GE(written[0], told.truth["due_ns"][2]);
    EXPECT_GT(written[3], written[2]);
    EXPECT_EQ(written[3], written[4]);
}

TEST(FaultTruth, TokensThatAStallHeldBackAreWrittenAfterIt) {
    const Told told = told_of("ideal?ttft=1ms&itl=1ms", with_faults({}, {"stall:after=2,ms=60"}), 5);
    expect_events_agree(told);
    const auto held =
        told.truth["written_ns"][2].get<std::int64_t>() - told.truth["due_ns"][2].get<std::int64_t>();
    EXPECT_GE(held, 60'000'000);
    EXPECT_LT(told.truth["written_ns"][1], told.truth["written_ns"][2]);
    EXPECT_FALSE(told.truth.contains("cut_by"));
}

TEST(FaultTruth, AResetDuringAStallLosesWhatWasHeldBack) {
    const Told told =
        told_of("ideal?ttft=1ms&itl=1ms", with_faults({}, {"stall:after=2,ms=300", "reset:after=4"}), 8);
    EXPECT_EQ(told.truth["tokens"], json({1, 1})) << "two tokens were written";
    EXPECT_EQ(told.truth["written_ns"].size(), 2U);
    EXPECT_EQ(told.truth["due_ns"].size(), 5U) << "the engine had made these";
    EXPECT_EQ(told.truth["complete"], false);
    EXPECT_EQ(told.truth["cut_by"], "reset");
}

TEST(FaultTruth, AResetLosesTheTokensThatWaitForOthers) {
    const Told told =
        told_of("ideal?ttft=1ms&itl=1ms", with_faults({"coalesce:tokens=3"}, {"reset:after=5"}), 8);
    EXPECT_EQ(told.truth["tokens"], json({1, 1, 1}));
    EXPECT_EQ(told.truth["written_ns"].size(), 3U);
}

TEST(FaultTruth, AnAnswerThatIsCutSaysByWhat) {
    for (const std::string name : {"truncate", "error-chunk"}) {
        const Told told =
            told_of("ideal?ttft=1ms&itl=1ms&reasoning=6tok", with_faults({}, {name + ":after=3"}), 9);
        EXPECT_EQ(told.truth["cut_by"], name);
        EXPECT_EQ(told.truth["complete"], true) << "as a message of HTTP";
        EXPECT_EQ(told.truth["tokens"], json({1, 1, 1}));
        EXPECT_EQ(told.truth["reasoning_tokens"], 3) << "of six, three were written";
    }
}

TEST(FaultTruth, AFaultHappensAfterItsNumberOfTokensHoweverManyAStepMakes) {
    // Every step makes four tokens: one and three accepted drafts.
    const std::string_view profile = "llama3-8b-h100-bf16?speculative_tokens=3&acceptance=1&jitter=0";
    for (const std::string name : {"truncate", "error-chunk", "reset"}) {
        for (const int after : {0, 1, 3, 7}) {
            const Told told =
                told_of(profile, with_faults({}, {fmt::format("{}:after={}", name, after)}), 30);
            std::int64_t tokens = 0;
            for (const json& count : told.truth["tokens"]) tokens += count.get<std::int64_t>();
            EXPECT_EQ(tokens, after) << name;
            EXPECT_EQ(told.truth["written_ns"].size(), told.truth["tokens"].size());
        }
    }
}

}  // namespace
}  // namespace paretoken::sim
