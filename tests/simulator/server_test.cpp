#include "simulator/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/units.h"
#include "tests/simulator/running_server.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kChat =
    R"({"messages":[{"role":"user","content":"Hello there"}],"max_tokens":4,"ignore_eos":true,"stream":true,)"
    R"("stream_options":{"include_usage":true}})";

std::vector<std::string> events_in(const std::string& body) {
    std::vector<std::string> events;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = body.find("\n\n", from)) != std::string::npos; from = end + 2) {
        events.push_back(body.substr(from + 6, end - from - 6));
    }
    return events;
}

TEST(Server, AnswersQuestionsAboutItselfOnOneConnection) {
    const RunningServer server("llama3-8b-h100-bf16");
    Client client(server.port());
    EXPECT_EQ(server.url(), fmt::format("http://127.0.0.1:{}", server.port()));
    EXPECT_EQ(client.ask("GET", "/health").status(), 200);
    const json models = json::parse(client.ask("GET", "/v1/models").body);
    EXPECT_EQ(models["data"][0]["id"], "llama3-8b-h100-bf16");
    EXPECT_EQ(models["data"][0]["max_model_len"], 131072);
    EXPECT_THAT(client.ask("GET", "/version").body, HasSubstr("paretoken"));
    EXPECT_THAT(client.ask("GET", "/metrics").body, HasSubstr("vllm:num_requests_running"));
    EXPECT_EQ(json::parse(client.ask("GET", "/sim/profile").body)["limit_terms"]["max_num_seqs"], 256);
    EXPECT_EQ(json::parse(client.ask("POST", "/tokenize", R"({"prompt":"a b"})").body)["count"], 3);
    EXPECT_EQ(client.ask("GET", "/nowhere?x=1").status(), 404);
    EXPECT_EQ(client.ask("GET", "/v1/completions").status(), 405);
    EXPECT_EQ(client.ask("POST", "/v1/completions", "{").status(), 400);
}

TEST(Server, AHeadHasNoBodySoThatTheNextAnswerCanBeFound) {
    const RunningServer server("ideal");
    Client client(server.port());
    for (const std::string_view target : {"/metrics", "/nowhere", "/v1/completions"}) {
        client.request("HEAD", target);
        const std::string head = client.take_through("\r\n\r\n");
        EXPECT_THAT(head, StartsWith(target == "/metrics" ? "HTTP/1.1 200 " : "HTTP/1.1 40"));
        EXPECT_THAT(head, testing::Not(HasSubstr("content-length: 0\r\n")));
        EXPECT_EQ(client.ask("GET", "/health").status(), 200);
    }
}

TEST(Server, StreamsAChatAndKeepsTheConnection) {
    const RunningServer server("ideal?ttft=1ms&itl=1ms");
    Client client(server.port());
    for (const std::string id : {"one", "two"}) {
        const Answer answer =
            client.ask("POST", "/v1/chat/completions", kChat, "X-Request-Id: " + id + "\r\n");
        EXPECT_EQ(answer.status(), 200);
        EXPECT_THAT(answer.head, HasSubstr("content-type: text/event-stream"));
        const auto events = events_in(answer.body);
        ASSERT_EQ(events.size(), 1 + 4 + 1 + 1U);
        EXPECT_EQ(json::parse(events[0])["id"], "chatcmpl-" + id);
        EXPECT_EQ(json::parse(events[4])["choices"][0]["finish_reason"], "length");
        EXPECT_EQ(json::parse(events[5])["usage"]["completion_tokens"], 4);
        EXPECT_EQ(events[6], "[DONE]");
    }
}

TEST(Server, AnswersWithoutStreamingInOnePiece) {
    const RunningServer server("llama3-8b-h100-bf16");
    Client client(server.port());
    const Answer answer =
        client.ask("POST", "/v1/completions", R"({"prompt":[1,2,3],"max_tokens":3,"ignore_eos":true})");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(json::parse(answer.body)["usage"]["total_tokens"], 6);
    const json truth = truth_of(client)["requests"][0];
    EXPECT_EQ(truth["due_ns"].size(), 3U);
    EXPECT_EQ(truth["written_ns"].size(), 1U);
    EXPECT_EQ(truth["tokens"], json::array({3}));
}

