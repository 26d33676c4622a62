#include "loadgen/probe/probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

#include "core/error.h"
#include "loadgen/http/tls.h"
#include "tests/support/scripted_server.h"

namespace paretoken::loadgen {
namespace {

using paretoken::testing::ScriptedAnswer;
using paretoken::testing::ScriptedServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
    } catch (const Error& error) {
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

/// Refuses requests with ignore_eos, and names it.
ScriptedAnswer without_ignore_eos(int, int, const std::string& text) {
    if (text.starts_with("GET /v1/models")) return json(200, kModels);
    if (!text.starts_with("POST")) return json(404, "{}");
    if (text.find("ignore_eos") != std::string::npos)
        return json(400, R"({"error":{"message":"unknown: ignore_eos"}})");
    return stream(5);
}

TEST(Probe, LeavesOutTheOptionThatAServerRefuses) {
    const ScriptedServer server(without_ignore_eos);
    const EndpointFacts facts = probe(options_for(server));
    EXPECT_FALSE(facts.body.ignore_eos);
    EXPECT_TRUE(facts.body.include_usage);
    EXPECT_EQ(facts.refused, std::vector<std::string>{"ignore_eos"});
}

TEST(Probe, KeepsTheOptionsThatARefusalDoesNotName) {
    const ScriptedServer server(without_ignore_eos);
    EndpointOptions options = options_for(server);
    options.body.return_token_ids = true;
    const EndpointFacts facts = probe(options);
    EXPECT_TRUE(facts.body.return_token_ids);
    EXPECT_EQ(facts.refused, std::vector<std::string>{"ignore_eos"});
}

/// Refuses requests with max_tokens, in these words.
ScriptedServer::Script without_max_tokens(const std::string& words) {
    return [words](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST")) return json(404, "{}");
        if (text.find("\"max_tokens\"") != std::string::npos)
            return json(400, fmt::format(R"({{"error":{{"message":"{}"}}}})", words));
        return stream(5);
    };
}

TEST(Probe, GivesTheLimitItsOtherNameWhereTheServerRefusesTheFirst) {
    for (const char* words :
         {"'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "bad request"}) {
        const ScriptedServer server(without_max_tokens(words));
        const EndpointFacts facts = probe(options_for(server));
        EXPECT_TRUE(facts.body.max_completion_tokens);
        EXPECT_TRUE(facts.body.ignore_eos) << "the server accepts it";
        EXPECT_TRUE(facts.body.include_usage) << "the server accepts it";
        EXPECT_TRUE(facts.refused.empty());
        ASSERT_EQ(facts.notes.size(), 1U);
        EXPECT_THAT(facts.notes[0],
                    AllOf(HasSubstr("refuses max_tokens"), HasSubstr("by max_completion_tokens")));
    }
}

TEST(Probe, GivesTheLimitItsUsualNameWhereTheServerKnowsNoOther) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (text.find("max_completion_tokens") != std::string::npos)
            return json(422, R"({"error":{"message":"unknown field max_completion_tokens"}})");
        return text.starts_with("POST") ? stream(5) : json(404, "{}");
    });
    EndpointOptions options = options_for(server);
    options.body.max_completion_tokens = true;
    const EndpointFacts facts = probe(options);
    EXPECT_FALSE(facts.body.max_completion_tokens);
    EXPECT_TRUE(facts.body.ignore_eos);
}

TEST(Probe, KeepsTheNameOfTheLimitWhereARefusalQuotesTheWholeRequest) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST")) return json(404, "{}");
        if (text.find("ignore_eos") == std::string::npos) return stream(5);
        return json(422, fmt::format(R"({{"error":{{"message":"wrong","input":{}}}}})",
                                     text.substr(text.find("\r\n\r\n") + 4)));
    });
    const EndpointFacts facts = probe(options_for(server));
    EXPECT_FALSE(facts.body.max_completion_tokens);
    EXPECT_FALSE(facts.body.ignore_eos);
    EXPECT_TRUE(facts.notes.empty());
}

