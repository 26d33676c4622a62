#include "loadgen/probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/scripted_server.h"

namespace paretoken::loadgen {
namespace {

using paretoken::testing::ScriptedAnswer;
using paretoken::testing::ScriptedServer;
using ::testing::HasSubstr;

ScriptedAnswer json(int status, const std::string& body) {
    return {.writes = {
                fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                            status, body.size(), body)}};
}

ScriptedAnswer stream(int prompt_tokens) {
    const std::string body = fmt::format(
        "data: "
        "{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"length\"}}]}}\n\n"
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":1}}}}\n\ndata: "
        "[DONE]\n\n",
        prompt_tokens);
    return {.writes = {fmt::format(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{}",
                body.size(), body)}};
}

const std::string kModels = R"({"object":"list","data":[{"id":"first","owned_by":"x"},{"id":"second"}]})";

EndpointOptions options_for(const ScriptedServer& server) {
    EndpointOptions options;
    options.url = http::parse_url(server.url());
    options.body.ignore_eos = true;
    options.calibrate = false;
    return options;
}

std::string failure_of(const EndpointOptions& options) {
    try {
        probe(options);
    } catch (const RuntimeError& error) {
        return error.what();
    }
    return "no failure";
}

TEST(Probe, TakesTheFirstModelOfTheList) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        return text.starts_with("POST") ? stream(5) : json(404, "{}");
    });
    const EndpointFacts facts = probe(options_for(server));
    EXPECT_EQ(facts.body.model, "first");
    EXPECT_TRUE(facts.local);
    EXPECT_TRUE(facts.refused.empty());
}

TEST(Probe, LeavesOutTheOptionThatAServerRefuses) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST")) return json(404, "{}");
        if (text.find("ignore_eos") != std::string::npos)
            return json(400, R"({"error":{"message":"unknown: ignore_eos"}})");
        return stream(5);
    });
    const EndpointFacts facts = probe(options_for(server));
    EXPECT_FALSE(facts.body.ignore_eos);
    EXPECT_TRUE(facts.body.include_usage);
    EXPECT_EQ(facts.refused, std::vector<std::string>{"ignore_eos"});
}

TEST(Probe, CalibratesFromUsageWhereThereIsNoTokenizer) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST /v1/chat")) return json(404, "{}");
        const std::string body = text.substr(text.find("\r\n\r\n"));
        const auto content = body.find("\"content\":\"");
        const std::string prompt = body.substr(content + 11, body.find('"', content + 11) - content - 11);
        const auto words = 1 + std::count(prompt.begin(), prompt.end(), ' ');
        return stream(static_cast<int>(2 * words + 9));
    });
    EndpointOptions options = options_for(server);
    options.calibrate = true;
    const EndpointFacts facts = probe(options);
    ASSERT_TRUE(facts.calibration);
    EXPECT_NEAR(facts.calibration->overhead_tokens, 9, 1e-6);
    EXPECT_EQ(facts.calibration->source, "usage");
}

TEST(Probe, SaysThatTheKeyWasRefused) {
    const ScriptedServer server(
        [](int, int, const std::string&) { return json(401, R"({"error":{"message":"bad key"}})"); });
    EXPECT_THAT(failure_of(options_for(server)),
                ::testing::AllOf(HasSubstr("bad key"), HasSubstr("OPENAI_API_KEY")));
}

TEST(Probe, SaysThatTheModelIsUnknown) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        return json(404, R"({"error":{"message":"The model `nope` does not exist."}})");
    });
    EndpointOptions options = options_for(server);
    options.body.model = "nope";
    EXPECT_THAT(failure_of(options), HasSubstr("`nope` does not exist"));
}

TEST(Probe, SaysThatItIsNoOpenAiServer) {
    const ScriptedServer html([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>"}};
    });
    EXPECT_THAT(failure_of(options_for(html)), HasSubstr("OpenAI"));
    const ScriptedServer ssh([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {"SSH-2.0-OpenSSH_9.2\r\n"}, .close_after = true};
    });
    EXPECT_THAT(failure_of(options_for(ssh)), HasSubstr("does not speak HTTP"));
}

TEST(Probe, SaysThatTheConnectionWasRefused) {
    EndpointOptions options;
    {
        const ScriptedServer server([](int, int, const std::string&) { return ScriptedAnswer{}; });
        options = options_for(server);
    }
    EXPECT_THAT(failure_of(options), ::testing::AllOf(HasSubstr("cannot connect"), HasSubstr("refused")));
}

TEST(TryOne, PassesOnWhyTheWorkloadIsRefused) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST")) return json(404, "{}");
        if (text.size() > 2000) return json(400, R"({"error":{"message":"too long: 9031 tokens"}})");
        return stream(5);
    });
    const EndpointOptions options = options_for(server);
    const EndpointFacts facts = probe(options);
    Request request;
    request.prompt = std::string(5000, 'x');
    try {
        try_one(options, facts, request, std::chrono::seconds(5));
        FAIL();
    } catch (const RuntimeError& error) {
        EXPECT_THAT(error.what(), HasSubstr("too long: 9031 tokens"));
    }
}

}  // namespace
}  // namespace paretoken::loadgen
