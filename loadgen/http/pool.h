#pragma once
// The connections of one worker to one address. Lends the most recently used idle connection, else the oldest
// of those opened ahead, else a new one. Idle connections that the server closed are dropped.
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
    bool has_spare() const { return !idle_.empty() || !unused_.empty(); }
    /// Returns the longest time that opening a connection took (TCP and TLS).
    Duration slowest_opening() const { return slowest_opening_; }
    void clear();         ///< closes every connection; no callbacks
    void free_dropped();  ///< frees dropped connections; must not be called from a callback

    ConnectionCounts counts() const;  ///< sums over all connections so far, including open ones

  private:
    friend class Connection;
    void take_back(Connection& connection);  ///< after its exchange, for reuse
    void drop(Connection& connection);       ///< removes it; free_dropped() closes and frees it
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
    Duration slowest_opening_{};
    std::vector<std::unique_ptr<Connection>> dead_;
    ConnectionCounts closed_;
};

}  // namespace paretoken::http