TEST(Probe, TakesEveryStatusOfSuccess) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(203, kModels);
        if (!text.starts_with("POST")) return json(404, "{}");
        ScriptedAnswer answer = stream(5);
        answer.writes[0].replace(0, 15, "HTTP/1.1 201 OK");
        return answer;
    });
    EXPECT_EQ(probe(options_for(server)).body.model, "first");
}

/// Counts 2 tokens for each of our words, `of_prose` for each word of the text "w w w …", and 9 as overhead.
ScriptedServer::Script counting(int of_prose) {
    return [of_prose](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST /v1/chat")) return json(404, "{}");
        const std::string body = text.substr(text.find("\r\n\r\n"));
        const auto content = body.find("\"content\":\"");
        const std::string prompt = body.substr(content + 11, body.find('"', content + 11) - content - 11);
        const auto words = static_cast<int>(1 + std::count(prompt.begin(), prompt.end(), ' '));
        const bool prose = prompt.starts_with("w w");
        if (prose && of_prose == 0) return json(400, R"({"error":{"message":"no prose"}})");
        return stream((prose ? of_prose : 2) * words + 9);
    };
}

TEST(Probe, CalibratesFromUsageWhereThereIsNoTokenizer) {
    const ScriptedServer server(counting(2));
    EndpointOptions options = options_for(server);
    options.calibrate = true;
    const EndpointFacts facts = probe(options);
    ASSERT_TRUE(facts.calibration);
    EXPECT_NEAR(facts.calibration->overhead_tokens, 9, 1e-6);
    EXPECT_EQ(facts.calibration->source, "usage");
}

TEST(Probe, FindsWhatAWordOfTheTextCostsThatPromptsAreCutFrom) {
    for (const int of_prose : {3, 0}) {
        const ScriptedServer server(counting(of_prose));
        EndpointOptions options = options_for(server);
        options.calibrate = true;
        options.prose = "w w w w w w w w";
        const EndpointFacts facts = probe(options);
        ASSERT_TRUE(facts.calibration);
        EXPECT_NEAR(facts.calibration->overhead_tokens, 9, 1e-6);
        EXPECT_NEAR(facts.calibration->word_tokens.front(), 2, 1e-6);
        EXPECT_NEAR(facts.calibration->prose_word_tokens, of_prose == 0 ? 2 : 3, 1e-6)
            << "a word of the text costs what our words cost where the server does not say";
    }
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

TEST(Probe, says_that_a_server_has_no_model) {
    for (const char* const list : {R"({"object":"list","data":[]})", R"({"object":"list","data":null})"}) {
        const ScriptedServer server([&](int, int, const std::string& text) {
            return text.starts_with("POST") ? stream(5) : json(200, list);
        });
        EXPECT_THAT(failure_of(options_for(server)),
                    AllOf(HasSubstr("the server lists no model"), Not(HasSubstr("OpenAI"))));
    }
}

TEST(Probe, SaysThatItIsNoOpenAiServer) {
    const ScriptedServer html([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>"}};
    });
    EXPECT_THAT(failure_of(options_for(html)), HasSubstr("OpenAI"));
    const ScriptedServer ssh([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {"SSH-2.0-OpenSSH_9.2\r\n"}, .close_after = true};
    });
    EXPECT_THAT(failure_of(options_for(ssh)), HasSubstr("is not valid HTTP"));
}

TEST(Probe, NamesTheSchemeWhereAProxySaysThatItExpectsTls) {
    const ScriptedServer server([](int, int, const std::string&) {
        return json(400, "<html><body>The plain HTTP request was sent to HTTPS port</body></html>");
    });
    EXPECT_THAT(failure_of(options_for(server)), HasSubstr("try https" + server.url().substr(4)));
}

TEST(Probe, SaysThatTheConnectionWasRefused) {
    EndpointOptions options;
    {
        const ScriptedServer server([](int, int, const std::string&) { return ScriptedAnswer{}; });
        options = options_for(server);
    }
    EXPECT_THAT(failure_of(options), ::testing::AllOf(HasSubstr("cannot connect"), HasSubstr("refused")));
}

// ---- patience

using namespace std::chrono_literals;

