#include "loadgen/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/prefetch.h"
#include "core/text/printable.h"
#include "core/text/trace_context.h"

namespace paretoken::loadgen {
namespace {

constexpr std::size_t kMostErrorBytes = std::size_t{1} << 20;
constexpr std::size_t kLongestError = 500;  ///< bytes of RequestRecord::error
/// How long the client waits after an answer for the end of its HTTP message, to reuse the connection.
constexpr Duration kEndGrace = std::chrono::milliseconds(50);
constexpr std::int64_t kMostExpected = 4096;  ///< chunks
constexpr std::size_t kLongestToken = 4096;   ///< bytes of a session token

Outcome outcome_of(http::ExchangeFailure::Kind kind) {
    switch (kind) {
        case http::ExchangeFailure::Kind::connect_failed:
            return Outcome::connect_failed;
        case http::ExchangeFailure::Kind::tls_failed:
            return Outcome::tls_failed;
        case http::ExchangeFailure::Kind::malformed:
            return Outcome::malformed;
        case http::ExchangeFailure::Kind::disconnected:
            break;
    }
    return Outcome::disconnected;
}

Secrets secrets_of(const http::RequestHead& head) {
    Secrets secrets;
    for (const auto& [name, value] : head.headers) secrets.add_header(name, value);
    secrets.add_url(head.target);
    return secrets;
}

/// Returns why a session token cannot be returned to the server; empty if it can.
std::string_view fault_of_token(std::string_view token) {
    if (token.size() > kLongestToken) return "is longer than 4096 bytes";
    const bool plain = std::ranges::all_of(token, [](char c) { return c >= ' ' && c <= '~'; });
    return plain ? "" : "has a character that is not printable ASCII";
}

/// Returns a time of RequestRecord::first_early; nothing for none.
std::optional<Duration> earlier_by(Duration time) {
    if (time <= Duration{}) return std::nullopt;
    return std::chrono::ceil<std::chrono::microseconds>(time);
}

}  // namespace

Duration longest_fair_delay(const std::vector<StreamEvent>& events) {
    constexpr Duration kLeast = std::chrono::microseconds(300);
    constexpr Duration kPossible = std::chrono::microseconds(20);  // from one event to the next
    constexpr Duration kFastest = std::chrono::milliseconds(1);    // from one token of a server to the next
    constexpr std::int64_t kPartOfARead = 4;
    if (events.size() < 2) return kLeast;
    const auto gaps = static_cast<std::int64_t>(events.size() - 1);
    std::int64_t between_reads = 0;
    for (std::size_t i = 1; i < events.size(); ++i)
        if (events[i].time != events[i - 1].time) ++between_reads;
    const Duration span = events.back().time - events.front().time;
    // A steady stream cannot have given fewer reads than one per mean time. Events that came together were
    // written together by the server, unless they waited here for as long as it takes to make them, or for a
    // large part of the time between two reads.
    if (span / gaps < kPossible) return gaps * kFastest;
    return std::max({kLeast, span / gaps, span / std::max<std::int64_t>(1, between_reads) / kPartOfARead});
}

std::string timeout_text(Duration timeout) {
    return fmt::format("not finished within --timeout {} s", seconds(timeout));
}

/// One request in flight. The object is reused: after finish() it waits for the next request with its
/// buffers.
class Client::Exchange final : public http::ExchangeSink {
  public:
    explicit Exchange(Client& client) : answer_(client.parser_), client_(client) {}

    void begin(PreparedRequest prepared, RequestRecord record) {
        record_ = std::move(record);
        record_.id = std::move(prepared.request.id);
        record_.request_class = std::move(prepared.request.request_class);
        record_.slo = std::move(prepared.request.slo);
        record_.wanted_input_tokens = prepared.request.wanted_input_tokens;
        record_.wanted_output_tokens = prepared.request.wanted_output_tokens;
        record_.started = Clock::now();
        record_.ready = record_.started;
        limits_ = prepared.limits;
        keep_answer_ = prepared.keep_answer;
        slow_sending_ = {};
        model_ = std::move(prepared.request.model);
        tokens_ = std::move(prepared.tokens);
        const std::string trace = client_.options_.traceparent
                                      ? fmt::format("traceparent: {}\r\n", traceparent_of(record_.id))
                                      : std::string();
        text_ = std::make_shared<const std::string>(
            fmt::format("{}X-Request-Id: {}\r\n{}{}Content-Length: {}\r\n\r\n{}", client_.head_text_,
                        record_.id, trace, prepared.headers, prepared.body.size(), prepared.body));
        send(false);
    }

