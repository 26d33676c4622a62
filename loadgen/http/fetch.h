#pragma once
// Sends one blocking HTTP request at a time, for requests that do not belong to the load: questions to a
// server and commands to it, and scrapes on a thread of their own.
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/units.h"
#include "loadgen/http/address.h"
#include "loadgen/http/message.h"
#include "loadgen/http/tls.h"

namespace paretoken::http {

struct FetchFailure {
    enum class Kind { connect_failed, tls_failed, disconnected, malformed, timed_out, too_long, stopped };
    Kind kind = Kind::disconnected;
    std::string why;
};

struct Fetched {
    ResponseHead head = {};
    std::string body = {};                ///< body as far as it came
    std::optional<FetchFailure> failure;  ///< absent means that the response is complete
    bool was_sent = false;                ///< whether the whole request was sent, in TLS after its handshake

    bool ok() const { return !failure && is_success(head.status); }
};

class Fetcher {
  public:
    /// The longest body of an answer with a status of success (2xx). A longer body is the failure too_long.
    static constexpr std::size_t kLongestBody = std::size_t{4} << 20;
    /// The most bytes kept of an answer with another status; the rest is dropped.
    static constexpr std::size_t kLongestError = std::size_t{1} << 20;

    /// `tls` is null for plain HTTP and must outlive this. `stop` ends a request in progress.
    Fetcher(const Url& url, const Address& address, const TlsContext* tls, const Headers& headers,
            std::stop_token stop = {});
    ~Fetcher();

    /// get() and post() end within `timeout`, and return a failure of the exchange as Fetched::failure. If a
    /// kept-alive connection closes before any byte of the answer, the request is sent once more.
    Fetched get(std::string_view path, Duration timeout);

    /// `is_whole`, if given, decides from the body so far that nothing more is needed: the response is then
    /// complete if nothing comes within 50 ms, or the connection breaks.
    Fetched post(std::string_view path, std::string_view body, Duration timeout,
                 bool (*is_whole)(std::string_view body) = nullptr);

    /// Calls `tell` with "POST /path" once for each get() or post() that takes longer than `after`.
    void when_slow(Duration after, std::function<void(const std::string&)> tell);

  private:
    Fetched perform(const RequestHead& head, std::string_view body, Duration timeout,
                    bool (*is_whole)(std::string_view));
    RequestHead head_for(std::string_view method, std::string_view path) const;

    struct State;
    Url url_;
    Headers headers_;
    std::stop_token stop_;
    Duration slow_after_ = Duration::max();
    std::function<void(const std::string&)> tell_slow_;
    std::unique_ptr<State> state_;
};

}  // namespace paretoken::http