/// Answers with models, 404 for optional endpoints, and `answer` for POST /v1/chat/completions.
ScriptedServer::Script answering(std::function<ScriptedAnswer(const std::string&)> answer) {
    return [answer = std::move(answer)](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        return text.starts_with("POST /v1/chat") ? answer(text) : json(404, "{}");
    };
}

TEST(Probe, obeys_the_timeout) {
    const ScriptedServer server(answering([](const std::string&) { return ScriptedAnswer{}; }));
    EndpointOptions options = options_for(server);
    options.timeout = 300ms;
    const auto began = Clock::now();
    EXPECT_THAT(failure_of(options), AllOf(HasSubstr("no answer within 0.3 s"), HasSubstr("--timeout")));
    EXPECT_LT(Clock::now() - began, 3s);
}

TEST(Probe, obeys_the_timeout_while_bytes_flow) {
    const ScriptedServer server(answering([](const std::string&) {
        return ScriptedAnswer{
            .writes =
                {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999999999\r\n\r\n",
                 ": ping\n\n"},
            .pause_ms = 1,
            .endless = true};
    }));
    EndpointOptions options = options_for(server);
    options.timeout = 500ms;
    const auto began = Clock::now();
    EXPECT_THAT(failure_of(options),
                ::testing::AnyOf(HasSubstr("did not end within"), HasSubstr("longer than")));
    EXPECT_LT(Clock::now() - began, 4s);
}

TEST(Probe, gives_up_a_list_of_models_without_end) {
    const ScriptedServer server([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{\"data\":[",
                                         std::string(100'000, '[')},
                              .endless = true};
    });
    EXPECT_THAT(failure_of(options_for(server)), HasSubstr("longer than 4 MiB"));
}

TEST(Probe, asks_nothing_further_that_it_can_do_without_once_that_took_too_long) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (text.starts_with("POST /v1/chat")) return stream(5);
        return ScriptedAnswer{};  // never an answer
    });
    EndpointOptions options = options_for(server);
    options.calibrate = true;
    options.timeout = 400ms;
    const auto began = Clock::now();
    EXPECT_EQ(failure_of(options), "no failure");
    EXPECT_LT(Clock::now() - began, 1500ms);
}

TEST(Probe, asks_a_busy_server_again_when_it_says) {
    for (const int status : {429, 503}) {
        std::atomic<int> posts{0};
        const ScriptedServer server(answering([&](const std::string&) {
            if (++posts == 1) {
                return ScriptedAnswer{
                    .writes = {
                        fmt::format("HTTP/1.1 {} X\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", status)}};
            }
            return stream(5);
        }));
        EndpointOptions options = options_for(server);
        std::vector<std::string> told;
        options.on_wait = [&](const std::string& what) { told.push_back(what); };
        const auto began = Clock::now();
        EXPECT_EQ(failure_of(options), "no failure");
        EXPECT_GE(Clock::now() - began, 1s);
        EXPECT_EQ(posts, 2);
        ASSERT_EQ(told.size(), 1U);
        EXPECT_THAT(told[0], HasSubstr(std::to_string(status)));
    }
}

TEST(Probe, does_not_wait_for_a_busy_server_beyond_the_timeout) {
    const ScriptedServer server(answering([](const std::string&) {
        return ScriptedAnswer{.writes = {"HTTP/1.1 429 X\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"}};
    }));
    EndpointOptions options = options_for(server);
    options.timeout = 1s;
    const auto began = Clock::now();
    EXPECT_THAT(failure_of(options), AllOf(HasSubstr("429"), HasSubstr("Retry-After: 3600")));
    EXPECT_LT(Clock::now() - began, 3s);
}

TEST(Probe, ends_at_once_when_it_is_to_stop) {
    const ScriptedServer server(answering([](const std::string&) { return ScriptedAnswer{}; }));
    EndpointOptions options = options_for(server);
    std::stop_source source;
    options.stop = source.get_token();
    std::thread stopper([&] {
        std::this_thread::sleep_for(200ms);
        source.request_stop();
    });
    const auto began = Clock::now();
    EXPECT_THAT(failure_of(options), HasSubstr("interrupted"));
    EXPECT_LT(Clock::now() - began, 3s);
    stopper.join();
}

