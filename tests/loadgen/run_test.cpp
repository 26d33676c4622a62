#include "loadgen/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/statistics.h"
#include "datasets/catalog.h"
#include "loadgen/http/fetch.h"
#include "loadgen/probe/probe.h"
#include "loadgen/progress.h"
#include "simulator/server.h"
#include "tests/support/arrivals.h"
#include "tests/support/kept_records.h"
#include "tests/support/loads.h"
#include "tests/support/scripted_server.h"

namespace paretoken::loadgen {
namespace {

using paretoken::testing::from;
using paretoken::testing::kept_outcome;
using paretoken::testing::KeptOutcome;
using paretoken::testing::KeptRecords;
using paretoken::testing::load_on;
using paretoken::testing::most_in_flight;
using paretoken::testing::most_without_first_event;
using paretoken::testing::only;
using paretoken::testing::ScriptedAnswer;
using paretoken::testing::ScriptedServer;
using paretoken::testing::synthetic_prompts;

/// The simulated server on a thread of its own.
class Simulated {
  public:
    explicit Simulated(std::string_view profile) : server_(io_, with(profile)) {
        server_.start();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~Simulated() {
        boost::asio::post(io_, [this] { server_.stop(); });
        thread_.join();
    }
    std::string url() const { return server_.url(); }

  private:
    static sim::ServerOptions with(std::string_view profile) {
        sim::ServerOptions options;
        options.profile = sim::profile_named(profile);
        return options;
    }
    boost::asio::io_context io_{1};
    sim::Server server_;
    std::thread thread_;
};

LoadOptions load_on_simulator(const Simulated& server, std::uint64_t concurrency, std::uint64_t requests) {
    LoadOptions load = load_on(server.url(), concurrency, requests);
    EndpointOptions endpoint;
    endpoint.url = http::parse_url(server.url());
    endpoint.body.ignore_eos = true;
    load.worker.client.body = probe(endpoint).body;
    return load;
}

Observations make(const LoadOptions& load, const datasets::Dataset& dataset, RecordSink& sink) {
    Progress progress;
    return make_load(from(load, dataset), sink, progress, {});
}

KeptOutcome make(const LoadOptions& load, int osl = 8) {
    const auto dataset = synthetic_prompts(16, osl);
    return kept_outcome([&](RecordSink& sink) { return make(load, *dataset, sink); });
}

TEST(MakeLoad, EveryRequestEndsWellAndReachesTheSinkOnce) {
    const Simulated server("ideal?ttft=5ms&itl=1ms");
    KeptRecords sink;
    const auto dataset = synthetic_prompts(16, 8);
    LoadOptions load = load_on_simulator(server, 8, 100);
    only(load).limits.warmups = 5;
    make(load, *dataset, sink);
    EXPECT_EQ(sink.records.size(), 105U);
    std::map<std::string, int> ids;
    for (const RequestRecord& r : sink.records) {
        ++ids[r.id];
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        EXPECT_EQ(r.streamed_tokens, 8);
        EXPECT_EQ(r.usage.completion, 8);
        EXPECT_TRUE(r.sent && r.first_event && r.last_event && r.finished);
        EXPECT_LE(r.scheduled, r.started);
        EXPECT_LE(*r.sent, *r.first_event);
        EXPECT_LE(*r.first_event, *r.last_event);
    }
    EXPECT_EQ(ids.size(), 105U) << "ids are unique, warm-ups included";
}

TEST(MakeLoad, NeverHasMoreWithoutAFirstTokenThanTheCapOnPrefills) {
    const Simulated server("ideal?ttft=3ms&itl=1ms");
    LoadOptions load = load_on_simulator(server, 8, 60);
    load.workers = 2;
    only(load).pacing.prefills = 2;
    const KeptOutcome outcome = make(load);
    EXPECT_EQ(outcome.records.size(), 60U);
    EXPECT_EQ(most_without_first_event(outcome.records), 2);
}

TEST(MakeLoad, NeverHasMoreInFlightThanTheCap) {
    const Simulated server("ideal?ttft=3ms&itl=1ms");
    LoadOptions load = load_on_simulator(server, 6, 60);
    load.workers = 2;
    const KeptOutcome outcome = make(load);
    EXPECT_EQ(most_in_flight(outcome.records), 6);
    EXPECT_EQ(outcome.client.cpu.size(), 2U);
}

TEST(MakeLoad, TimesAgreeWithTheServersOwnTruth) {
    const Simulated server("ideal?ttft=20ms&itl=5ms");
    const KeptOutcome outcome = make(load_on_simulator(server, 4, 40));
    const http::Url url = http::parse_url(server.url());
    http::Fetcher fetcher(url, http::resolve(url).front(), nullptr, {});
    const auto truth = nlohmann::json::parse(fetcher.get("/sim/truth", std::chrono::seconds(10)).body);
    std::map<std::string, nlohmann::json> by_id;
    for (const auto& entry : truth["requests"]) by_id[entry["id"]] = entry;
    std::vector<double> errors;
    for (const RequestRecord& r : outcome.records) {
        const auto& entry = by_id.at(r.id);
        const auto received = entry["received_ns"].get<std::int64_t>();
        const auto written = entry["written_ns"].get<std::vector<std::int64_t>>();
        ASSERT_EQ(written.size(), r.events.size());
        const double ttft = seconds(*r.first_event - *r.sent);
        errors.push_back(std::abs(ttft - static_cast<double>(written.front() - received) * 1e-9));
    }
    std::sort(errors.begin(), errors.end());
    // The median is used, because a shared machine may freeze during single requests.
    EXPECT_LT(percentile(errors, .5), 0.001);
}

TEST(MakeLoad, AnOpenLoopStartsRequestsAtTheirScheduledTimes) {
    const Simulated server("ideal?ttft=1ms&itl=0ms");
    LoadOptions load = load_on_simulator(server, 1, 50);
    only(load).concurrency.reset();
    only(load).arrivals = parse_arrivals("constant:rate=200");
    const KeptOutcome outcome = make(load);
    ASSERT_EQ(outcome.records.size(), 50U);
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.scheduled, outcome.began + r.index * std::chrono::milliseconds(5));
        EXPECT_GE(*r.sent, r.scheduled);
    }
}

/// Makes a load that is interrupted after its third batch of four was sent.
Observations interrupted_load(const LoadOptions& load, bool cut_off) {
    paretoken::testing::NoSink sink;
    const auto dataset = synthetic_prompts(16, 8);
    Progress progress;
    std::stop_source stop;
    std::stop_source cut;
    const std::jthread stopper([&] {
        while (progress.started < 12) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stop.request_stop();
        if (cut_off) cut.request_stop();
    });
    return make_load(from(load, *dataset), sink, progress, {stop.get_token(), cut.get_token()});
}

std::int64_t count_of(const Observations& outcome, Outcome wanted) {
    return std::count_if(outcome.records.begin(), outcome.records.end(),
                         [&](const auto& r) { return r.outcome == wanted; });
}

TEST(MakeLoad, FollowsWhatIsInFlightToItsEndWhenInterrupted) {
    const Simulated server("ideal?ttft=10ms&itl=20ms");
    const Observations outcome = interrupted_load(load_on_simulator(server, 4, 10000), false);
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_EQ(outcome.stopped->rule, "interrupted");
    EXPECT_LT(outcome.records.size(), 40U);
    EXPECT_EQ(count_of(outcome, Outcome::ok), static_cast<std::int64_t>(outcome.records.size()));
}

TEST(MakeLoad, CancelsWhatIsInFlightWhenTheGraceTimeIsOver) {
    const Simulated server("ideal?ttft=10ms&itl=500ms");
    LoadOptions load = load_on_simulator(server, 12, 10000);
    load.worker.grace = std::chrono::milliseconds(100);
    const Observations outcome = interrupted_load(load, false);
    EXPECT_EQ(count_of(outcome, Outcome::cancelled), 12);
    EXPECT_TRUE(outcome.interrupted);
}

TEST(MakeLoad, OpensAConnectionForEveryRequestWithoutKeepAlive) {
    const Simulated server("ideal?ttft=1ms&itl=1ms");
    LoadOptions load = load_on_simulator(server, 3, 30);
    load.worker.keep_alive = false;
    const KeptOutcome outcome = make(load);
    EXPECT_EQ(outcome.client.connections.opened, 30U);
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        EXPECT_TRUE(r.connect);
    }
}

