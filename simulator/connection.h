#pragma once
// One accepted connection. It turns received bytes into HTTP requests, one at a time, without interpreting
// them, and gives sent bytes to the kernel at once. It runs on the io_context's thread only.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
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
    std::string target;  ///< path without the query
    std::string body;
    std::string request_id;  ///< X-Request-Id
    std::string authorization;
    std::string affinity;            ///< value of ConnectionOwner::affinity_header()
    std::string session_token = {};  ///< value of ConnectionOwner::session_token_header()
    bool wants_truth = false;        ///< X-Sim-Truth: whether each event states when it was due and written
    bool keep_alive = true;
    bool http_1_0 = false;
    TimePoint received;         ///< when its last byte reached this host
    bool kernel_stamp = false;  ///< false means that `received` is the clock after the read
};

enum class BadHttp : std::uint8_t { malformed, too_large };

class Connection;

/// The owner of connections, which answers requests. A callback must not destroy the connection.
class ConnectionOwner {
  public:
    virtual void on_request(Connection& connection, HttpRequest request) = 0;
    virtual void on_bad_http(Connection& connection, BadHttp what, std::string_view reason) = 0;
    virtual void on_closed(Connection& connection) = 0;    ///< called once, even if the owner closed it
    virtual std::string_view affinity_header() const = 0;  ///< name of a header; empty: none
    virtual std::string_view session_token_header() const = 0;

  protected:
    ~ConnectionOwner() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    /// `scratch` is a buffer for received bytes that all connections of the thread share. `owner`, `scratch`
    /// and `identity` must outlive the connection. Without an `identity` (null), the connection has no TLS.
    Connection(boost::asio::ip::tcp::socket socket, ConnectionOwner& owner, std::span<char> scratch,
               const TlsIdentity* identity);
    ~Connection();

    void start();

    void send(std::string_view bytes);

    /// Ends the answer. Reads the next request if `keep_alive`, else closes once all is written.
    void finish(bool keep_alive);

    /// Closes the connection now. Bytes that the kernel has not accepted yet are lost.
    void close();

    /// Resets the connection: the peer sees a reset, not an end.
    void reset();

    std::uint64_t exchange = 0;  ///< for the owner: number of the current answer; 0 means that there is none
    std::int64_t requests = 0;   ///< for the owner: number of requests so far
    TimePoint idle_since = Clock::now();

    /// Returns whether no answer is in progress and no received bytes wait to be processed.
    bool idle() const { return !answering_ && inbox_.empty(); }

  private:
    struct Parser;

    void wait_readable();
    void read_on();
    void wait_writable();
    void read();
    bool take_in(std::string_view bytes);
    void put_out(std::string_view bytes);
    void write_pending();
    void parse();
    bool put();
    HttpRequest taken_request();
    void end();

    boost::asio::ip::tcp::socket socket_;
    ConnectionOwner& owner_;
    std::span<char> scratch_;
    std::unique_ptr<Parser> parser_;
    std::unique_ptr<TlsSession> tls_;
    std::string inbox_;    ///< received bytes that are not parsed yet
    std::string pending_;  ///< bytes to send when the socket is writable again
    TimePoint received_;
    bool kernel_stamp_ = false;
    bool answering_ = false;
    bool parsing_ = false;
    bool closing_ = false;  ///< whether to close when `pending_` is written
    bool paused_ = false;  ///< whether nothing is read until the answer ends, because too much is in `inbox_`
    bool refused_ = false;  ///< whether a request was refused that the peer may still be sending
    /// Timer that ends the connection after a refusal; while it is set, received bytes are thrown away.
    std::unique_ptr<boost::asio::steady_timer> farewell_;
    bool broken_ = false;  ///< whether a send failed; reading will notice it
    bool open_ = true;
};

}  // namespace paretoken::sim