TEST(Probe, says_what_it_waits_for) {
    const ScriptedServer server(answering([](const std::string&) { return ScriptedAnswer{}; }));
    EndpointOptions options = options_for(server);
    options.timeout = 2500ms;
    std::vector<std::string> told;
    options.on_wait = [&](const std::string& what) { told.push_back(what); };
    failure_of(options);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_THAT(told[0], AllOf(HasSubstr("POST /v1/chat/completions"), HasSubstr("2.5 s")));
}

TEST(Probe, takes_an_answer_that_is_left_open_after_its_done) {
    const ScriptedServer server(answering([](const std::string&) {
        ScriptedAnswer answer = stream(5);
        answer.writes[0].replace(answer.writes[0].find("Content-Length: "), 16, "Content-Length: 9");
        return answer;
    }));
    const auto began = Clock::now();
    EXPECT_EQ(failure_of(options_for(server)), "no failure");
    EXPECT_LT(Clock::now() - began, 5s);
}

// ---- messages about a wrong address

TEST(Probe, names_the_right_scheme_where_the_server_speaks_plain_http) {
    const ScriptedServer server([](int, int, const std::string&) { return json(404, "{}"); });
    EndpointOptions options = options_for(server);
    options.url.tls = true;
    const http::TlsContext tls({});
    options.tls = &tls;
    options.headers = {{"Authorization", "Bearer SECRETKEY123"}};
    options.timeout = 1s;
    const std::string said = failure_of(options);
    EXPECT_THAT(said, AllOf(HasSubstr("plain HTTP"), HasSubstr(server.url())));
}

TEST(Probe, asks_below_the_version_that_the_address_has) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /api/paas/v4/models ")) return json(200, kModels);
        return text.starts_with("POST /api/paas/v4/chat/completions ") ? stream(5) : json(404, "{}");
    });
    EndpointOptions options = options_for(server);
    options.url = http::parse_url(server.url() + "/api/paas/v4");
    EXPECT_EQ(failure_of(options), "no failure");
}

/// Answers chat completions at this path only.
ScriptedServer::Script only_at(const std::string& base, bool lists_models) {
    return [base, lists_models](int, int, const std::string& text) {
        if (lists_models && text.starts_with("GET " + base + "/models ")) return json(200, kModels);
        if (!text.starts_with("POST " + base + "/chat/completions "))
            return json(404, R"({"detail":"Not Found"})");
        return text.find("messages") == std::string::npos ? json(400, R"({"error":"no messages"})")
                                                          : stream(5);
    };
}

TEST(Probe, asks_at_the_base_where_the_server_knows_no_version) {
    for (const bool lists_models : {true, false}) {
        const ScriptedServer server(only_at("/v1beta/openai", lists_models));
        EndpointOptions options = options_for(server);
        options.url.base = "/v1beta/openai";
        if (!lists_models) options.body.model = "named";
        const EndpointFacts facts = probe(options);
        EXPECT_EQ(facts.path, "/chat/completions");
        EXPECT_EQ(facts.body.model, lists_models ? "first" : "named");
    }
    const ScriptedServer with_version(only_at("/v1", true));
    EXPECT_EQ(probe(options_for(with_version)).path, "");
}

TEST(Probe, asks_for_more_tokens_where_two_are_too_few) {
    // The last two come from gateways before endpoints of another protocol.
    const std::string refusals[] = {
        R"({"error":{"message":"Invalid 'max_tokens': Expected a value >= 16"}})",
        R"({"error":{"message":"Invalid 'max_output_tokens': integer below minimum value."}})",
        R"({"error":{"message":"Provider returned error","metadata":{"raw":"{\"message\": )"
        R"(\"Invalid 'max_output_tokens': Expected a value >= 16\"}"}}})"};
    for (const std::string& refusal : refusals) {
        const ScriptedServer server([&](int, int, const std::string& text) {
            if (text.starts_with("GET /v1/models")) return json(200, R"([{"id":"only"}])");
            if (!text.starts_with("POST")) return json(404, "{}");
            return text.find("\"max_tokens\":16") == std::string::npos ? json(400, refusal) : stream(5);
        });
        const EndpointFacts facts = probe(options_for(server));
        EXPECT_EQ(facts.fewest_output_tokens, 16);
        EXPECT_FALSE(facts.body.max_completion_tokens);
        EXPECT_TRUE(facts.body.ignore_eos);
        EXPECT_EQ(facts.body.model, "only") << "of a list that is no object";
    }
}

