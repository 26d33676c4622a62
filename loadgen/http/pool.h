#pragma once
// The connections of one worker to one address. Lends the most recently used idle connection, else the oldest
// of those opened ahead, else a new one. Idle connections that the server closed are dropped. Some servers
// close each connection after its answer without saying so, and a request that is sent at that moment is
// lost. So no connection is lent again once the server closed more of them than were used again.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/run/client_report.h"
#include "loadgen/http/connection.h"

namespace paretoken::http {

class Pool {
  public:
    /// `drain` and `tls` (null: plain HTTP) must outlive the pool; `host` is the certificate's name. Without
    /// `keep_alive` every connection serves one request.
    Pool(Drain& drain, const Address& address, const TlsContext* tls, std::string host,
         bool keep_alive = true);
    ~Pool();

    /// Returns a connection for one exchange, which is valid until the exchange has ended. `fresh`: opens a
    /// new connection even if one is idle. Throws RuntimeError when the event loop refuses a new socket.
    Connection& lend(bool fresh = false);
    /// Begins to open connections until `count` of them have not been used yet. A connection that cannot be
    /// opened is dropped silently; the request that opens one itself then reports the reason.
    void open_ahead(std::size_t count);
    /// Returns whether a connection that is opened ahead is neither open nor refused yet.
    bool is_opening_ahead() const { return opening_ahead_ > 0; }
    /// Returns whether a request could be sent now without opening a connection.
    bool has_spare() const { return (server_keeps_open() && !idle_.empty()) || !unused_.empty(); }
    /// Returns the longest time that opening a connection took (TCP and TLS).
    Duration slowest_opening() const { return slowest_opening_; }
    /// Closes the connections without an exchange; must not be called from a callback.
    void close_idle();
    void clear();         ///< closes every connection; no callbacks
    void free_dropped();  ///< frees dropped connections; must not be called from a callback

    ConnectionCounts counts() const;  ///< sums over all connections so far, including open ones

  private:
    friend class Connection;
    void take_back(Connection& connection);  ///< after its exchange, for reuse
    void drop(Connection& connection);       ///< removes it; free_dropped() closes and frees it
    /// Takes note that the server closed a connection after an answer. `lent`: a request was lost with it.
    void closed_after_answer(bool lent);
    bool server_keeps_open() const { return closed_after_answer_ <= lent_again_; }
    void count(const Connection& connection, ConnectionCounts& counts) const;
    Connection& opened_connection();
    /// Takes note of a connection that has been opened.
    void opened(const ConnectTimes& times, bool ahead);

    Drain& drain_;
    Address address_;
    const TlsContext* tls_;
    std::string host_;
    bool keep_alive_;
    std::vector<std::unique_ptr<Connection>> all_;
    std::vector<Connection*> idle_;
    std::deque<Connection*> unused_;  ///< opened ahead, or being opened, and not lent yet
    std::size_t opening_ahead_ = 0;
    std::int64_t lent_again_ = 0;           ///< without those that were closed meanwhile
    std::int64_t closed_after_answer_ = 0;  ///< by the server
    Duration slowest_opening_{};
    std::vector<std::unique_ptr<Connection>> dead_;
    ConnectionCounts closed_;
};

}  // namespace paretoken::http