TEST(Server, TellsTheTruthOfEachRequest) {
    const RunningServer server("ideal?ttft=20ms&itl=10ms");
    Client client(server.port());
    const auto before = nanoseconds_since_boot(Clock::now());
    client.ask("POST", "/v1/chat/completions", kChat, "X-Request-Id: mine\r\n");
    const auto after = nanoseconds_since_boot(Clock::now());
    const json truth = truth_of(client)["requests"][0];
    EXPECT_EQ(truth["id"], "mine");
    EXPECT_EQ(truth["complete"], true);
    EXPECT_EQ(truth["prompt_tokens"], 12);
    EXPECT_EQ(truth["tokens"], json({1, 1, 1, 1}));
    const std::int64_t received = truth["received_ns"];
    EXPECT_GE(received, before);
    ASSERT_EQ(truth["due_ns"].size(), 4U);
    ASSERT_EQ(truth["written_ns"].size(), 4U);
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(truth["due_ns"][k], received + 20'000'000 + static_cast<std::int64_t>(k) * 10'000'000);
        EXPECT_GE(truth["written_ns"][k], truth["due_ns"][k]);
        EXPECT_LE(truth["written_ns"][k], after);
    }
    EXPECT_EQ(client.ask("DELETE", "/sim/truth").status(), 200);
    EXPECT_EQ(truth_of(client)["requests"], json::array());
}

TEST(Server, EachEventTellsWhenItWasWrittenWhenAskedTo) {
    const RunningServer server("ideal?ttft=1ms&itl=1ms");
    Client client(server.port());
    const auto events = events_in(
        client.ask("POST", "/v1/chat/completions", kChat, "X-Sim-Truth: 1\r\nX-Request-Id: mine\r\n").body);
    const json truth = truth_of(client)["requests"][0];
    for (std::size_t k = 0; k < 4; ++k) {
        const json sim = json::parse(events[1 + k])["sim"];
        EXPECT_EQ(sim["due_ns"], truth["due_ns"][k]);
        EXPECT_EQ(sim["written_ns"], truth["written_ns"][k]);
    }
    EXPECT_FALSE(
        json::parse(events_in(client.ask("POST", "/v1/chat/completions", kChat).body)[1]).contains("sim"));
}

TEST(Server, TokensGoToWordsAndBack) {
    const RunningServer server("ideal");
    Client client(server.port());
    const json ids =
        json::parse(client.ask("POST", "/tokenize", R"({"prompt":"Hello there","add_special_tokens":false})")
                        .body)["tokens"];
    EXPECT_EQ(client.ask("POST", "/detokenize", json{{"model", "ideal"}, {"tokens", ids}}.dump()).body,
              R"({"prompt":"Hello there"})");
    EXPECT_EQ(client.ask("POST", "/detokenize", "{}").status(), 400);
}

