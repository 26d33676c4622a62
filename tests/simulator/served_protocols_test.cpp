#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/units.h"
#include "simulator/server.h"
#include "tests/simulator/running_server.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kMessage =
    R"({"messages":[{"role":"user","content":"Hello there"}],"max_tokens":4,"stream":true})";
constexpr std::string_view kResponse =
    R"({"input":"Hello there","max_output_tokens":4,"ignore_eos":true,"stream":true})";

TEST(ServedProtocols, StreamsMessagesAndResponses) {
    const RunningServer server("ideal?ttft=1ms&itl=1ms");
    Client client(server.port());
    const Answer message = client.ask("POST", "/v1/messages", kMessage);
    EXPECT_EQ(message.status(), 200);
    EXPECT_THAT(message.head, HasSubstr("content-type: text/event-stream"));
    EXPECT_THAT(message.body, StartsWith("event: message_start\n"));
    EXPECT_THAT(message.body, HasSubstr(R"("usage":{"input_tokens":12,"output_tokens":4})"));
    EXPECT_THAT(message.body,
                testing::EndsWith("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    const Answer response = client.ask("POST", "/v1/responses", kResponse);
    EXPECT_THAT(response.body, StartsWith("event: response.created\n"));
    EXPECT_THAT(response.body, HasSubstr("event: response.completed\n"));
    EXPECT_THAT(response.body, HasSubstr(R"("sequence_number":11,"type":"response.completed"})"));
    const json truth = truth_of(client)["requests"];
    for (const json& entry : truth) EXPECT_EQ(entry["tokens"], json({1, 1, 1, 1}));
    EXPECT_EQ(client.ask("GET", "/v1/messages").status(), 405);
    const Answer refused = client.ask("POST", "/v1/messages", "{}");
    EXPECT_EQ(refused.status(), 400);
    EXPECT_EQ(json::parse(refused.body)["type"], "error");
}

TEST(ServedProtocols, AResponseIsCreatedBeforeItsFirstToken) {
    for (const bool with_quirk : {false, true}) {
        ServerOptions options;
        if (with_quirk) options.faults = {parse_fault(FaultKind::quirk, "crlf")};
        const RunningServer server("ideal?ttft=500ms&itl=0", options);
        Client client(server.port());
        client.request("POST", "/v1/responses", kResponse);
        client.take_through("event: response.in_progress");
        const auto opened = nanoseconds_since_boot(Clock::now());
        EXPECT_THAT(client.take_through("0\r\n\r\n"), HasSubstr("response.completed"));
        EXPECT_LT(opened, truth_of(client)["requests"][0]["due_ns"][0].get<std::int64_t>());
    }
}

TEST(ServedProtocols, MessagesAndResponsesTellOfCachedTokens) {
    const RunningServer server("llama3-8b-h100-bf16");
    Client client(server.port());
    std::string words;
    for (int i = 0; i < 90; ++i) words += " word";
    const std::string message =
        fmt::format(R"({{"messages":[{{"role":"user","content":"{}"}}],"max_tokens":2}})", words.substr(1));
    const std::string response = fmt::format(R"({{"input":"{}","max_output_tokens":2}})", words.substr(1));
    EXPECT_EQ(json::parse(client.ask("POST", "/v1/messages", message).body)["usage"],
              json::parse(R"({"input_tokens":100,"output_tokens":2,"cache_creation_input_tokens":0,
                              "cache_read_input_tokens":0})"));
    EXPECT_EQ(json::parse(client.ask("POST", "/v1/messages", message).body)["usage"],
              json::parse(R"({"input_tokens":4,"output_tokens":2,"cache_creation_input_tokens":0,
                              "cache_read_input_tokens":96})"));
    const json usage = json::parse(client.ask("POST", "/v1/responses", response).body)["usage"];
    EXPECT_EQ(usage["input_tokens"], 100);
    EXPECT_EQ(usage["input_tokens_details"]["cached_tokens"], 96) << "the prompt is the same chat";
}

TEST(ServedProtocols, FailuresInsideAStreamHaveTheFormOfTheProtocol) {
    ServerOptions options;
    options.faults = {parse_fault(FaultKind::fault, "error-chunk:after=2")};
    const RunningServer server("ideal?ttft=1ms&itl=1ms", options);
    Client client(server.port());
    const Answer message =
        client.ask("POST", "/v1/messages",
                   R"({"messages":[{"role":"user","content":"x"}],"max_tokens":9,"stream":true})");
    EXPECT_THAT(message.body, testing::EndsWith("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                                                "\"InternalServerError\",\"message\":\"The engine failed.\"}}"
                                                "\n\n"));
    const Answer response =
        client.ask("POST", "/v1/responses", R"({"input":"x","max_output_tokens":9,"stream":true})");
    EXPECT_THAT(response.body, HasSubstr("event: error\ndata: {"));
    EXPECT_THAT(response.body, testing::Not(HasSubstr("response.completed")));
    const Answer chat =
        client.ask("POST", "/v1/chat/completions",
                   R"({"messages":[{"role":"user","content":"x"}],"max_tokens":9,"stream":true})");
    EXPECT_THAT(chat.body, testing::EndsWith("data: [DONE]\n\n"));
}

}  // namespace
}  // namespace paretoken::sim