TEST(MakeLoad, OpensTheConnectionsOfAClosedLoopBeforeItsFirstRequest) {
    const Simulated server("ideal?ttft=5ms&itl=1ms");
    for (const bool ahead : {true, false}) {
        LoadOptions load = load_on_simulator(server, 8, 40);
        load.workers = 2;
        load.worker.preconnect = ahead;
        const KeptOutcome outcome = make(load);
        const ConnectionCounts& connections = outcome.client.connections;
        EXPECT_EQ(connections.opened, 8U);
        EXPECT_EQ(connections.opened_ahead, ahead ? 8U : 0U);
        EXPECT_EQ(connections.opening_ahead > Duration{}, ahead);
        int opened = 0;
        for (const RequestRecord& r : outcome.records) {
            EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
            opened += r.connect ? 1 : 0;
        }
        EXPECT_EQ(opened, ahead ? 0 : 8);
    }
}

TEST(MakeLoad, OpensNoMoreConnectionsThanThereAreRequests) {
    const Simulated server("ideal?ttft=1ms&itl=1ms");
    EXPECT_EQ(make(load_on_simulator(server, 64, 3)).client.connections.opened, 3U);
}

TEST(MakeLoad, AnOpenLoopHasConnectionsForItsStartAndOneInReserve) {
    const Simulated server("ideal?ttft=1s&itl=1ms");
    LoadOptions load = load_on_simulator(server, 1, 80);
    only(load).arrivals = parse_arrivals("constant:rate=100");
    only(load).concurrency.reset();
    const KeptOutcome outcome = make(load);
    EXPECT_GE(outcome.client.connections.opened_ahead, 25U) << "those of a quarter of a second";
    int opened = 0;
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        EXPECT_TRUE(r.index >= 25 || !r.connect) << r.index;
        opened += r.connect ? 1 : 0;
    }
    EXPECT_LE(opened, 10) << "the next connection is opened as soon as the one in reserve is used";
}