TEST(Server, SpeaksLikeLlamacppWhenToldTo) {
    ServerOptions options;
    options.dialect = Dialect::llamacpp;
    const RunningServer server("llama3-8b-h100-bf16", options);
    Client client(server.port());
    const auto ask = [&](std::string_view method, std::string_view target, std::string_view body = "") {
        client.request(method, target, body);
        std::string head = client.take_through("\r\n\r\n");
        const auto length = head.find("Content-Length: ");
        return Answer{head,
                      client.take(length == std::string::npos ? 0 : std::stoul(head.substr(length + 16)))};
    };
    const Answer health = ask("GET", "/health");
    EXPECT_EQ(health.body, R"({"status":"ok"})");
    EXPECT_THAT(health.head, HasSubstr("Server: llama.cpp\r\n"));
    EXPECT_THAT(health.head, HasSubstr("Keep-Alive: timeout=5, max=100\r\n"));
    EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("llamacpp:requests_processing 0"));
    EXPECT_EQ(json::parse(ask("GET", "/props").body)["default_generation_settings"]["n_ctx"], 131072);
    EXPECT_EQ(json::parse(ask("GET", "/v1/models").body)["data"][0]["owned_by"], "llamacpp");
    const Answer whole =
        ask("POST", "/v1/chat/completions",
            R"({"messages":[{"role":"user","content":"x"}],"max_tokens":3,"ignore_eos":true,"model":"any"})");
    EXPECT_EQ(json::parse(whole.body)["timings"]["predicted_n"], 3);
    const Answer error = ask("POST", "/v1/chat/completions", R"({"messages":"x"})");
    EXPECT_EQ(json::parse(error.body)["error"]["message"], "Expected 'messages' to be an array");
    EXPECT_THAT(error.head, HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(client.rest(), "") << "an error ends the connection";
    Client lost(server.port());
    lost.request("GET", "/version");
    EXPECT_THAT(lost.rest(), HasSubstr("File Not Found"));
}

TEST(Server, ClosesAConnectionThatWasUsedOrIdleForLongEnough) {
    ServerOptions options;
    options.keep_alive = KeepAliveLimits{.requests = 2, .idle = std::chrono::milliseconds(60)};
    const RunningServer server("ideal?ttft=1ms&itl=1ms", options);
    Client used(server.port());
    EXPECT_THAT(used.ask("GET", "/health").head, testing::Not(HasSubstr("connection: close")));
    EXPECT_THAT(used.ask("GET", "/health").head, HasSubstr("connection: close"));
    EXPECT_EQ(used.rest(), "");
    Client idle(server.port());
    EXPECT_EQ(idle.ask("GET", "/health").status(), 200);
    const TimePoint before = Clock::now();
    EXPECT_EQ(idle.rest(), "");
    EXPECT_GE(Clock::now() - before, std::chrono::milliseconds(50));
}

TEST(Server, ServesManyConnectionsAtOnceWithTheBatchingEngine) {
    const RunningServer server("llama3-8b-h100-bf16?max_num_seqs=16");
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 40; ++i) {
        clients.push_back(std::make_unique<Client>(server.port()));
        clients.back()->request("POST", "/v1/chat/completions", kChat,
                                fmt::format("X-Request-Id: {}\r\n", i));
    }
    for (const auto& client : clients) EXPECT_EQ(events_in(client->answer().body).size(), 7U);
    const json truth = truth_of(*clients[0]);
    ASSERT_EQ(truth["requests"].size(), 40U);
    for (const json& entry : truth["requests"]) {
        EXPECT_GE(entry["admitted_ns"], entry["received_ns"]);
        EXPECT_GT(entry["due_ns"][0], entry["admitted_ns"]);
        EXPECT_GE(entry["written_ns"][0], entry["due_ns"][0]);
    }
    const std::string metrics = clients[0]->ask("GET", "/metrics").body;
    EXPECT_THAT(
        metrics,
        HasSubstr("vllm:generation_tokens_total{engine=\"0\",model_name=\"llama3-8b-h100-bf16\"} 160"));
    EXPECT_THAT(metrics,
                HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"llama3-8b-h100-bf16\"} 0"));
}

