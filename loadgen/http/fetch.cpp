#include "loadgen/http/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

constexpr Duration kEndGrace = std::chrono::milliseconds(50);

/// Collects one response.
class Collector final : public ExchangeSink {
  public:
    Fetched fetched;
    bool over = false;
    bool swallowed = false;  ///< whether a kept-alive connection closed before it answered
    Connection* connection = nullptr;
    bool (*is_whole)(std::string_view) = nullptr;

    /// Returns whether the body is sufficient, but the end of the message has not followed in time.
    bool left_open() const { return whole_since_ && Clock::now() >= *whole_since_ + kEndGrace; }
    TimePoint next_look(TimePoint deadline) const {
        return whole_since_ ? std::min(deadline, *whole_since_ + kEndGrace) : deadline;
    }

  private:
    void on_ready(const std::optional<ConnectTimes>&) override {}
    void on_sent(TimePoint, Duration) override { fetched.was_sent = true; }
    void on_head(const ResponseHead& head, const Read&) override { fetched.head = head; }
    void on_body(std::span<const char> bytes, const Read&) override {
        const std::size_t longest =
            is_success(fetched.head.status) ? Fetcher::kLongestBody : Fetcher::kLongestError;
        const std::size_t room = longest - std::min(longest, fetched.body.size());
        fetched.body.append(bytes.data(), std::min(room, bytes.size()));
        if (bytes.size() <= room) {
            whole_since_.reset();
            if (is_whole != nullptr && is_whole(fetched.body)) whole_since_ = Clock::now();
            return;
        }
        // The beginning of an error text is enough.
        if (is_success(fetched.head.status)) {
            fetched.failure = FetchFailure{FetchFailure::Kind::too_long,
                                           fmt::format("the answer is longer than {} MiB", longest >> 20)};
        }
        over = true;
        connection->abandon();
    }
    void on_complete(TimePoint) override { over = true; }
    void on_failure(const ExchangeFailure& failure) override {
        swallowed = failure.before_any_byte && failure.kind == ExchangeFailure::Kind::disconnected &&
                    connection->reused();
        over = true;
        if (!whole_since_) fetched.failure = failure_of(failure);
    }

    std::optional<TimePoint> whole_since_;
};

}  // namespace

struct Fetcher::State {
    State(const Address& address, const TlsContext* tls, const std::string& host)
        : pool(drain, address, tls, host) {}
    Drain drain;
    Pool pool;
};

Fetcher::Fetcher(const Url& url, const Address& address, const TlsContext* tls, const Headers& headers,
                 std::stop_token stop)
    : url_(url),
      headers_(headers),
      stop_(std::move(stop)),
      state_(std::make_unique<State>(address, tls, url.host)) {}

Fetcher::~Fetcher() {
    state_->pool.clear();
}

RequestHead Fetcher::head_for(std::string_view method, std::string_view path) const {
    return {.method = std::string(method),
            .target = url_.target(path),
            .authority = url_.authority(),
            .headers = headers_};
}

Fetched Fetcher::get(std::string_view path, Duration timeout) {
    return perform(head_for("GET", path), {}, timeout, nullptr);
}

Fetched Fetcher::post(std::string_view path, std::string_view body, Duration timeout,
                      bool (*is_whole)(std::string_view)) {
    return perform(head_for("POST", path), body, timeout, is_whole);
}

void Fetcher::when_slow(Duration after, std::function<void(const std::string&)> tell) {
    slow_after_ = after;
    tell_slow_ = std::move(tell);
}

Fetched Fetcher::perform(const RequestHead& head, std::string_view body, Duration timeout,
                         bool (*is_whole)(std::string_view)) {
    const TimePoint began = Clock::now();
    const TimePoint deadline = began + timeout;
    constexpr TimePoint kNever = TimePoint::max();
    TimePoint slow_at = tell_slow_ && slow_after_ < timeout ? began + slow_after_ : kNever;
    const std::stop_callback on_stop(stop_, [this] { state_->drain.wake(); });
    const auto waiting = [&] { return Clock::now() < deadline && !stop_.stop_requested(); };
    bool fresh = false;
    while (true) {
        Collector collector;
        state_->pool.free_dropped();
        collector.connection = &state_->pool.lend(fresh);
        collector.is_whole = is_whole;
        collector.connection->exchange(std::make_shared<const std::string>(request_text(head, {}, body)),
                                       collector);
        while (!collector.over && waiting() && !collector.left_open()) {
            state_->drain.serve(std::min(collector.next_look(deadline), slow_at));
            if (collector.over || slow_at == kNever || Clock::now() < slow_at) continue;
            slow_at = kNever;
            tell_slow_(fmt::format("{} {}", head.method, head.target.substr(0, head.target.find('?'))));
        }
        if (!collector.over && collector.left_open()) {
            collector.connection->abandon();
        } else if (!collector.over) {
            collector.connection->abandon();
            const bool begun = !collector.fetched.body.empty();
            collector.fetched.failure =
                stop_.stop_requested()
                    ? FetchFailure{FetchFailure::Kind::stopped, "interrupted"}
                    : FetchFailure{
                          FetchFailure::Kind::timed_out,
                          fmt::format("{} within {} s", begun ? "the answer did not end" : "no answer",
                                      seconds(timeout))};
        }
        if (!collector.swallowed || fresh) return std::move(collector.fetched);
        fresh = true;
    }
}

}  // namespace paretoken::http
