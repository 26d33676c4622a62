#pragma once
// One HTTP/1.1 connection: a transport and a reader of responses. It serves one exchange (a request and its
// response) at a time, and then returns to the pool that lent it or is dropped.
#include <memory>
#include <optional>
#include <string>

#include "loadgen/http/message.h"
#include "loadgen/http/transport.h"

namespace paretoken::http {

/// How an exchange ended without a complete response.
struct ExchangeFailure {
    enum class Kind { connect_failed, tls_failed, disconnected, malformed };
    Kind kind = Kind::disconnected;
    std::string why;
    bool before_any_byte = false;  ///< whether no byte of the answer had come; on a reused connection the
                                   ///< request may then be sent again
};

/// The events of an exchange: on_ready, on_sent (late or never if the server answers early), on_head, on_body
/// (any number of times) and on_complete. on_complete, on_failure (at any time) or abandon() is the last.
class ExchangeSink {
  public:
    virtual ~ExchangeSink() = default;
    /// The connection is open, and the request is sent next. `opened`: the times that opening it took;
    /// nothing if it was open before the exchange.
    virtual void on_ready(const std::optional<ConnectTimes>& opened) = 0;
    /// The last byte was sent. `at`: just before the call that sent it; `took`: until it returned.
    virtual void on_sent(TimePoint at, Duration took) = 0;
    /// The head is complete. `read`: the read that completed it.
    virtual void on_head(const ResponseHead& head, const Read& read) = 0;
    /// Returns the names of the headers whose values ResponseHead::further has, one for each.
    virtual std::span<const std::string> further_headers() const { return {}; }
    /// The next bytes of the body came with `read`. They are without HTTP framing, valid until the callback
    /// returns, and followed by at least kReadPadding (loadgen/http/drain.h) readable bytes.
    virtual void on_body(std::span<const char> bytes, const Read& read) = 0;
    /// Bytes of the response will be passed on soon, so the memory that on_body() uses can be prefetched.
    virtual void expect_body() {}
    /// The response is complete. `at`: when its last bytes arrived, or its end was noticed.
    virtual void on_complete(TimePoint at) = 0;
    virtual void on_failure(const ExchangeFailure& failure) = 0;
};

class Pool;

class Connection final : private TransportSink, private ResponseSink {
  public:
    Connection(Pool& pool, Drain& drain, const Address& address, const TlsContext* tls,
               const std::string& host);
    ~Connection() override;

    /// Sends one whole request as soon as the connection is open and the exchange before has ended. Until
    /// this one ends, `sink` must exist. Callbacks may come before exchange() returns.
    void exchange(std::shared_ptr<const std::string> bytes, ExchangeSink& sink);

    /// Gives up the exchange: no callback follows and the connection closes.
    void abandon();

    /// Returns whether it was open before its exchange began, and may be closed by then.
    bool reused() const { return exchanges_ > 1 || opened_ahead_; }
    /// Returns whether no socket could be opened; exchange() then reports the reason.
    bool has_failed_to_start() const { return !transport_.start_failure().empty(); }
    /// Returns whether the peer reset the connection, or does so within a few milliseconds. Kernels do it if
    /// a server closes a connection without having read all that arrived.
    bool is_reset() const { return transport_.is_reset(); }
    TcpFacts tcp_facts() const { return transport_.tcp_facts(); }

  private:
    friend class Pool;
    void on_open(const ConnectTimes& times) override;
    void on_sent(TimePoint at, Duration took) override;
    void on_read(const Read& read) override;
    void expect_read() override {
        if (sink_ != nullptr) sink_->expect_body();
    }
    void on_end(TransportEnd end, const std::string& why) override;
    void on_head(const ResponseHead& head) override;
    std::span<const std::string> further_headers() const override;
    void on_body(std::span<const char> bytes) override;

    void begin_sending(const std::optional<ConnectTimes>& opened);
    void finish(TimePoint at);
    void fail(ExchangeFailure::Kind kind, const std::string& why);

    Pool& pool_;
    Transport transport_;
    ResponseReader reader_;
    ExchangeSink* sink_ = nullptr;
    const Read* reading_ = nullptr;                ///< read that is being processed, else null
    std::shared_ptr<const std::string> outgoing_;  ///< request that waits until the connection is open
    std::uint32_t exchanges_ = 0;
    bool opened_ahead_ = false;  ///< whether it was open before it was lent for the first time
    std::size_t position_ = 0;   ///< for the pool: position of this connection
    bool idle_ = false;          ///< for the pool
};

}  // namespace paretoken::http