TEST(MakeLoad, ARefusedConnectionThatWasOpenedAheadIsReportedByTheRequest) {
    LoadOptions load = load_on("http://127.0.0.1:1", 4, 4);
    const KeptOutcome outcome = make(load);
    ASSERT_EQ(outcome.records.size(), 4U);
    for (const RequestRecord& r : outcome.records) EXPECT_EQ(r.outcome, Outcome::connect_failed);
    EXPECT_EQ(outcome.client.connections.opened_ahead, 0U);
}

TEST(MakeLoad, AStopRuleEndsTheStartingAndWhatIsInFlightIsFollowed) {
    const Simulated server("ideal?ttft=2ms&itl=1ms");
    LoadOptions load = load_on_simulator(server, 4, 10000);
    load.workers = 2;
    load.rules = {parse_stop_rule("tokens=400")};
    const Observations outcome = make(load);
    EXPECT_FALSE(outcome.interrupted);
    EXPECT_EQ(outcome.stopped->rule, "tokens");
    EXPECT_GE(outcome.records.size(), 50U);
    EXPECT_EQ(count_of(outcome, Outcome::ok), static_cast<std::int64_t>(outcome.records.size()));
}

TEST(MakeLoad, CancelsWhatIsInFlightWhenCutOff) {
    const Simulated server("ideal?ttft=10ms&itl=20ms");
    LoadOptions load = load_on_simulator(server, 4, 10000);
    KeptRecords sink;
    const auto dataset = synthetic_prompts(16, 8);
    Progress progress;
    std::stop_source stop;
    std::jthread stopper([&] {
        // Between two batches fewer than four are in flight: wait until the third has been sent.
        while (progress.started < 12) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stop.request_stop();
    });
    const Observations outcome =
        make_load(from(load, *dataset), sink, progress, {stop.get_token(), stop.get_token()});
    EXPECT_TRUE(outcome.interrupted);
    const auto cancelled = std::count_if(outcome.records.begin(), outcome.records.end(),
                                         [](const auto& r) { return r.outcome == Outcome::cancelled; });
    EXPECT_EQ(cancelled, 4);
    EXPECT_EQ(sink.records.size(), outcome.records.size());
}