TEST(Probe, leaves_out_an_option_that_an_error_of_the_server_names) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (text.find("ignore_eos") != std::string::npos)
            return json(500, R"({"error":{"message":"unexpected keyword 'ignore_eos'"}})");
        return text.starts_with("POST") ? stream(5) : json(404, "{}");
    });
    EXPECT_EQ(probe(options_for(server)).refused, std::vector<std::string>{"ignore_eos"});
}

TEST(Probe, finds_the_models_beside_the_path_of_requests) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1beta/openai/models ")) return json(200, kModels);
        return text.starts_with("POST /v1beta/openai/chat/completions ") ? stream(5) : json(404, "{}");
    });
    EndpointOptions options = options_for(server);
    options.url = http::parse_url(server.url() + "/v1beta/openai");
    options.path = "/chat/completions";
    EXPECT_EQ(probe(options).body.model, "first");
}

TEST(Probe, names_the_address_that_was_not_found_and_how_to_give_another) {
    const ScriptedServer server([](int, int, const std::string& text) {
        return text.starts_with("GET /x/v1/models") ? json(200, kModels)
                                                    : json(404, R"({"error":"no route"})");
    });
    EndpointOptions options = options_for(server);
    options.url = http::parse_url(server.url() + "/x");
    EXPECT_THAT(
        failure_of(options),
        AllOf(HasSubstr("404"), HasSubstr(server.url() + "/x/v1/chat/completions"), HasSubstr("--endpoint")));
    const ScriptedServer empty([](int, int, const std::string&) { return json(404, "{}"); });
    EXPECT_THAT(failure_of(options_for(empty)),
                AllOf(HasSubstr(empty.url() + "/v1/models"), HasSubstr("--model")));
}

TEST(Probe, names_the_option_for_the_model_where_the_list_of_models_fails) {
    for (const int status : {401, 403, 500, 502}) {
        const ScriptedServer server([status](int, int, const std::string& text) {
            return text.starts_with("POST") ? stream(5) : json(status, "{}");
        });
        EndpointOptions options = options_for(server);
        EXPECT_THAT(failure_of(options), HasSubstr("--model")) << status;
        options.body.model = "m";
        EXPECT_EQ(failure_of(options), "no failure") << status;
    }
    const ScriptedServer closing([](int, int, const std::string& text) {
        return text.starts_with("POST") ? stream(5) : ScriptedAnswer{.close_after = true};
    });
    EndpointOptions options = options_for(closing);
    EXPECT_THAT(failure_of(options), HasSubstr("--model"));
    options.body.model = "m";
    EXPECT_EQ(failure_of(options), "no failure");
}

TEST(Probe, needs_no_list_of_models_that_hangs_if_the_model_is_named) {
    const ScriptedServer server([](int, int, const std::string& text) {
        return text.starts_with("POST") ? stream(5) : ScriptedAnswer{};
    });
    EndpointOptions options = options_for(server);
    options.timeout = 300ms;
    EXPECT_THAT(failure_of(options), AllOf(HasSubstr("no answer within"), HasSubstr("--model")));
    options.body.model = "m";
    EXPECT_EQ(failure_of(options), "no failure");
    // A server without TLS waits for the rest of a TLS hello, and answers nothing at all.
    const http::TlsContext tls({});
    options.tls = &tls;
    options.url.tls = true;
    EXPECT_THAT(failure_of(options), HasSubstr("GET /v1/models"));
}

TEST(Probe, ends_at_once_where_the_quota_is_used_up) {
    for (const char* const said :
         {R"({"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}})",
          R"({"error":{"message":"No credits left, see the page about billing"}})"}) {
        const ScriptedServer server(answering([&](const std::string&) { return json(429, said); }));
        const auto began = Clock::now();
        EXPECT_THAT(failure_of(options_for(server)),
                    AllOf(HasSubstr("HTTP 429"), HasSubstr("waiting does not help"), Not(HasSubstr("load"))));
        EXPECT_LT(Clock::now() - began, 3s);
    }
}

