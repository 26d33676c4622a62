// The load against misbehaving servers: every request ends in time with the right outcome, and
// no answer of a server causes a wrong figure or puts a secret into a record.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "datasets/catalog.h"
#include "loadgen/run.h"
#include "loadgen/worker.h"
#include "tests/support/arrivals.h"
#include "tests/support/kept_records.h"
#include "tests/support/loads.h"
#include "tests/support/scripted_server.h"

namespace paretoken::loadgen {
namespace {

using namespace std::chrono_literals;
using paretoken::testing::from;
using paretoken::testing::kept_outcome;
using paretoken::testing::KeptOutcome;
using paretoken::testing::load_on;
using paretoken::testing::only;
using paretoken::testing::ScriptedAnswer;
using paretoken::testing::ScriptedServer;
using paretoken::testing::synthetic_prompts;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kTokens = 4;
const std::string kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string http_chunk(const std::string& bytes) {
    return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

std::string event(std::string_view finish = "null") {
    return http_chunk(fmt::format(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"w \"}},\"finish_reason\":{}}}]}}\n\n",
        finish));
}

std::string usage_event(std::string_view completion) {
    return http_chunk(fmt::format(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":16,\"completion_tokens\":{}}}}}\n\n",
        completion));
}

/// Returns a proper answer of kTokens events up to its [DONE]; its HTTP message has not ended yet.
std::string open_answer(std::string_view completion = "4") {
    return kHead + event() + event() + event() + event(R"("length")") + usage_event(completion) +
           http_chunk("data: [DONE]\n\n");
}
std::string whole_answer() {
    return open_answer() + "0\r\n\r\n";
}

std::string whole(int status, const std::string& body, const std::string& headers = {}) {
    return fmt::format("HTTP/1.1 {} X\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(), body);
}

KeptOutcome made(const LoadOptions& load, const datasets::Dataset& dataset) {
    Progress progress;
    return kept_outcome([&](RecordSink& sink) { return make_load(from(load, dataset), sink, progress, {}); });
}

/// Returns the records of requests to a server that answers each with `answer`.
std::vector<RequestRecord> records_of(const ScriptedAnswer& answer, std::uint64_t requests = 2,
                                      Duration timeout = 20s, int osl = kTokens) {
    const ScriptedServer server([&](int, int, const std::string&) { return answer; });
    LoadOptions load = load_on(server.url(), 1, requests);
    load.worker.client.request_timeout = timeout;
    const auto dataset = synthetic_prompts(16, osl);
    return made(load, *dataset).records;
}

Duration taken(const RequestRecord& record) {
    return record.closed - record.started;
}

TEST(HostileServer, an_answer_without_end_is_given_up_as_malformed) {
    for (const RequestRecord& r : records_of({.writes = {kHead, event()}, .endless = true})) {
        EXPECT_EQ(r.outcome, Outcome::malformed);
        EXPECT_THAT(r.error, HasSubstr("does not end"));
        EXPECT_LT(taken(r), 10s);
        EXPECT_LT(r.bytes_received, 10U << 20);
    }
}

TEST(HostileServer, an_error_without_end_is_given_up_as_the_error) {
    const std::string head = "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const RequestRecord& r :
         records_of({.writes = {head, http_chunk(std::string(10'000, 'x'))}, .endless = true})) {
        EXPECT_EQ(r.outcome, Outcome::http_error);
        EXPECT_THAT(r.error, HasSubstr("HTTP 500"));
        EXPECT_LT(r.error.size(), 600U);
        EXPECT_LT(r.bytes_received, 4U << 20);
    }
}

TEST(HostileServer, an_error_with_a_compressed_text_stays_an_error) {
    const std::string answer = whole(500, "\x1f\x8b\x08", "Content-Encoding: gzip\r\n");
    for (const RequestRecord& r : records_of({.writes = {answer}})) {
        EXPECT_EQ(r.outcome, Outcome::http_error);
        EXPECT_EQ(r.error, "HTTP 500: its text is compressed (gzip)");
    }
}

TEST(HostileServer, a_head_without_end_is_given_up_as_malformed) {
    for (const std::string& line : {std::string("X-Header: ") + std::string(1000, 'x') + "\r\n",
                                    std::string("HTTP/1.1 100 Continue\r\n\r\n")}) {
        for (const RequestRecord& r : records_of(
                 {.writes = {line.starts_with("X-") ? "HTTP/1.1 200 OK\r\n" : "", line}, .endless = true})) {
            EXPECT_EQ(r.outcome, Outcome::malformed) << line.substr(0, 20);
        }
    }
}

TEST(HostileServer, the_timeout_holds_while_bytes_flow) {
    // The request asks for so many tokens that no limit of the answer is reached first.
    const ScriptedAnswer pings{.writes = {kHead, http_chunk(": ping\n\n")}, .endless = true};
    for (const RequestRecord& r : records_of(pings, 1, 1s, 1'000'000)) {
        EXPECT_EQ(r.outcome, Outcome::timed_out);
        EXPECT_LT(taken(r), 2s);
    }
}

TEST(HostileServer, an_answer_is_complete_at_its_done) {
    const auto began = Clock::now();
    const auto records = records_of({.writes = {open_answer()}}, 8);
    EXPECT_LT(Clock::now() - began, 5s);
    ASSERT_EQ(records.size(), 8U);
    for (const RequestRecord& r : records) {
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        EXPECT_EQ(r.streamed_tokens, kTokens);
        EXPECT_LT(*r.finished - *r.last_event, 40ms);
    }
}

TEST(HostileServer, what_follows_the_done_is_no_fault_of_the_answer) {
    for (const std::string& rest :
         {std::string("garbage instead of a chunk\r\n"), http_chunk("data: {\n\n")}) {
        for (const RequestRecord& r : records_of({.writes = {open_answer() + rest}, .close_after = true})) {
            EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        }
    }
}

TEST(HostileServer, a_connection_whose_message_ends_with_the_done_is_used_again) {
    std::atomic<int> connections{0};
    const ScriptedServer server([&](int connection, int, const std::string&) {
        connections = std::max<int>(connections, connection + 1);
        return ScriptedAnswer{.writes = {open_answer(), "0\r\n\r\n"}, .pause_ms = 2};
    });
    const auto dataset = synthetic_prompts(16, kTokens);
    const KeptOutcome outcome = made(load_on(server.url(), 1, 10), *dataset);
    for (const RequestRecord& r : outcome.records) EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
    EXPECT_EQ(connections, 1);
}

TEST(HostileServer, a_usage_that_cannot_be_is_malformed_and_makes_no_figure) {
    for (const char* completion : {"10000000000", "-3", "1000000"}) {
        for (const RequestRecord& r : records_of({.writes = {open_answer(completion) + "0\r\n\r\n"}})) {
            EXPECT_EQ(r.outcome, Outcome::malformed) << completion;
            EXPECT_EQ(r.usage, TokenUsage{}) << completion;
            EXPECT_EQ(r.streamed_tokens, kTokens) << completion;
        }
    }
}

TEST(HostileServer, a_quoted_key_is_hidden_in_every_text) {
    const ScriptedServer server([](int, int request, const std::string& text) {
        const std::string key = text.substr(text.find("Authorization: "), 40);
        const std::string quoted = "SECRETKEY123, that is " + key.substr(0, key.find('\r'));
        switch (request % 5) {
            case 0:
                return ScriptedAnswer{.writes = {whole(500, R"({"error":{"message":")" + quoted + "\"}}")}};
            case 1:
                return ScriptedAnswer{.writes = {whole(500, std::string(190, 'x') + quoted)}};
            case 2:
                return ScriptedAnswer{.writes = {whole(307, "", "Location: http://h/?key=SECRETKEY123\r\n")}};
            case 3:
                return ScriptedAnswer{
                    .writes = {kHead + http_chunk("data: {\"error\":\"" + quoted + "\"}\n\n") + "0\r\n\r\n"}};
            default:
                return ScriptedAnswer{.writes = {kHead + event("\"SECRETKEY123\"") + usage_event("4") +
                                                 http_chunk("data: [DONE]\n\n") + "0\r\n\r\n"}};
        }
    });
    LoadOptions load = load_on(server.url(), 1, 10);
    load.worker.targets.front().head.headers = {{"Authorization", "Bearer SECRETKEY123"}};
    const auto dataset = synthetic_prompts(16, kTokens);
    const KeptOutcome outcome = made(load, *dataset);
    ASSERT_EQ(outcome.records.size(), 10U);
    for (const RequestRecord& r : outcome.records) {
        EXPECT_THAT(r.error, Not(HasSubstr("SECRETKEY")));
        EXPECT_THAT(r.finish_reason, Not(HasSubstr("SECRETKEY")));
        EXPECT_EQ(r.outcome == Outcome::ok, r.error.empty());
    }
}

/// Returns the records of two conversations of three turns with a server whose answers set a session token,
/// and the tokens that its requests returned; `body` is that of the last answer of each conversation.
std::vector<RequestRecord> token_records(const std::string& token, std::vector<std::string>& returned,
                                         const std::string& error = {}) {
    std::mutex mutex;
    const ScriptedServer server([&](int, int, const std::string& text) {
        const std::string name = "x-session-token: ";
        const std::size_t at = text.find(name);
        const std::scoped_lock lock(mutex);
        returned.push_back(at == std::string::npos
                               ? ""
                               : text.substr(at + name.size(), text.find('\r', at) - at - name.size()));
        if (!error.empty() && at != std::string::npos) return ScriptedAnswer{.writes = {whole(500, error)}};
        std::string answer = whole_answer();
        answer.insert(answer.find("Content-Type"), fmt::format("X-Session-Token: {}\r\n", token));
        return ScriptedAnswer{.writes = {answer}};
    });
    LoadOptions load = load_on(server.url(), 1, 2);
    load.worker.session_tokens = {{"x-session-token"}};
    const auto dataset = datasets::make_dataset(
        {.spec = {.name = "multi_turn",
                  .fields = {{"turns", "3"}, {"first", "9"}, {"next", "4"}, {"osl", "4"}}}});
    return made(load, *dataset).records;
}

TEST(HostileServer, a_session_token_is_returned_by_later_turns_and_stands_in_no_text) {
    std::vector<std::string> returned;
    for (const RequestRecord& r : token_records("abc123XYZ", returned)) EXPECT_EQ(r.outcome, Outcome::ok);
    EXPECT_THAT(returned, ElementsAre("", "abc123XYZ", "abc123XYZ", "", "abc123XYZ", "abc123XYZ"));
    returned.clear();
    const auto records = token_records("abc123XYZ", returned, R"({"error":{"message":"stale abc123XYZ"}})");
    ASSERT_EQ(records.size(), 4U);
    for (const RequestRecord& r : records) EXPECT_THAT(r.error, Not(HasSubstr("abc123XYZ")));
    EXPECT_EQ(records[1].error, "HTTP 500: stale ***");
}

TEST(HostileServer, a_session_token_that_cannot_be_returned_is_malformed) {
    for (const auto& [token, why] : {std::pair{std::string("a\tb"), "printable"},
                                     {std::string("caf\xc3\xa9"), "printable"},
                                     {std::string(4097, 'x'), "4096"},
                                     {std::string("a\x01") + "b", "HTTP"}}) {
        std::vector<std::string> returned;
        const auto records = token_records(token, returned);
        EXPECT_THAT(returned, ElementsAre("", "")) << why;
        for (const RequestRecord& r : records) {
            EXPECT_EQ(r.outcome, Outcome::malformed);
            EXPECT_THAT(r.error, HasSubstr(why));
        }
    }
    std::vector<std::string> returned;
    for (const RequestRecord& r : token_records(std::string(4096, 'x'), returned))
        EXPECT_EQ(r.outcome, Outcome::ok);
}

TEST(HostileServer, a_redirect_names_where_it_leads) {
    for (const RequestRecord& r :
         records_of({.writes = {whole(307, "", "Location: http://elsewhere/v1\r\n")}})) {
        EXPECT_EQ(r.outcome, Outcome::http_error);
        EXPECT_THAT(r.error, AllOf(HasSubstr("307"), HasSubstr("http://elsewhere/v1")));
    }
}

TEST(HostileServer, an_error_text_is_one_printable_line) {
    const std::string body = "{\"error\":\"first\\nsecond \\u202Egnp\\u001b[31m\"}";
    for (const RequestRecord& r : records_of({.writes = {whole(500, body)}})) {
        EXPECT_EQ(r.error, "HTTP 500: first second gnp [31m");
    }
}

TEST(HostileServer, one_that_does_not_stream_makes_the_run_invalid) {
    const std::string body =
        R"({"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":16,"completion_tokens":4}})";
    const ScriptedServer server(
        [&](int, int, const std::string&) { return ScriptedAnswer{.writes = {whole(200, body)}}; });
    const LoadOptions load = load_on(server.url(), 2, 20);
    const auto dataset = synthetic_prompts(16, kTokens);
    const auto outcome = made(load, *dataset);
    const RunResult result = result_of(outcome, load);
    EXPECT_EQ(result.counts.ok, 20U);
    EXPECT_EQ(result.counts.unstreamed, 20U);
    EXPECT_EQ(result.validity.verdict, Verdict::invalid);
    EXPECT_TRUE(
        std::any_of(result.validity.reasons.begin(), result.validity.reasons.end(), [](const Reason& r) {
            return r.check == "no_stream" && r.text.find("the server did not stream") != std::string::npos;
        }));
}

TEST(HostileServer, good_answers_between_the_others_keep_their_figures) {
    const ScriptedServer server([](int, int request, const std::string&) {
        switch (request % 4) {
            case 1:
                return ScriptedAnswer{.writes = {whole(500, "no")}};
            case 3:
                return ScriptedAnswer{.writes = {open_answer("10000000000") + "0\r\n\r\n"}};
            default:
                return ScriptedAnswer{.writes = {whole_answer()}};
        }
    });
    const auto dataset = synthetic_prompts(16, kTokens);
    int good = 0;
    for (const RequestRecord& r : made(load_on(server.url(), 1, 16), *dataset).records) {
        if (r.outcome != Outcome::ok) continue;
        ++good;
        EXPECT_EQ(r.streamed_tokens, kTokens);
        EXPECT_EQ(r.usage.completion, kTokens);
        EXPECT_EQ(r.chunks, kTokens);
    }
    EXPECT_GE(good, 4);
}

TEST(HostileServer, an_outage_is_not_the_clients_own_reason) {
    std::string url;
    {
        const ScriptedServer gone([](int, int, const std::string&) { return ScriptedAnswer{}; });
        url = gone.url();
    }
    LoadOptions load = load_on(url, 1, 40);
    only(load).arrivals = parse_arrivals("constant:rate=100");
    only(load).concurrency.reset();
    const auto dataset = synthetic_prompts(16, kTokens);
    const auto outcome = made(load, *dataset);
    const RunResult result = result_of(outcome, load);
    EXPECT_EQ(result.counts.by_outcome.at("connect_failed"), 40U);
    EXPECT_EQ(result.validity.verdict, Verdict::invalid);
    for (const Reason& reason : result.validity.reasons)
        EXPECT_NE(reason.check, "achieved_rate") << reason.text;
}

/// Counts the requests that were asked for, and takes a while for each.
class CountingDataset final : public datasets::Dataset {
  public:
    explicit CountingDataset(std::unique_ptr<datasets::Dataset> base, std::chrono::milliseconds takes = 1ms)
        : base_(std::move(base)), takes_(takes) {}
    Request request(std::uint64_t index) const override {
        ++asked;
        std::this_thread::sleep_for(takes_);  // long enough for the first answers to be there
        return base_->request(index);
    }
    Request outline(std::uint64_t index) const override { return base_->outline(index); }
    std::string description() const override { return base_->description(); }
    std::optional<double> mean_input_tokens() const override { return base_->mean_input_tokens(); }
    std::optional<double> mean_output_tokens() const override { return base_->mean_output_tokens(); }

    mutable std::atomic<int> asked{0};

  private:
    std::unique_ptr<datasets::Dataset> base_;
    std::chrono::milliseconds takes_;
};

/// Makes `count` requests, all at once, on a server that answers each in one write, and calls `on_record` for
/// each that has ended. Returns the number of records.
std::size_t load_at_once(const CountingDataset& dataset, std::uint64_t count,
                         std::function<void()> on_record) {
    struct Sink final : RecordSink {
        explicit Sink(std::function<void()> call) : on_record(std::move(call)) {}
        void record(RequestRecord&&) override { on_record(); }
        std::function<void()> on_record;
    } sink(std::move(on_record));
    const ScriptedServer server(
        [](int, int, const std::string&) { return ScriptedAnswer{.writes = {whole_answer()}}; });
    Progress progress;
    return make_load(from(load_on(server.url(), count, count), dataset), sink, progress, {}).records.size();
}

TEST(Worker, reads_between_two_starts) {
    const CountingDataset dataset(synthetic_prompts(16, kTokens));
    int asked_before_first = 0;
    const std::size_t records = load_at_once(dataset, 400, [&] {
        if (asked_before_first == 0) asked_before_first = dataset.asked;
    });
    EXPECT_EQ(records, 400U);
    // The server's thread answers meanwhile; a host that does not let it run lets a few more be started.
    EXPECT_LE(asked_before_first, 128);
}

TEST(Worker, reads_the_answers_that_wait_before_it_starts_many_more) {
    const CountingDataset dataset(synthetic_prompts(16, kTokens), 5ms);
    int ended_while_starting = 0;
    const std::size_t records =
        load_at_once(dataset, 200, [&] { ended_while_starting += dataset.asked < 200 ? 1 : 0; });
    EXPECT_EQ(records, 200U);
    // A connection is ready twice. Rounds of 32 starts and 32 ready sockets would leave half of them waiting.
    EXPECT_GE(ended_while_starting, 130);
}

}  // namespace
}  // namespace paretoken::loadgen
