#include "cards/client_ceiling.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"

namespace paretoken::cards {
namespace {

const ClientCeiling kCeiling{.events_per_s = 100'000,
                             .requests_per_s = 20'000,
                             .streams = 5000,
                             .cpu = "A \"quoted\" CPU",
                             .version = "1",
                             .measured_at = "2026-11-21T09:45:12Z"};

std::filesystem::path fresh_path(const char* name) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "client_ceiling" / name;
    std::filesystem::remove_all(folder);
    return folder / "deep" / "ceiling.json";
}

TEST(ClientCeiling, WhatWasStoredComesBack) {
    const auto path = fresh_path("back");
    store(kCeiling, path);
    EXPECT_EQ(stored_ceiling(path, kCeiling.cpu), kCeiling);
}

TEST(ClientCeiling, AnotherCpusCeilingIsNone) {
    const auto path = fresh_path("other");
    store(kCeiling, path);
    EXPECT_EQ(stored_ceiling(path, "another"), std::nullopt);
    EXPECT_EQ(stored_ceiling(fresh_path("absent"), kCeiling.cpu), std::nullopt);
}

TEST(ClientCeiling, ADamagedFileIsNamed) {
    const auto path = fresh_path("damaged");
    store(kCeiling, path);
    std::ofstream(path) << "{\"schema\": \"paretoken/client-ceiling/1\"}";
    try {
        (void)stored_ceiling(path, kCeiling.cpu);
        FAIL() << "it was taken";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("events_per_s"), std::string::npos) << error.what();
    }
}

TEST(ClientCeiling, AnUnwritablePathIsAnError) {
    EXPECT_THROW(store(kCeiling, "/proc/nowhere/ceiling.json"), RuntimeError);
}

TEST(Shortfalls, ALoadWithinTheCeilingHasNone) {
    EXPECT_TRUE(shortfalls({}, kCeiling).empty());
    EXPECT_TRUE(
        shortfalls({.requests_per_s = 500, .tokens_per_request = 200, .streams = 5000}, kCeiling).empty());
}

TEST(Shortfalls, EachThingBeyondTheCeilingIsNamedWithBothFigures) {
    const auto events = shortfalls({.requests_per_s = 501, .tokens_per_request = 200}, kCeiling);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_NE(events[0].find("needs 100200 stream events per second"), std::string::npos) << events[0];
    EXPECT_NE(events[0].find("at most 100000"), std::string::npos) << events[0];
    EXPECT_EQ(shortfalls({.requests_per_s = 21'000}, kCeiling).size(), 1u);
    EXPECT_EQ(shortfalls({.streams = 5001}, kCeiling).size(), 1u);
}

TEST(Shortfalls, WorkersAddUpButStreamsDoNot) {
    EXPECT_TRUE(
        shortfalls({.requests_per_s = 501, .tokens_per_request = 200, .workers = 2}, kCeiling).empty());
    EXPECT_EQ(shortfalls({.streams = 5001, .workers = 4}, kCeiling).size(), 1u);
}

}  // namespace
}  // namespace paretoken::cards