// ---- servers that misbehave

std::string chunk(const std::string& data) {
    return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

std::string stream_head(const std::string& more = "") {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + more +
           "\r\n";
}

std::string token(const std::string& finish = "null") {
    return chunk(R"(data: {"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":)" + finish +
                 "}]}\n\n");
}

ScriptedAnswer good_answer(const std::string& more_headers = "") {
    return {.writes = {stream_head(more_headers) + token(),
                       token(R"("length")") + chunk("data: [DONE]\n\n") + "0\r\n\r\n"},
            .pause_ms = 1};
}

LoadOptions load_on(const ScriptedServer& server, std::uint64_t requests) {
    LoadOptions load = load_on(server.url(), 1, requests);
    load.worker.client.ignore_eos_accepted = false;
    return load;
}

RequestRecord only_record(const ScriptedServer& server) {
    const KeptOutcome outcome = make(load_on(server, 1));
    EXPECT_EQ(outcome.records.size(), 1U);
    return outcome.records.front();
}

TEST(Exchange, AServerThatClosesAfterSomeRequestsIsReopenedWithoutAFailure) {
    const ScriptedServer server([](int, int request, const std::string&) {
        ScriptedAnswer answer = good_answer(request == 2 ? "Connection: close\r\n" : "");
        answer.close_after = request == 2;
        return answer;
    });
    const KeptOutcome outcome = make(load_on(server, 10));
    for (const RequestRecord& r : outcome.records) EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
    EXPECT_EQ(server.connections(), 4);
}

TEST(Exchange, ARequestSwallowedByAClosingConnectionIsSentOnceMoreAndSaysSo) {
    // The connection looks alive, takes the second request and closes without a byte.
    const ScriptedServer server([](int, int request, const std::string&) {
        return request == 0 ? good_answer() : ScriptedAnswer{.close_after = true};
    });
    const KeptOutcome outcome = make(load_on(server, 6));
    ASSERT_EQ(outcome.records.size(), 6U);
    int resent = 0;
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        resent += r.resent ? 1 : 0;
    }
    EXPECT_EQ(resent, 1) << "then no connection is used again";
}

TEST(Exchange, AtMostOneRequestIsLostOnAServerThatClosesEachConnectionAfterItsAnswer) {
    const ScriptedServer server([](int, int, const std::string&) {
        ScriptedAnswer answer = good_answer();
        answer.close_after = true;
        return answer;
    });
    const KeptOutcome outcome = make(load_on(server, 20));
    for (const RequestRecord& r : outcome.records) EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
    EXPECT_LE(std::ranges::count(outcome.records, true, &RequestRecord::resent), 1);
    EXPECT_EQ(server.connections(), 20);
}

TEST(Exchange, ARequestThatIsSentAgainKeepsTheTimeOfItsFirstSending) {
    const ScriptedServer server([](int, int request, const std::string&) {
        if (request == 0) return good_answer();
        return ScriptedAnswer{.writes = {""}, .pause_ms = 5, .close_after = true};
    });
    const KeptOutcome outcome = make(load_on(server, 2));
    int resent = 0;
    for (const RequestRecord& r : outcome.records) {
        if (!r.resent) continue;
        ++resent;
        EXPECT_GE(*r.sent, r.ready);
        EXPECT_GE(*r.first_event - *r.sent, std::chrono::milliseconds(5)) << "the user waited from then on";
    }
    if (resent == 0) GTEST_SKIP() << "this host was so slow that the server seemed to keep the request";
}