TEST(Probe, tells_a_limit_on_the_rate_from_a_model_that_loads) {
    const auto told_of = [](const std::string& body) {
        const ScriptedServer server(answering([&](const std::string&) { return json(429, body); }));
        EndpointOptions options = options_for(server);
        options.timeout = 1s;
        std::string told;
        options.on_wait = [&](const std::string& what) { told += what; };
        return told + failure_of(options);
    };
    EXPECT_THAT(told_of(R"({"error":{"message":"Rate limit reached, see the page about billing"}})"),
                AllOf(HasSubstr("limits the rate of requests (HTTP 429"), Not(HasSubstr("loading"))));
    EXPECT_THAT(told_of(R"({"error":"Model is overloaded"})"), HasSubstr("is busy or still loading"));
}

TEST(Probe, takes_the_path_with_the_slash_to_which_the_server_redirects) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (text.starts_with("POST /v1/chat/completions/ ")) return stream(5);
        return ScriptedAnswer{.writes = {"HTTP/1.1 307 X\r\nLocation: /v1/chat/completions/\r\n"
                                         "Content-Length: 0\r\n\r\n"}};
    });
    const EndpointFacts facts = probe(options_for(server));
    EXPECT_EQ(facts.path, "/v1/chat/completions/");
    EXPECT_THAT(facts.notes, ::testing::ElementsAre(HasSubstr("/v1/chat/completions/")));
}

TEST(Probe, blames_no_proxy_for_an_answer_that_only_lacks_the_end_of_its_message) {
    const ScriptedServer server(answering([](const std::string&) {
        ScriptedAnswer answer = stream(5);
        std::string& text = answer.writes[0];
        text.resize(text.find("data: [DONE]"));
        answer.close_after = true;
        return answer;
    }));
    EXPECT_THAT(failure_of(options_for(server)),
                AllOf(HasSubstr("finish_reason"), HasSubstr("end of the HTTP message"),
                      Not(HasSubstr("read timeout"))));
}

TEST(Probe, says_that_the_text_of_an_error_is_compressed) {
    for (const bool of_models : {true, false}) {
        const ScriptedServer server([&](int, int, const std::string& text) {
            if (!of_models && text.starts_with("GET /v1/models")) return json(200, kModels);
            return ScriptedAnswer{.writes = {fmt::format("HTTP/1.1 {} X\r\nContent-Encoding: gzip\r\n"
                                                         "Content-Length: 4\r\n\r\n\x1f\x8b\x08\x07",
                                                         of_models ? 200 : 500)}};
        });
        EXPECT_THAT(failure_of(options_for(server)),
                    AllOf(HasSubstr(of_models ? "HTTP 200" : "HTTP 500"),
                          HasSubstr("its text is compressed (gzip)"), Not(HasSubstr("\x1f"))));
    }
}

TEST(Probe, gives_the_address_of_the_server_to_which_a_redirect_leads) {
    const auto said = [](const std::string& location) {
        const ScriptedServer server([&](int, int, const std::string&) {
            return ScriptedAnswer{
                .writes = {
                    fmt::format("HTTP/1.1 301 X\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", location)}};
        });
        return failure_of(options_for(server));
    };
    EXPECT_THAT(said("https://other:99/x/v1/models"), HasSubstr("give https://other:99/x as the URL"));
    EXPECT_THAT(said("/x/v1/models"), AllOf(HasSubstr("give http://127.0.0.1:"), HasSubstr("/x as the URL")));
    EXPECT_THAT(said("/login?next=1"), HasSubstr("Location: /login"));
}

TEST(Probe, blames_the_read_timeout_of_a_proxy_for_its_statuses) {
    for (const int status : {502, 504}) {
        const ScriptedServer server(answering([&](const std::string&) { return json(status, "<html>"); }));
        EXPECT_THAT(failure_of(options_for(server)),
                    AllOf(HasSubstr(std::to_string(status)), HasSubstr("proxy"), HasSubstr("read timeout")));
    }
}

