#include "experiments/first_look/local_servers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/message_of.h"

namespace paretoken::experiments {
namespace {

const std::vector<std::uint16_t> kPorts = {8000, 8080, 5555};

TEST(LocalServers, TheOnlyServerIsTaken) {
    EXPECT_EQ(only_server(std::vector<LocalServer>{{.port = 8080}}, kPorts, false), "http://127.0.0.1:8080");
}

TEST(LocalServers, WithoutAServerTheErrorSaysWhereItLookedAndWhatToType) {
    const std::string message = message_of<RuntimeError>([] { only_server({}, kPorts, false); });
    for (const char* const said :
         {"8000 (vLLM)", "8080 (llama.cpp)", "5555", "paretoken try http://HOST:PORT"})
        EXPECT_NE(message.find(said), std::string::npos) << message;
}

TEST(LocalServers, OfSeveralServersOneMustBeNamed) {
    const std::vector<LocalServer> found = {{.port = 8000}, {.port = 5555}};
    const std::string message = message_of<UsageError>([&] { only_server(found, kPorts, true); });
    for (const char* const said : {"2 servers", "http://127.0.0.1:8000 and http://127.0.0.1:5555",
                                   "paretoken try http://127.0.0.1:8000"})
        EXPECT_NE(message.find(said), std::string::npos) << message;
}

TEST(LocalServers, AKeyIsAskedForUnlessThereIsOne) {
    const std::vector<LocalServer> found = {{.port = 8000, .wants_key = true}};
    const std::string message = message_of<RuntimeError>([&] { only_server(found, kPorts, false); });
    EXPECT_NE(message.find("OPENAI_API_KEY=KEY paretoken try http://127.0.0.1:8000"), std::string::npos)
        << message;
    EXPECT_EQ(only_server(found, kPorts, true), "http://127.0.0.1:8000");
}

}  // namespace
}  // namespace paretoken::experiments