TEST(Exchange, ARequestThatTheServerKeptForAWhileBeforeItClosedIsAFailure) {
    const ScriptedServer server([](int, int request, const std::string&) {
        if (request == 0) return good_answer();
        return ScriptedAnswer{.writes = {""}, .pause_ms = 500, .close_after = true};
    });
    const KeptOutcome outcome = make(load_on(server, 2));
    ASSERT_EQ(outcome.records.size(), 2U);
    int failed = 0;
    for (const RequestRecord& r : outcome.records) {
        EXPECT_FALSE(r.resent);
        failed += r.outcome == Outcome::disconnected ? 1 : 0;
    }
    EXPECT_EQ(failed, 1);
}

TEST(Exchange, ARequestThatAClosingServerDidNotReadIsSentAgainAlsoIfItClosesLate) {
    const ScriptedServer server([](int, int, const std::string&) {
        ScriptedAnswer answer = good_answer();
        answer.close_unread_ms = 150;  // a busy host
        return answer;
    });
    const KeptOutcome outcome = make(load_on(server, 3));
    ASSERT_EQ(outcome.records.size(), 3U);
    int resent = 0;
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        if (!r.resent) continue;
        ++resent;
        EXPECT_GE(*r.first_event - *r.sent, std::chrono::milliseconds(150)) << "the user waited from then on";
    }
    EXPECT_EQ(resent, 1) << "then no connection is used again";
}

TEST(Exchange, ARequestThatTheServerKeptForSecondsBeforeItResetsTheConnectionIsAFailure) {
    const ScriptedServer server([](int, int, const std::string&) {
        ScriptedAnswer answer = good_answer();
        answer.close_unread_ms = 900;  // as a proxy whose time is over
        return answer;
    });
    for (const RequestRecord& r : make(load_on(server, 2)).records) EXPECT_FALSE(r.resent);
}

TEST(Exchange, AFreshConnectionThatClosesWithoutAByteIsAFailure) {
    const ScriptedServer server(
        [](int, int, const std::string&) { return ScriptedAnswer{.close_after = true}; });
    LoadOptions load = load_on(server, 1);
    load.worker.preconnect = false;
    const RequestRecord r = make(load).records.at(0);
    EXPECT_EQ(r.outcome, Outcome::disconnected);
    EXPECT_FALSE(r.resent);
    EXPECT_FALSE(r.error.empty());
}

TEST(Exchange, AConnectionOpenedAheadThatTheServerClosesIsReplacedWithoutAFailure) {
    const ScriptedServer server([](int connection, int, const std::string&) {
        return connection == 0 ? ScriptedAnswer{.close_after = true} : good_answer();
    });
    const RequestRecord r = only_record(server);
    EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
    EXPECT_TRUE(r.resent);
}

TEST(Exchange, ALongPromptIsSentInPiecesAndArrivesWhole) {
    std::atomic<std::size_t> longest{0};
    const ScriptedServer server([&](int, int, const std::string& text) {
        const std::size_t body = text.size() - text.find("\r\n\r\n") - 4;
        longest = std::max(longest.load(), body);
        EXPECT_NE(text.find(fmt::format("Content-Length: {}\r\n", body)), std::string::npos);
        EXPECT_TRUE(nlohmann::json::accept(text.substr(text.size() - body)));
        return good_answer();
    });
    LoadOptions load = load_on(server.url(), 2, 4);
    load.worker.client.ignore_eos_accepted = false;
    const auto dataset = synthetic_prompts(300'000, 2);
    const KeptOutcome outcome = kept_outcome([&](RecordSink& sink) { return make(load, *dataset, sink); });
    EXPECT_GT(longest, 1'000'000U);
    for (const RequestRecord& r : outcome.records) EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
}

TEST(Exchange, AStreamThatBreaksOffIsAFailureThatKeepsItsTimings) {
    for (const bool reset : {false, true}) {
        const ScriptedServer server([reset](int, int, const std::string&) {
            return ScriptedAnswer{.writes = {stream_head() + token(), token()},
                                  .pause_ms = 5,
                                  .close_after = !reset,
                                  .reset_after = reset};
        });
        const RequestRecord r = only_record(server);
        EXPECT_TRUE(is_failure(r.outcome));
        EXPECT_EQ(r.chunks, 2);
        EXPECT_TRUE(r.first_event.has_value());
    }
}

TEST(Exchange, AnErrorInsideAGoodStatusIsAFailure) {
    const ScriptedServer server([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {stream_head() + token() +
                                         chunk("data: {\"error\":{\"message\":\"out of memory\"}}\n\n") +
                                         "0\r\n\r\n"}};
    });
    const RequestRecord r = only_record(server);
    EXPECT_EQ(r.outcome, Outcome::stream_error);
    EXPECT_NE(r.error.find("out of memory"), std::string::npos);
}