TEST(Probe, takes_no_complaint_about_a_missing_tls_for_a_server_without_it) {
    const ScriptedServer server([](int, int, const std::string&) {
        return json(400, "The plain HTTP request was sent to HTTPS port");
    });
    EndpointOptions options = options_for(server);
    options.url.tls = true;
    const http::TlsContext tls({});
    options.tls = &tls;
    options.timeout = 1s;
    EXPECT_THAT(failure_of(options), Not(HasSubstr("speaks plain HTTP")));
}

TEST(Probe, names_where_a_redirect_leads_and_hides_the_key_there) {
    const ScriptedServer server(answering([](const std::string&) {
        return ScriptedAnswer{.writes = {"HTTP/1.1 307 X\r\nLocation: https://other/v1?key=SECRETKEY123\r\n"
                                         "Content-Length: 0\r\n\r\n"}};
    }));
    EXPECT_THAT(failure_of(options_for(server)),
                AllOf(HasSubstr("307"), HasSubstr("https://other/v1"), Not(HasSubstr("SECRETKEY"))));
}

TEST(Probe, hides_the_key_that_a_server_quotes) {
    for (const int status : {401, 500}) {
        const ScriptedServer server(answering([&](const std::string&) {
            return json(status, R"({"error":{"message":"Bearer SECRETKEY123 is wrong"}})");
        }));
        EndpointOptions options = options_for(server);
        options.headers = {{"Authorization", "Bearer SECRETKEY123"}};
        EXPECT_THAT(failure_of(options), AllOf(HasSubstr("*** is wrong"), Not(HasSubstr("SECRETKEY"))));
    }
}

TEST(Probe, takes_a_path_without_a_slash_and_the_query_of_the_url) {
    std::atomic<bool> asked{false};
    const ScriptedServer server([&](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models?api-version=1 ")) return json(200, kModels);
        if (!text.starts_with("POST /chat?api-version=1 ")) return json(404, "{}");
        asked = true;
        return stream(5);
    });
    EndpointOptions options = options_for(server);
    options.url = http::parse_url(server.url() + "?api-version=1");
    options.path = "chat";
    EXPECT_EQ(failure_of(options), "no failure");
    EXPECT_TRUE(asked);
}

TEST(Probe, takes_a_context_of_zero_for_unknown) {
    for (const char* context : {"0", "-1", "1e300", "\"x\"", "null"}) {
        const ScriptedServer server([&](int, int, const std::string& text) {
            if (text.starts_with("GET /v1/models"))
                return json(200, fmt::format(R"({{"data":[{{"id":"m","max_model_len":{}}}]}})", context));
            return text.starts_with("POST") ? stream(5) : json(404, "{}");
        });
        EXPECT_EQ(probe(options_for(server)).context, std::nullopt) << context;
    }
}

TEST(Probe, says_that_a_proxy_is_not_used) {
    EndpointOptions options;
    options.url = http::parse_url("http://no-such-host.invalid:1");
    options.proxy_variable = "https_proxy";
    EXPECT_THAT(failure_of(options), AllOf(HasSubstr("resolve"), HasSubstr("https_proxy is set")));
}

TEST(TryOne, SaysThatTheWorkloadWasCutOffAndNotThatTheServerIsNone) {
    const ScriptedServer server([](int, int, const std::string& text) {
        if (text.starts_with("GET /v1/models")) return json(200, kModels);
        if (!text.starts_with("POST")) return json(404, "{}");
        return text.size() > 2000 ? ScriptedAnswer{.close_after = true} : stream(5);
    });
    const EndpointOptions options = options_for(server);
    const EndpointFacts facts = probe(options);
    Request request;
    request.prompt = std::string(5000, 'x');
    try {
        try_one(options, facts, request);
        FAIL();
    } catch (const RuntimeError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("cut off after"), HasSubstr("before any output"),
                                        HasSubstr("read timeout"), Not(HasSubstr("OpenAI"))));
    }
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
        try_one(options, facts, request);
        FAIL();
    } catch (const RuntimeError& error) {
        EXPECT_THAT(error.what(), HasSubstr("too long: 9031 tokens"));
    }
}

}  // namespace
}  // namespace paretoken::loadgen
