#include "loadgen/http/fetch.h"

#include <fmt/format.h>

#include "loadgen/http/pool.h"

namespace paretoken::http {
namespace {

FetchFailure failure_of(const ExchangeFailure& failure) {
    switch (failure.kind) {
        case ExchangeFailure::Kind::connect_failed:
            return {FetchFailure::Kind::connect_failed, failure.why};
        case ExchangeFailure::Kind::tls_failed:
            return {FetchFailure::Kind::tls_failed, failure.why};
        case ExchangeFailure::Kind::malformed:
            return {FetchFailure::Kind::malformed, failure.why};
        case ExchangeFailure::Kind::disconnected:
            break;
    }
    return {FetchFailure::Kind::disconnected, failure.why};
}

/// Collects one response.
class Collector final : public ExchangeSink {
  public:
    Fetched fetched;
    bool over = false;
    bool swallowed = false;  ///< a kept-alive connection closed before it answered
    Connection* connection = nullptr;

  private:
    void on_ready(const std::optional<ConnectTimes>&) override {}
    void on_sent(TimePoint) override {}
    void on_head(const ResponseHead& head, const Read&) override { fetched.head = head; }
    void on_body(std::span<const char> bytes, const Read&) override {
        fetched.body.append(bytes.data(), bytes.size());
    }
    void on_complete(TimePoint) override { over = true; }
    void on_failure(const ExchangeFailure& failure) override {
        swallowed = failure.before_any_byte && failure.kind == ExchangeFailure::Kind::disconnected &&
                    connection->reused();
        fetched.failure = failure_of(failure);
        over = true;
    }
};

}  // namespace

struct Fetcher::State {
    State(const Address& address, const TlsContext* tls, const std::string& host)
        : pool(drain, address, tls, host) {}
    Drain drain;
    Pool pool;
};

Fetcher::Fetcher(const Url& url, const Address& address, const TlsContext* tls, const Headers& headers)
    : url_(url), headers_(headers), state_(std::make_unique<State>(address, tls, url.host)) {}

Fetcher::~Fetcher() {
    state_->pool.clear();
}

RequestHead Fetcher::head_for(std::string_view method, std::string_view path) const {
    return {.method = std::string(method),
            .target = url_.base + std::string(path),
            .authority = url_.authority(),
            .headers = headers_};
}

Fetched Fetcher::get(std::string_view path, Duration timeout) {
    return perform(head_for("GET", path), {}, timeout);
}

Fetched Fetcher::post(std::string_view path, std::string_view body, Duration timeout) {
    return perform(head_for("POST", path), body, timeout);
}

Fetched Fetcher::perform(const RequestHead& head, std::string_view body, Duration timeout) {
    const TimePoint deadline = Clock::now() + timeout;
    bool fresh = false;
    while (true) {
        Collector collector;
        state_->pool.bury();
        collector.connection = &state_->pool.lend(fresh);
        collector.connection->exchange(request_text(head, {}, body), collector);
        while (!collector.over && Clock::now() < deadline) state_->drain.serve(deadline);
        if (!collector.over) {
            collector.connection->abandon();
            collector.fetched.failure = FetchFailure{FetchFailure::Kind::timed_out,
                                                     fmt::format("no answer within {} s", seconds(timeout))};
        }
        if (!collector.swallowed || fresh) return std::move(collector.fetched);
        fresh = true;
    }
}

}  // namespace paretoken::http