TEST(Server, ReportsWhatItFoundInItsPrefixCache) {
    const RunningServer server("llama3-8b-h100-bf16");
    Client client(server.port());
    const auto usage_of = [&](const std::string& messages) {
        const Answer answer =
            client.ask("POST", "/v1/chat/completions",
                       fmt::format(R"({{"messages":[{}],"max_tokens":40,"ignore_eos":true}})", messages));
        return json::parse(answer.body);
    };
    std::string words;
    for (int i = 0; i < 90; ++i) words += " word";  // 100 tokens with those of the template
    const std::string first = fmt::format(R"({{"role":"user","content":"{}"}})", words.substr(1));
    const json opening = usage_of(first);
    EXPECT_EQ(opening["usage"]["prompt_tokens"], 100);
    EXPECT_EQ(opening["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    EXPECT_EQ(usage_of(first)["usage"]["prompt_tokens_details"]["cached_tokens"], 96);
    // The next turn repeats prompt and answer: 100 + 39 computed tokens, 8 full blocks.
    const json next =
        usage_of(fmt::format(R"({},{{"role":"assistant","content":{}}},{{"role":"user","content":"x"}})",
                             first, opening["choices"][0]["message"]["content"].dump()));
    EXPECT_EQ(next["usage"]["prompt_tokens_details"]["cached_tokens"], 128);
    EXPECT_EQ(truth_of(client)["requests"][2]["cached_tokens"], 128);
    const std::string metrics = client.ask("GET", "/metrics").body;
    EXPECT_THAT(
        metrics,
        HasSubstr("vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"llama3-8b-h100-bf16\"} 224"));
    EXPECT_THAT(metrics,
                HasSubstr(fmt::format(
                    "vllm:prefix_cache_queries_total{{engine=\"0\",model_name=\"llama3-8b-h100-bf16\"}} {}",
                    200 + next["usage"]["prompt_tokens"].get<int>())));
    EXPECT_EQ(client.ask("POST", "/reset_prefix_cache").status(), 200);
    EXPECT_EQ(usage_of(first)["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST(Server, StreamsTellOfCachedTokensToo) {
    const RunningServer server("llama3-8b-h100-bf16");
    Client client(server.port());
    const std::string salted =
        R"({"prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18],"max_tokens":1,"stream":true,)"
        R"("cache_salt":"SALT","stream_options":{"include_usage":true}})";
    const auto cached = [&](const std::string& salt) {
        std::string body = salted;
        body.replace(body.find("SALT"), 4, salt);
        const auto events = events_in(client.ask("POST", "/v1/completions", body).body);
        return json::parse(events[events.size() - 2])["usage"]["prompt_tokens_details"]["cached_tokens"];
    };
    EXPECT_EQ(cached("a"), 0);
    EXPECT_EQ(cached("a"), 16);
    EXPECT_EQ(cached("b"), 0) << "another salt shares nothing";
}

TEST(Server, AClientThatGoesAwayFreesItsPlace) {
    const RunningServer server("llama3-8b-h100-bf16?max_num_seqs=1");
    auto leaver = std::make_unique<Client>(server.port());
    leaver->request("POST", "/v1/completions",
                    R"({"prompt":"x","max_tokens":100000,"ignore_eos":true,"stream":true})");
    leaver->take_through("data: ");
    leaver.reset();
    Client client(server.port());
    EXPECT_EQ(client.ask("POST", "/v1/chat/completions", kChat).status(), 200);
    const json truth = truth_of(client);
    EXPECT_EQ(truth["requests"][0]["complete"], false);
    EXPECT_EQ(truth["requests"][1]["complete"], true);
    EXPECT_THAT(client.ask("GET", "/metrics").body, HasSubstr("finished_reason=\"abort\"} 1"));
}

TEST(Server, AsksForTheKeyUnderV1) {
    ServerOptions options;
    options.api_key = "secret";
    const RunningServer server("ideal", options);
    Client client(server.port());
    const Answer refused = client.ask("GET", "/v1/models");
    EXPECT_EQ(refused.status(), 401);
    EXPECT_EQ(refused.body, R"({"error":"Unauthorized"})");
    EXPECT_EQ(client.ask("GET", "/v1/models", "", "Authorization: Bearer secret\r\n").status(), 200);
    EXPECT_EQ(client.ask("GET", "/health").status(), 200);
}

TEST(Server, RefusesAPromptThatNeverFits) {
    ServerOptions options;
    options.max_model_len = 20;
    const RunningServer server("ideal", options);
    Client client(server.port());
    const Answer answer = client.ask("POST", "/v1/completions", R"({"prompt":[1,2,3],"max_tokens":18})");
    EXPECT_EQ(answer.status(), 400);
    EXPECT_THAT(answer.body, HasSubstr("maximum context length is 20 tokens"));
}

TEST(Server, ClosesWhenAskedTo) {
    const RunningServer server("ideal?ttft=0&itl=0");
    Client client(server.port());
    client.request("POST", "/v1/chat/completions", kChat, "Connection: close\r\n");
    const std::string all = client.rest();
    EXPECT_THAT(all, HasSubstr("connection: close\r\n"));
    EXPECT_THAT(all, testing::EndsWith("0\r\n\r\n"));
    Client old(server.port());
    old.send(fmt::format("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: {}\r\n\r\n{}", kChat.size(),
                         kChat));
    const std::string until_close = old.rest();
    EXPECT_THAT(until_close, testing::EndsWith("data: [DONE]\n\n"));
    EXPECT_THAT(until_close, testing::Not(HasSubstr("chunked")));
}

TEST(Server, TakesRequestsInPiecesAndSeveralAtOnce) {
    const RunningServer server("ideal?ttft=0&itl=0");
    const std::string request = fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", kChat.size(), kChat);
    Client slow(server.port());
    for (const char c : request) slow.send({&c, 1});
    EXPECT_EQ(events_in(slow.answer().body).size(), 7U);
    Client pipelined(server.port());
    pipelined.send(request + request + request);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(events_in(pipelined.answer().body).size(), 7U);
}

TEST(Server, SurvivesWhatIsNotHttp) {
    const RunningServer server("ideal");
    for (const std::string_view bytes : {"\x16\x03\x01 not http at all\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"}) {
        Client client(server.port());
        client.send(bytes);
        EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 400 "));
    }
    Client client(server.port());
    client.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n");
    EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 413 "));
    EXPECT_EQ(Client(server.port()).ask("GET", "/health").status(), 200);
}

TEST(Server, AnswersExpectContinueBeforeTheBody) {
    const RunningServer server("ideal?ttft=0&itl=0");
    Client client(server.port());
    client.send(fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        kChat.size()));
    EXPECT_EQ(client.take_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(kChat);
    EXPECT_EQ(client.answer().status(), 200);
}

TEST(Server, AReaderThatFallsBehindStillGetsEverything) {
    const RunningServer server("ideal?ttft=0&itl=0");
    Client client(server.port());
    // 30,000 tokens are about 7 MB: more than the kernel holds before anything is read.
    client.request("POST", "/v1/completions",
                   R"({"prompt":"x","max_tokens":30000,"ignore_eos":true,"stream":true})");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(events_in(client.answer().body).size(), 30'001U);
    EXPECT_EQ(client.ask("GET", "/health").status(), 200);
}

TEST(Server, ReadsABodyOfManyMegabytesInEitherFraming) {
    ServerOptions options;
    options.max_model_len = 1 << 30;
    const RunningServer server("ideal?ttft=0&itl=0", options);
    const std::string text(20 << 20, 'x');
    const std::string body = R"({"prompt":")" + text + R"(","max_tokens":1,"ignore_eos":true})";
    Client client(server.port());
    client.request("POST", "/v1/completions", body);
    const Answer whole = client.answer();
    EXPECT_EQ(whole.status(), 200);
    client.send(
        fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                    body.size(), body));
    const Answer chunked = client.answer();
    EXPECT_EQ(json::parse(chunked.body)["usage"], json::parse(whole.body)["usage"]);
}

TEST(Server, AClientThatSendsTooMuchStillReadsWhy) {
    const RunningServer server("ideal");
    const std::string piece = fmt::format("{:x}\r\n{}\r\n", 1 << 20, std::string(1 << 20, ' '));
    Client client(server.port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 80; ++i) client.send(piece);
    EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 413 "));
    EXPECT_EQ(Client(server.port()).ask("GET", "/health").status(), 200);
}

TEST(Server, RequestsSentAheadAreAnsweredInTurn) {
    const RunningServer server("ideal?ttft=20ms&itl=0");
    const std::string body =
        R"({"prompt":")" + std::string(3 << 20, ' ') + R"(","max_tokens":1,"ignore_eos":true})";
    const std::string request = fmt::format(
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
    Client client(server.port());
    client.send(request + request + request);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.answer().status(), 200);
}

TEST(Server, AnEventBeyondSixteenMegabytesIsAWholeChunk) {
    ServerOptions options;
    options.max_model_len = 1 << 30;
    const RunningServer server("ideal?ttft=0&itl=0", options);
    const std::string name(17 << 20, 'n');
    Client client(server.port());
    const Answer answer = client.ask(
        "POST", "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":"x"}],"max_tokens":2,"stream":true,"ignore_eos":true,)"
        R"("tools":[{"function":{"name":")" +
            name + R"("}}]})");
    const auto events = events_in(answer.body);
    ASSERT_EQ(events.size(), 1 + 2 + 1U);
    const json call = json::parse(events[1])["choices"][0]["delta"]["tool_calls"][0];
    EXPECT_EQ(call["function"]["name"].get<std::string>().size(), name.size());
    EXPECT_EQ(client.ask("GET", "/health").status(), 200);
}

