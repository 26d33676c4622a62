#include "loadgen/http/connection.h"

#include <utility>

#include "loadgen/http/pool.h"

namespace paretoken::http {

Connection::Connection(Pool& pool, Drain& drain, const Address& address, const TlsContext* tls,
                       const std::string& host)
    : pool_(pool), transport_(drain, address, tls, host, *this), reader_(*this) {}

// A read touches the members from the transport to `reading_`; they are prefetched from the listener on.
constexpr std::size_t kBefore = 3 * sizeof(void*);
constexpr std::size_t kUntouched = sizeof(std::shared_ptr<const std::string>) + 3 * sizeof(std::size_t);
static_assert(sizeof(Connection) <= kBefore + Drain::kListenerBytes + kUntouched);

Connection::~Connection() = default;

void Connection::exchange(std::shared_ptr<const std::string> bytes, ExchangeSink& sink) {
    sink_ = &sink;
    outgoing_ = std::move(bytes);
    ++exchanges_;
    reader_.begin();
    if (!transport_.start_failure().empty()) {
        fail(ExchangeFailure::Kind::connect_failed, transport_.start_failure());
    } else if (transport_.is_open()) {
        begin_sending(std::nullopt);
    }
}

void Connection::abandon() {
    sink_ = nullptr;
    pool_.drop(*this);
}

void Connection::on_open(const ConnectTimes& times) {
    opened_ahead_ = sink_ == nullptr;
    pool_.opened(times, opened_ahead_);
    if (!opened_ahead_) begin_sending(times);
}

void Connection::begin_sending(const std::optional<ConnectTimes>& opened) {
    sink_->on_ready(opened);
    transport_.send(std::exchange(outgoing_, nullptr));
}

void Connection::on_sent(TimePoint at, Duration took) {
    if (sink_ != nullptr) sink_->on_sent(at, took);
}

void Connection::on_read(const Read& read) {
    if (sink_ == nullptr) {  // bytes after the end of an answer make the connection unusable
        pool_.drop(*this);
        return;
    }
    reading_ = &read;
    const auto state = reader_.feed(read.bytes);
    reading_ = nullptr;
    if (sink_ == nullptr) return;  // the sink has abandoned it
    if (state == ResponseReader::State::complete) finish(read.at);
    if (state == ResponseReader::State::broken) fail(ExchangeFailure::Kind::malformed, reader_.failure());
}

void Connection::on_end(TransportEnd end, const std::string& why) {
    if (sink_ == nullptr) {
        if (exchanges_ > 0) pool_.closed_after_answer(false);
        pool_.drop(*this);
        return;
    }
    switch (end) {
        case TransportEnd::connect_failed:
            return fail(ExchangeFailure::Kind::connect_failed, why);
        case TransportEnd::tls_failed:
            return fail(ExchangeFailure::Kind::tls_failed, why);
        case TransportEnd::broken:
            return fail(ExchangeFailure::Kind::disconnected, why);
        case TransportEnd::closed_by_peer:
            break;
    }
    if (reader_.any_bytes() && reader_.feed_end() == ResponseReader::State::complete) {
        finish(Clock::now());
    } else {
        fail(ExchangeFailure::Kind::disconnected, why);
    }
}

void Connection::on_head(const ResponseHead& head) {
    if (sink_ != nullptr) sink_->on_head(head, *reading_);
}

std::span<const std::string> Connection::further_headers() const {
    return sink_ == nullptr ? std::span<const std::string>() : sink_->further_headers();
}

void Connection::on_body(std::span<const char> bytes) {
    if (sink_ != nullptr) sink_->on_body(bytes, *reading_);
}

void Connection::finish(TimePoint at) {
    ExchangeSink* sink = std::exchange(sink_, nullptr);
    // A server may answer before it has read the whole request; the rest would follow on the connection.
    if (reader_.keep_alive() && transport_.is_open() && !transport_.is_sending()) {
        pool_.take_back(*this);
    } else {
        pool_.drop(*this);
    }
    sink->on_complete(at);
}

void Connection::fail(ExchangeFailure::Kind kind, const std::string& why) {
    ExchangeSink* sink = std::exchange(sink_, nullptr);
    const ExchangeFailure failure{.kind = kind, .why = why, .before_any_byte = !reader_.any_bytes()};
    if (exchanges_ > 1 && failure.before_any_byte) pool_.closed_after_answer(true);
    pool_.drop(*this);
    sink->on_failure(failure);
}

}  // namespace paretoken::http
