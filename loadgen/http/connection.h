#pragma once
// One HTTP/1.1 connection: a transport and a reader of responses, kept alive as long as the server allows.
// It serves one exchange at a time. The pool lends connections; after the exchange one returns or is dropped.
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// The events that the owner of an exchange receives: on_ready, on_sent, on_head, on_body (any number of
/// times) and on_complete. on_failure may come instead of any of them. on_complete and on_failure are the
/// last event.
class ExchangeSink {
  public:
    virtual ~ExchangeSink() = default;
    virtual void on_ready(const std::optional<ConnectTimes>& opened) = 0;
    virtual void on_sent(TimePoint at) = 0;
    virtual void on_head(const ResponseHead& head, const Read& read) = 0;
    virtual void on_body(std::span<const char> bytes, const Read& read) = 0;
    virtual void expect_body() {}  ///< see Listener::expect
    virtual void on_complete(TimePoint at) = 0;
    virtual void on_failure(const ExchangeFailure& failure) = 0;
};

class Pool;

class Connection final : private TransportSink, private ResponseSink {
  public:
    Connection(Pool& pool, Drain& drain, const Address& address, const TlsContext* tls,
               const std::string& host);
    ~Connection() override;

    /// Sends a request as soon as the connection is open. `bytes` is one whole request; the exchange ends in
    /// a callback.
    void exchange(std::string bytes, ExchangeSink& sink);

    /// Gives up the exchange: no callback follows and the connection closes.
    void abandon();

    bool reused() const { return exchanges_ > 1; }
    TcpFacts tcp_facts() const { return transport_.tcp_facts(); }

  private:
    friend class Pool;
    void on_open(const ConnectTimes& times) override;
    void on_sent(TimePoint at) override;
    void on_read(const Read& read) override;
    void expect_read() override {
        if (sink_ != nullptr) sink_->expect_body();
    }
    void on_end(TransportEnd end, const std::string& why) override;
    void on_head(const ResponseHead& head) override;
    void on_body(std::span<const char> bytes) override;

    void begin_sending(const std::optional<ConnectTimes>& opened);
    void finish(TimePoint at);
    void fail(ExchangeFailure::Kind kind, const std::string& why);

    Pool& pool_;
    Transport transport_;
    ResponseReader reader_;
    ExchangeSink* sink_ = nullptr;
    const Read* reading_ = nullptr;  ///< read that is being processed, else null
    std::string outgoing_;
    std::uint32_t exchanges_ = 0;
    std::size_t position_ = 0;  ///< for the pool: position of this connection
    bool idle_ = false;         ///< for the pool
};

}  // namespace paretoken::http