    void send(bool fresh_connection) {
        error_body_ = {};
        grouped_reads_.clear();
        head_ = {};
        read_at_.reset();
        done_at_.reset();
        bytes_received_ = 0;
        refused_ = false;
        output_since_.reset();
        connected_ = false;
        answer_.begin(record_, {.stream = client_.options_.body.stream,
                                .ignore_eos_accepted = client_.options_.ignore_eos_accepted,
                                .keep_text = keep_answer_,
                                .echoes_prompt = client_.body_.echoes_prompt(),
                                .expected_chunks = expected_chunks(),
                                .asked_model = model_.empty() ? client_.options_.body.model : model_,
                                .limits = limits_});
        connection_ = &client_.pool_.lend(fresh_connection);
        // The text is kept until the first byte of an answer, because a closing connection may lose it.
        connection_->exchange(text_, *this);
    }

    const RequestRecord& record() const { return record_; }
    RequestRecord take_record() { return std::move(record_); }

    void count_into(ClientCounters& counters) const {
        counters.chunks += static_cast<std::uint64_t>(record_.chunks);
        counters.grouped_chunks += static_cast<std::uint64_t>(record_.grouped_chunks);
        for (const StreamEvent& event : record_.events) counters.stamped_chunks += event.kernel_stamp ? 1 : 0;
        if (grouped_reads_.empty()) return;
        const Duration fair = longest_fair_delay(record_.events);
        for (const GroupedRead& read : grouped_reads_) {
            if (read.lay > fair) counters.late_grouped_chunks += read.chunks;
        }
    }

    /// Ends the exchange from outside, in any state.
    void give_up(Outcome outcome, const std::string& why, TimePoint now) {
        set_failure(outcome, why);
        leave(now);
    }

    bool waits_for_connection() const { return !connected_; }

    /// Returns whether the answer has ended, but its HTTP message has not ended within kEndGrace.
    bool is_left_open(TimePoint now) const { return done_at_ && now - *done_at_ > kEndGrace; }
    bool is_done() const { return done_at_.has_value(); }
    void end_left_open(TimePoint now) {
        ++client_.left_open_in_a_row_;
        leave(now);
    }

    std::size_t position = 0;  ///< position among the client's active exchanges

  private:
    /// Notes by how much the times to the first and the last event may be too long. A read can be passed on
    /// in several parts.
    void note_output(const http::Read& read, bool several) {
        const auto early = earlier_by(read.early(several) + slow_sending_);
        record_.last_early = early;
        if (!output_since_) {
            output_since_ = read.at;
            record_.first_early = early;
            client_.sink_.on_first_token(record_, read.at);
        } else if (several && output_since_ == read.at) {
            record_.first_early = early;
        }
    }

    /// Passes the tokens of the answer's head on, or fails the request if one cannot be returned.
    void take_tokens() {
        for (std::size_t i = 0; i < head_.further.size(); ++i) {
            const std::string_view fault = fault_of_token(head_.further[i]);
            if (fault.empty()) continue;
            return set_failure(Outcome::malformed,
                               fmt::format("the answer's header {} {}, so that no request can return it",
                                           client_.options_.session_tokens[i], fault));
        }
        if (!head_.further.empty()) client_.sink_.on_session_tokens(record_, head_.further);
    }

    /// Returns the client's secrets and the session tokens of this request and its answer.
    Secrets secrets() const {
        Secrets all = client_.secrets_;
        for (const auto& tokens : {tokens_, head_.further})
            for (const std::string& token : tokens) all.add(token);
        return all;
    }

    struct GroupedRead {
        Duration lay;
        std::uint32_t chunks;
    };

    /// Ends the exchange and closes the connection.
    void leave(TimePoint now) {
        if (connection_ != nullptr) std::exchange(connection_, nullptr)->abandon();
        conclude(false, now);
    }

    void on_ready(const std::optional<ConnectTimes>& opened) override {
        connected_ = true;
        if (!record_.sent) record_.ready = Clock::now();
        if (opened) record_.connect = opened;
    }

    /// A request that is sent twice keeps the times of its first sending, from which the user waits.
    /// The host may have paused this thread between the clock and the sending, which a slow call shows.
    void on_sent(TimePoint at, Duration took) override {
        constexpr Duration kNormal = std::chrono::microseconds(50);
        if (record_.sent) return;
        record_.sent = at;
        slow_sending_ = took > kNormal ? took : Duration{};
    }

    void on_head(const http::ResponseHead& head, const http::Read& read) override {
        head_ = head;
        record_.http_status = head.status;
        refused_ = !http::is_success(head.status);
        record_.headers = read.at;
        text_ = nullptr;  // frees it once it is sent: it is as long as the prompt, and many may wait
        if (http::is_compressed(head) && !refused_) {
            set_failure(Outcome::malformed,
                        fmt::format("the answer is compressed ({}) although identity was asked for; times of "
                                    "compressed tokens mean nothing, switch compression off",
                                    head.content_encoding));
        }
        if (!refused_) take_tokens();
    }