TEST(Server, ASessionTokenIsSetReturnedLoggedAndHeldAgainstThoseThatWereSet) {
    ServerOptions options;
    options.session_token = "X-Session-Token";
    options.affinity_header = "X-Session-Affinity";
    options.replicas = 3;
    const RunningServer server("ideal?ttft=1ms&itl=1ms", options);
    Client client(server.port());
    const auto asked = [&](const std::string& headers, std::string_view body = kChat) {
        return client.ask("POST", "/v1/chat/completions", body, headers);
    };
    const auto token_in = [](const Answer& answer) {
        const std::size_t at = answer.head.find("X-Session-Token: ");
        return at == std::string::npos ? ""
                                       : answer.head.substr(at + 17, answer.head.find('\r', at) - at - 17);
    };
    const std::string first = token_in(asked("X-Request-Id: a\r\n"));
    const std::string second =
        token_in(asked("", R"({"messages":[{"role":"user","content":"x"}],"max_tokens":2})"));
    EXPECT_EQ(first.size(), 32U);
    EXPECT_NE(first, second) << "each session has a token of its own";
    EXPECT_EQ(token_in(asked("x-session-affinity: agent\r\nx-session-token: " + first + "\r\n")), first);
    for (const std::string wrong : {"1", "0123456789abcdef0123456789abcdef"}) {
        const Answer refused = asked("x-session-token: " + wrong + "\r\n");
        EXPECT_EQ(refused.status(), 400);
        EXPECT_THAT(refused.body, HasSubstr("no answer has set"));
    }
    const json log = json::parse(client.ask("GET", "/sim/truth").body)["requests"];
    ASSERT_EQ(log.size(), 3U);
    EXPECT_FALSE(log[0].contains("session_token"));
    EXPECT_EQ(log[0]["set_session_token"], first);
    EXPECT_EQ(log[2]["session_token"], first);
    EXPECT_FALSE(log[0].contains("affinity"));
    EXPECT_EQ(log[2]["affinity"], "agent") << "although the token decides the engine";
}

TEST(Server, APortInUseIsOneClearError) {
    const RunningServer server("ideal");
    boost::asio::io_context io;
    ServerOptions options;
    options.profile = profile_named("ideal");
    options.port = server.port();
    try {
        const Server second(io, options);
        FAIL() << "listened twice";
    } catch (const RuntimeError& error) {
        EXPECT_THAT(error.what(), HasSubstr(fmt::format("127.0.0.1:{}", server.port())));
        EXPECT_THAT(error.what(), HasSubstr("--port"));
    }
}

TEST(Server, StopsWithRequestsUnderWay) {
    Client* client = nullptr;
    {
        const RunningServer server("ideal?ttft=1h&itl=1h");
        client = new Client(server.port());
        client->request("POST", "/v1/chat/completions", kChat);
        client->take_through("\r\n\r\n");
    }
    EXPECT_EQ(client->rest(), "");
    delete client;
}

}  // namespace
}  // namespace paretoken::sim
