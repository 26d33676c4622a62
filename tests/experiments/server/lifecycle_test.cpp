#include "experiments/server/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::experiments {
namespace {

ServerCommand shell(const std::string& script) {
    return {.program = "/bin/sh",
            .arguments = {"-c", script},
            .ready = "listening on ",
            .patience = std::chrono::seconds(20)};
}

TEST(StartedServer, has_the_address_that_it_says_when_it_is_ready) {
    const StartedServer server(shell("echo listening on http://127.0.0.1:8000 with two slots; read end"),
                               "test");
    EXPECT_EQ(server.url(), "http://127.0.0.1:8000");
}

TEST(StartedServer, that_ends_or_says_something_else_did_not_come_up) {
    EXPECT_THROW(StartedServer(shell("exit 1"), "test"), RuntimeError);
    EXPECT_THROW(StartedServer(shell("echo out of memory"), "test"), RuntimeError);
}

TEST(SimulatedProfile, is_the_default_one_when_none_is_named) {
    EXPECT_TRUE(names_simulator("sim:"));
    EXPECT_FALSE(names_simulator("http://sim:1"));
    EXPECT_EQ(simulated_profile("sim:").name, "llama3-8b-h100-bf16");
    EXPECT_EQ(simulated_profile("sim:ideal").name, "ideal");
    EXPECT_THROW(simulated_profile("sim:warp-drive"), UsageError);
    EXPECT_THROW(start_simulator("sim:warp-drive", 0), UsageError);
}

}  // namespace
}  // namespace paretoken::experiments