TEST(Exchange, ARefusedRequestKeepsTheServersWords) {
    const ScriptedServer server([](int, int, const std::string&) {
        const std::string body = R"({"error":{"message":"slow down","type":"rate_limit"}})";
        return ScriptedAnswer{.writes = {fmt::format("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"
                                                     "Content-Length: {}\r\n\r\n{}",
                                                     body.size(), body)}};
    });
    const RequestRecord r = only_record(server);
    EXPECT_EQ(r.outcome, Outcome::http_error);
    EXPECT_EQ(r.http_status, 429);
    EXPECT_NE(r.error.find("slow down"), std::string::npos);
    EXPECT_NE(r.error.find("Retry-After: 7"), std::string::npos);
}

TEST(Exchange, ACompressedAnswerIsNoMeasurement) {
    const ScriptedServer server(
        [](int, int, const std::string&) { return good_answer("Content-Encoding: gzip\r\n"); });
    const RequestRecord r = only_record(server);
    EXPECT_EQ(r.outcome, Outcome::malformed);
    EXPECT_NE(r.error.find("gzip"), std::string::npos);
}

TEST(Exchange, ASilentServerRunsIntoTheTimeout) {
    const ScriptedServer server([](int, int, const std::string&) { return ScriptedAnswer{}; });
    LoadOptions load = load_on(server, 1);
    load.worker.client.request_timeout = std::chrono::milliseconds(200);
    const KeptOutcome outcome = make(load);
    EXPECT_EQ(outcome.records.front().outcome, Outcome::timed_out);
}

TEST(Exchange, ARefusedConnectionIsAFailureByName) {
    std::string url;
    {
        const ScriptedServer server([](int, int, const std::string&) { return ScriptedAnswer{}; });
        url = server.url();
    }
    LoadOptions load = load_on(url, 1, 2);
    const KeptOutcome outcome = make(load);
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::connect_failed);
        EXPECT_NE(r.error.find("refused"), std::string::npos) << r.error;
    }
}

TEST(Exchange, AConnectionThatTheKernelRefusesAtOnceIsAFailureByName) {
    LoadOptions load = load_on("http://224.0.0.1:9", 1, 2);  // TCP to a group of hosts: no packet is sent
    const KeptOutcome outcome = make(load);
    ASSERT_EQ(outcome.records.size(), 2U);
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::connect_failed);
        EXPECT_NE(r.error.find("unreachable"), std::string::npos) << r.error;
    }
}

TEST(Exchange, ChunksThatShareAReadAreMarkedAndTheirGapIsNotZero) {
    const ScriptedServer server([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {stream_head() + token() + token() + token(),
                                         token(R"("length")") + chunk("data: [DONE]\n\n") + "0\r\n\r\n"},
                              .pause_ms = 20};
    });
    const RequestRecord r = only_record(server);
    ASSERT_EQ(r.events.size(), 4U);
    EXPECT_FALSE(r.events[0].same_read);
    EXPECT_TRUE(r.events[1].same_read);
    EXPECT_TRUE(r.events[2].same_read);
    EXPECT_FALSE(r.events[3].same_read);
    EXPECT_EQ(r.grouped_chunks, 2);
    EXPECT_EQ(r.first_group_tokens, 3);
}

TEST(ResultOf, GivesAValidityAndTheLoadAxis) {
    const Simulated server("ideal?ttft=2ms&itl=1ms");
    const LoadOptions load = load_on_simulator(server, 4, 200);
    const KeptOutcome outcome = make(load);
    const RunResult result = result_of(outcome, load);
    EXPECT_EQ(result.counts.requests, 200U);
    EXPECT_EQ(result.counts.failed, 0U);
    EXPECT_EQ(result.concurrency, 4U);
    ASSERT_NE(result.metric("ttft_s"), nullptr);
    EXPECT_GT(*result.metric("ttft_s")->at(.5)->value, 0.0019);
    EXPECT_EQ(result.workload.achieved_output_tokens, 8);
    EXPECT_EQ(result.client.timing, "kernel");
}

