#pragma once
// One accepted connection: bytes in become HTTP requests, one at a time; bytes out are handed to the kernel
// at once, and only what it does not take waits. Knows nothing of what is asked. Everything happens on the
// io_context's thread.
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/units.h"
#include "simulator/tls.h"

namespace paretoken::sim {

struct HttpRequest {
    std::string method;
    std::string target;  ///< without the query
    std::string body;
    std::string request_id;  ///< X-Request-Id
    std::string authorization;
    bool wants_truth = false;  ///< X-Sim-Truth: each event tells when it was due and written
    bool keep_alive = true;
    bool http_1_0 = false;
    TimePoint received;  ///< its last byte reached this host
    bool kernel_stamp = false;
};

enum class BadHttp : std::uint8_t { malformed, too_large };

class Connection;

/// Who answers. May call back into the connection from within; must not destroy it there.
class ConnectionOwner {
  public:
    virtual void on_request(Connection& connection, HttpRequest request) = 0;
    virtual void on_bad_http(Connection& connection, BadHttp what, std::string_view reason) = 0;
    virtual void on_closed(Connection& connection) = 0;  ///< once; also when the owner closed it

  protected:
    ~ConnectionOwner() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    /// `scratch` is shared by all connections of the thread. `identity` outlives the connection; null: no
    /// TLS.
    Connection(boost::asio::ip::tcp::socket socket, ConnectionOwner& owner, std::span<char> scratch,
               const TlsIdentity* identity);
    ~Connection();

    void start();

    void send(std::string_view bytes);

    /// The answer is complete: the next request is taken up, or the connection is closed once all is written.
    void finish(bool keep_alive);

    void close();

    /// Breaks the connection off: the peer sees a reset, not an end.
    void reset();

    std::uint64_t exchange = 0;  ///< the owner's: which answer is under way, 0 for none
    std::int64_t requests = 0;   ///< the owner's: so many were asked here
    TimePoint idle_since = Clock::now();

    bool idle() const { return !answering_ && inbox_.empty(); }

  private:
    struct Parser;

    void wait_readable();
    void wait_writable();
    void read();
    bool take_in(std::string_view bytes);
    void put_out(std::string_view bytes);
    void write_pending();
    void parse();
    bool put();
    HttpRequest taken_request();

    boost::asio::ip::tcp::socket socket_;
    ConnectionOwner& owner_;
    std::span<char> scratch_;
    std::unique_ptr<Parser> parser_;
    std::unique_ptr<TlsSession> tls_;
    std::string inbox_;    ///< received and not yet parsed
    std::string pending_;  ///< to be sent when the socket is writable again
    TimePoint received_;
    bool kernel_stamp_ = false;
    bool answering_ = false;
    bool parsing_ = false;
    bool closing_ = false;  ///< close when `pending_` is written
    bool broken_ = false;   ///< a send failed; reading will find out
    bool open_ = true;
};

}  // namespace paretoken::sim