    std::span<const std::string> further_headers() const override { return client_.options_.session_tokens; }

    void on_body(std::span<const char> bytes, const http::Read& read) override {
        bytes_received_ += bytes.size();
        if (refused_) {
            const std::size_t room = kMostErrorBytes - std::min(kMostErrorBytes, error_body_.size());
            error_body_.append(bytes.data(), std::min(room, bytes.size()));
            if (bytes.size() > room) give_up(Outcome::http_error, http_error_text(), read.at);
            return;
        }
        const bool new_read = read_at_ != read.at;
        read_at_ = read.at;
        const std::size_t events_before = answer_.events();
        const auto grouped = answer_.on_body(bytes, read.at, read.kernel_stamp, new_read);
        if (grouped > 0) grouped_reads_.push_back({read.lay, grouped});
        if (answer_.events() != events_before) note_output(read, grouped > 0);
        if (record_.outcome == Outcome::malformed) {
            leave(read.at);  // later bytes have no meaning
        } else if (answer_.done() && !done_at_) {
            done_at_ = read.at;
            if (client_.leaves_answers_open()) leave(read.at);
        }
    }

    void expect_body() override {
        const auto* const begin = reinterpret_cast<const char*>(this);
        prefetch(begin, static_cast<std::size_t>(reinterpret_cast<const char*>(&answer_ + 1) - begin));
    }

    void on_complete(TimePoint at) override {
        connection_ = nullptr;
        if (done_at_) client_.left_open_in_a_row_ = 0;
        if (!http::is_success(record_.http_status)) set_failure(Outcome::http_error, http_error_text());
        conclude(true, at);
    }

    void on_failure(const http::ExchangeFailure& failure) override {
        const bool swallowed = failure.kind == http::ExchangeFailure::Kind::disconnected &&
                               failure.before_any_byte && connection_ != nullptr && connection_->reused() &&
                               !record_.resent && was_closing(connection_->is_reset());
        connection_ = nullptr;
        if (swallowed) {
            record_.resent = true;
            client_.to_resend_.push_back(this);
            return;
        }
        // A stream that broke off keeps its events. An answer that reached its own end is complete, even
        // if the connection fails after it.
        if (refused_) {
            set_failure(Outcome::http_error, http_error_text());
        } else if (!done_at_) {
            set_failure(outcome_of(failure.kind), failure.why);
        }
        conclude(false, Clock::now());
    }

    /// Returns whether the server may have closed the connection before the request reached it. The request
    /// and the news of the end then take one round trip together, or longer if either host is busy. A reset
    /// is the usual answer to a request that meets a closed connection, so that it may be read later. A
    /// server that takes a request, keeps it for longer and ends the connection in either way has failed.
    bool was_closing(bool is_reset) const {
        using std::chrono::milliseconds;
        const Duration late = is_reset ? milliseconds(400) : milliseconds(20);  // on a busy host
        return !record_.sent || Clock::now() - *record_.sent <= 2 * client_.pool_.slowest_opening() + late;
    }

    std::string http_error_text() const {
        std::string text = fmt::format("HTTP {}", record_.http_status);
        std::string said = error_body_.empty() ? std::string() : http::compression_note(head_);
        if (said.empty()) said = protocol::error_text_of(error_body_, secrets());
        if (!said.empty()) text += ": " + said;
        if (!head_.location.empty()) text += fmt::format(" (Location: {})", head_.location);
        if (!head_.retry_after.empty()) text += fmt::format(" (Retry-After: {})", head_.retry_after);
        return text;
    }

    void set_failure(Outcome outcome, const std::string& why) {
        if (record_.outcome != Outcome::ok) return;  // the first failure is the cause
        record_.outcome = outcome;
        record_.error = printable_line(secrets().redacted(why), kLongestError);
    }

    void conclude(bool http_complete, TimePoint at) {
        answer_.finish(http_complete);
        if (!client_.options_.session_tokens.empty())
            record_.finish_reason = secrets().redacted(record_.finish_reason);
        record_.bytes_received = bytes_received_;
        record_.closed = at;
        error_body_ = {};
        client_.finish(*this, at);
    }

    /// Returns the number of chunks to expect; 0 unless the server keeps to the length asked for.
    std::size_t expected_chunks() const {
        if (!client_.options_.ignore_eos_accepted) return 0;
        return static_cast<std::size_t>(
            std::clamp<std::int64_t>(record_.wanted_output_tokens.value_or(0), 0, kMostExpected));
    }