// ---- errors of the client appear in its own figures

/// `sink` keeps the records.
template <class Sink>
RunResult judged(const LoadOptions& load, Sink& sink, int osl) {
    const auto dataset = synthetic_prompts(16, osl);
    Recorded recorded{.begun = {.shape = shape_of(load)}, .observed = make(load, *dataset, sink)};
    recorded.events = std::make_shared<KeptEvents>(sink.records);
    return paretoken::result_of(recorded, {});
}

bool flagged(const RunResult& result, std::string_view check, Verdict at_least) {
    const auto& reasons = result.validity.reasons;
    return std::any_of(reasons.begin(), reasons.end(),
                       [&](const Reason& r) { return r.check == check && r.severity >= at_least; });
}

std::string reasons_of(const RunResult& result) {
    std::string all;
    for (const Reason& reason : result.validity.reasons) all += reason.check + " ";
    return all;
}

/// Blocks the worker's thread for 20 ms at every eighth request.
class StallingSink final : public RecordSink {
  public:
    void record(RequestRecord&& record) override {
        const std::lock_guard lock(mutex_);
        records.push_back(std::move(record));
        if (records.size() % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::vector<RequestRecord> records;

  private:
    std::mutex mutex_;
};

TEST(InjectedFault, StallsOfTheClientWithTimesTakenInUserSpaceMakeARunInvalid) {
    const Simulated server("ideal?ttft=5ms&itl=2ms");
    LoadOptions load = load_on_simulator(server, 32, 400);
    load.worker.kernel_stamps = false;
    StallingSink sink;
    const RunResult result = judged(load, sink, 16);
    EXPECT_EQ(result.client.timing, "user");
    EXPECT_EQ(result.validity.verdict, Verdict::invalid) << reasons_of(result);
    // A busy host may merge so many events that no gap is left to compare the delay with.
    EXPECT_TRUE(flagged(result, "unstamped_delay", Verdict::invalid) ||
                flagged(result, "instrument", Verdict::invalid))
        << reasons_of(result);
}

TEST(InjectedFault, AClientThatReadsLateMergesEventsAndSaysSoButKeepsTheirArrivalTimes) {
    const Simulated server("ideal?ttft=5ms&itl=2ms");
    const LoadOptions load = load_on_simulator(server, 32, 400);
    StallingSink sink;
    const RunResult result = judged(load, sink, 16);
    EXPECT_EQ(result.client.timing, "kernel");
    if (flagged(result, "hiccups", Verdict::warn) && !flagged(result, "late_grouping", Verdict::warn)) {
        GTEST_SKIP() << "this host starves both sides: the server merges events itself";
    }
    EXPECT_TRUE(flagged(result, "late_grouping", Verdict::warn)) << reasons_of(result);
    EXPECT_EQ(result.validity.verdict, Verdict::invalid) << reasons_of(result);
}

/// Blocks the worker's thread for 150 ms at the first request that ends.
class SinkThatStallsOnce final : public RecordSink {
  public:
    void record(RequestRecord&& record) override {
        records.push_back(std::move(record));
        if (records.size() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    }
    std::vector<RequestRecord> records;
};

TEST(InjectedFault, AFirstTokenThatWasReadWithLaterOnesSaysHowEarlyItMayHaveBeen) {
    const ScriptedServer server([](int, int, const std::string& request) {
        const std::string end = token(R"("length")") + chunk("data: [DONE]\n\n") + "0\r\n\r\n";
        if (request.find("-1\r\n") == std::string::npos)  // the first request ends soon
            return ScriptedAnswer{.writes = {stream_head() + token() + end}, .pause_ms = 20};
        return ScriptedAnswer{.writes = {stream_head(), token(), token(), end}, .pause_ms = 15};
    });
    SinkThatStallsOnce sink;
    LoadOptions load = load_on(server.url(), 2, 2);
    load.worker.client.ignore_eos_accepted = false;
    const auto dataset = synthetic_prompts(16, 3);
    (void)make(load, *dataset, sink);
    ASSERT_EQ(sink.records.size(), 2U);
    const RequestRecord& late = sink.records.back();
    ASSERT_EQ(late.index, 1U);
    ASSERT_EQ(late.first_group_tokens, 3) << "one read brings all tokens";
    // The tokens were written 15 ms apart, and the read has the stamp of the last one.
    ASSERT_TRUE(late.first_early.has_value());
    EXPECT_GE(*late.first_early, std::chrono::milliseconds(25));
    ASSERT_TRUE(late.last_early.has_value());
}

TEST(InjectedFault, AProcessorHogOnTheLoopsCoreIsNoticed) {
    const Simulated server("ideal?ttft=5ms&itl=2ms");
    const LoadOptions load = load_on_simulator(server, 32, 400);
    RunResult result;
    std::thread crowded([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // inherited by the threads started here
        std::atomic<bool> over = false;
        std::vector<std::jthread> hogs;
        for (int i = 0; i < 4; ++i) {
            hogs.emplace_back([&over] {
                while (!over) {
                }
            });
        }
        KeptRecords sink;
        result = judged(load, sink, 16);
        over = true;
    });
    crowded.join();
    EXPECT_NE(result.validity.verdict, Verdict::valid) << reasons_of(result);
    EXPECT_TRUE(flagged(result, "instrument", Verdict::warn) || flagged(result, "refill_lag", Verdict::warn))
        << reasons_of(result);
}

TEST(InjectedFault, ACapThatHoldsAScheduleBackIsNamed) {
    const Simulated server("ideal?ttft=5ms&itl=1ms");
    LoadOptions load = load_on_simulator(server, 2, 200);
    only(load).arrivals = parse_arrivals("constant:rate=400");  // twice the capacity of two slots of 12 ms
    KeptRecords sink;
    const RunResult result = judged(load, sink, 8);
    EXPECT_TRUE(flagged(result, "slot_wait", Verdict::warn)) << reasons_of(result);
    const auto intended = result.metric("ttft_intended_s")->at(.5)->value;
    EXPECT_GT(*intended, 10 * *result.metric("ttft_s")->at(.5)->value) << "what users waited";
}

TEST(InjectedFault, ABurstOfTheServerIsTheServersDoing) {
    const ScriptedServer server([](int, int, const std::string&) {
        std::string burst = stream_head();
        for (int i = 0; i < 15; ++i) burst += token();
        return ScriptedAnswer{
            .writes = {burst + token(R"("length")") + chunk("data: [DONE]\n\n") + "0\r\n\r\n"},
            .pause_ms = 1};
    });
    KeptRecords sink;
    const RunResult result = judged(load_on(server, 50), sink, 16);
    EXPECT_TRUE(flagged(result, "buffered_stream", Verdict::warn)) << reasons_of(result);
    if (result.client.user_delay_p99_s.value_or(1) < 200e-6) {  // otherwise this host itself was late
        EXPECT_FALSE(flagged(result, "late_grouping", Verdict::invalid)) << reasons_of(result);
    }
}

TEST(MakeLoad, PollingBeforeDueRequestsIsNotCountedAsWork) {
    const Simulated server("ideal?ttft=1ms&itl=0ms");
    LoadOptions load = load_on_simulator(server, 1, 100);
    only(load).concurrency.reset();
    only(load).arrivals = parse_arrivals("constant:rate=200");
    load.worker.spin = std::chrono::milliseconds(20);  // longer than any gap: it polls all the time
    const KeptOutcome outcome = make(load);
    ASSERT_EQ(outcome.records.size(), 100U);
    for (const RequestRecord& r : outcome.records) EXPECT_GE(*r.sent, r.scheduled);
    ASSERT_FALSE(outcome.client.cpu.front().empty());
    for (const CpuSample& sample : outcome.client.cpu.front()) EXPECT_LT(sample.share, 0.6);
}

}  // namespace
}  // namespace paretoken::loadgen
