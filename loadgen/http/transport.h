#pragma once
// The bytes of one connection, over TCP or TLS, each read with its time (Read, loadgen/http/drain.h).
#include <memory>
#include <string>
#include <string_view>

#include "core/record/record.h"
#include "loadgen/http/address.h"
#include "loadgen/http/drain.h"
#include "loadgen/http/tcp_facts.h"

namespace paretoken::http {

class TlsContext;
class TlsSession;

/// `tls_failed` is an error or an end during the TLS handshake, or an error of TLS before the first bytes of
/// an answer, because a server of TLS 1.3 checks the client after its handshake; `broken` is a later error.
enum class TransportEnd { closed_by_peer, connect_failed, tls_failed, broken };

/// The events that the owner of a transport receives. on_end comes at most once and is the last; the
/// transport must not be destroyed in any of them.
class TransportSink {
  public:
    virtual ~TransportSink() = default;
    virtual void on_open(const ConnectTimes& times) = 0;
    /// `at`: the clock just before the call that sent the last byte. `took`: the time until it returned.
    virtual void on_sent(TimePoint at, Duration took) = 0;
    virtual void on_read(const Read& read) = 0;
    virtual void expect_read() {}  ///< bytes will be passed on soon: the memory for them can be prefetched
    virtual void on_end(TransportEnd end, const std::string& why) = 0;
};

class Transport final : private Listener {
  public:
    /// Starts to connect. `drain` and `sink` must outlive it, `tls` is null for plain TCP, `host` is the
    /// certificate's name. Throws RuntimeError when the drain refuses the socket.
    Transport(Drain& drain, const Address& address, const TlsContext* tls, const std::string& host,
              TransportSink& sink);
    ~Transport() override;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    bool is_open() const { return state_ == State::open; }
    bool is_sending() const { return request_ != nullptr; }  ///< whether bytes of a request are unsent

    /// Returns why no socket could be opened, or why the kernel refused at once to connect it (no descriptors
    /// left or no route, for example); then no event follows. Else empty.
    const std::string& start_failure() const { return start_failure_; }

    /// Gives bytes to the kernel, and the rest when it accepts more. Large bytes are sent in pieces, between
    /// which other sockets are served. Only when open and nothing is pending.
    void send(std::shared_ptr<const std::string> bytes);

    bool is_reset() const;  ///< see Connection::is_reset()
    TcpFacts tcp_facts() const { return tcp_facts_of(fd_); }

  private:
    enum class State { connecting, shaking_hands, open, ended };

    void on_ready(std::uint32_t events) override;
    void expect() override { sink_.expect_read(); }
    void close_socket();
    void finish_connecting();
    void go_on_with_handshake();
    void opened();
    void read_all(bool over);
    bool read_once(bool over);
    void push_plaintext(const Read& ciphertext);
    void flush();
    bool refill();
    std::string_view unsent() const;
    void clear_pending();
    void want_writable(bool wanted);
    void end(TransportEnd how, const std::string& why);

    Drain& drain_;
    TransportSink& sink_;
    int fd_ = -1;
    State state_ = State::connecting;
    std::unique_ptr<TlsSession> tls_;
    /// The request that is being sent. Without TLS its bytes go to the kernel as they are.
    std::shared_ptr<const std::string> request_;
    std::size_t request_from_ = 0;  ///< first byte of it that was not sent, or with TLS not encrypted yet
    std::string pending_;           ///< ciphertext that the kernel has not taken yet
    std::size_t pending_from_ = 0;
    bool waits_for_writable_ = false;
    bool any_plaintext_ = false;  ///< whether TLS has given bytes of an answer
    std::string start_failure_;
    TimePoint began_;
    TimePoint connected_;
};

}  // namespace paretoken::http