    // The members that every read of a body touches come first.
    std::optional<TimePoint> read_at_;  ///< time of the read with the last body bytes
    std::optional<TimePoint> done_at_;  ///< when the answer itself ended
    std::uint64_t bytes_received_ = 0;
    bool refused_ = false;                   ///< whether its status is not 2xx; the body tells why
    std::optional<TimePoint> output_since_;  ///< time of the first output, of which the sink was told
    protocol::AnswerReader answer_;

    Client& client_;
    http::Connection* connection_ = nullptr;
    protocol::AnswerLimits limits_;
    bool keep_answer_ = false;
    bool connected_ = false;
    std::vector<GroupedRead> grouped_reads_;
    Duration slow_sending_{};  ///< duration of the call that sent the last byte; zero if that is normal
    RequestRecord record_;
    std::shared_ptr<const std::string> text_;  ///< the whole request
    std::string model_;                        ///< model of the request; empty means the run's
    std::vector<std::string> tokens_;          ///< session tokens that the request returns
    std::string error_body_;
    http::ResponseHead head_;
};

Client::Client(http::Pool& pool, const ClientOptions& options, ClientSink& sink)
    : pool_(pool),
      options_(options),
      body_(options.body),
      head_text_(http::head_text(options.head)),
      secrets_(secrets_of(options.head)),
      sink_(sink),
      parser_(secrets_, *options.body.protocol) {}

Client::~Client() = default;

PreparedRequest Client::prepare(Request request) const {
    std::string body = body_.body(request);
    protocol::AnswerLimits limits = protocol::limits_for(body_.asked_output_tokens(request), body.size());
    limits.choices = body_.choices(request);
    request.wanted_output_tokens = body_.wanted_output_tokens(request);
    return {.request = std::move(request), .body = std::move(body), .limits = limits, .keep_answer = false};
}

void Client::start(PreparedRequest prepared, RequestRecord record) {
    Exchange& exchange = free_exchange();
    exchange.position = active_.size();
    active_.push_back(&exchange);
    const RequestKey key{record.index, record.warmup};
    const auto patience = prepared.hangs_up_after;
    exchange.begin(std::move(prepared), std::move(record));
    if (patience) hang_ups_.emplace(exchange.record().started + *patience, key);
}

Client::Exchange& Client::free_exchange() {
    if (free_.empty()) {
        exchanges_.push_back(std::make_unique<Exchange>(*this));
        return *exchanges_.back();
    }
    Exchange* exchange = free_.back();
    free_.pop_back();
    return *exchange;
}

void Client::finish(Exchange& exchange, TimePoint over_at) {
    active_[exchange.position] = active_.back();
    active_[exchange.position]->position = exchange.position;
    active_.pop_back();
    std::erase(to_resend_, &exchange);
    exchange.count_into(counters_);
    RequestRecord record = exchange.take_record();
    free_.push_back(&exchange);
    sink_.on_finished(std::move(record), over_at);
}

void Client::resend() {
    for (Exchange* exchange : std::exchange(to_resend_, {})) exchange->send(true);
}

void Client::end_overdue(TimePoint now) {
    const std::vector<Exchange*> candidates = active_;
    for (Exchange* exchange : candidates) {
        const RequestRecord& record = exchange->record();
        const Duration age = now - record.started;
        if (exchange->is_left_open(now)) {
            exchange->end_left_open(now);
        } else if (exchange->waits_for_connection() && !record.resent && age > options_.connect_timeout) {
            exchange->give_up(Outcome::connect_failed,
                              fmt::format("no connection within {} s", seconds(options_.connect_timeout)),
                              now);
        } else if (age > options_.request_timeout) {
            exchange->give_up(Outcome::timed_out, timeout_text(options_.request_timeout), now);
        }
    }
}

TimePoint Client::next_hang_up() const {
    return hang_ups_.empty() ? TimePoint::max() : hang_ups_.begin()->first;
}

void Client::hang_up(TimePoint now) {
    while (!hang_ups_.empty() && hang_ups_.begin()->first <= now) {
        const RequestKey key = hang_ups_.begin()->second;
        hang_ups_.erase(hang_ups_.begin());
        const auto found = std::ranges::find_if(active_, [&](const Exchange* exchange) {
            return RequestKey{exchange->record().index, exchange->record().warmup} == key;
        });
        if (found == active_.end() || (*found)->is_done()) continue;
        (*found)->give_up(Outcome::abandoned, "the user hung up", now);
    }
}

void Client::cancel_all() {
    const std::vector<Exchange*> all = active_;
    for (Exchange* exchange : all) {
        const TimePoint now = Clock::now();
        if (exchange->is_done()) {
            exchange->end_left_open(now);
        } else {
            exchange->give_up(Outcome::cancelled, "the run was ended", now);
        }
    }
}

}  // namespace paretoken::loadgen
