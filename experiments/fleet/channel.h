#pragma once
// Messages between two processes over a TCP connection. A message is a kind, a length and that many bytes.
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace paretoken::experiments {

/// Messages have JSON objects unless a row says otherwise; times are the sender's nanoseconds.
enum class MessageKind : std::uint8_t {
    hello,     ///< to shard 0: who a process is, and its plan
    welcome,   ///< to a process that may take part; no body
    refused,   ///< to one that may not: why
    alive,     ///< sent every second, so that silence means that the other is gone; no body
    order,     ///< to a shard: the plan of a load and its part
    ready,     ///< to shard 0: it can begin; no body
    failed,    ///< to shard 0: why it cannot make its part
    ping,      ///< to a shard: tell the time; no body
    pong,      ///< to shard 0: the time
    start,     ///< to a shard: when its load begins, on its own clock
    news,      ///< to shard 0: what its stop monitor was told
    end,       ///< to a shard: start no more requests, and why
    stop,      ///< to a shard: the run is interrupted; follow the requests in flight; no body
    cut,       ///< to a shard: cancel the requests in flight; no body
    ended,     ///< to shard 0: its load has ended; no body
    send,      ///< to a shard: send the files of the run; no body
    file,      ///< to shard 0: the name of a file whose bytes follow
    bytes,     ///< to shard 0: a piece of it, as it is
    sent,      ///< to shard 0: all files were sent; no body
    received,  ///< to a shard: its files have arrived; no body
    over,      ///< to a shard: nothing more is to be measured; no body
};

struct Message {
    MessageKind kind = MessageKind::alive;
    std::string body = {};
};

inline constexpr std::size_t kLongestMessage = std::size_t{64} << 20;

class Channel {
  public:
    explicit Channel(int socket);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// Sends a message. May be called from several threads. Returns false if the other process is gone.
    bool send(MessageKind kind, std::string_view body = {});

    /// Returns the next message that is not `alive`. Returns nothing if the other process is gone, said
    /// nothing for `patience`, or sent something else than messages. Only one thread may call it.
    std::optional<Message> receive(Duration patience);

    /// Ends the connection, so that receive() returns. May be called from any thread.
    void close();

  private:
    bool read(char* to, std::size_t size, Duration patience);

    int socket_;
    std::mutex sending_;
};

class Listener {
  public:
    /// Listens at all addresses of this machine; port 0 means a free port. Throws RuntimeError.
    explicit Listener(std::uint16_t port);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    std::uint16_t port() const { return port_; }
    /// Returns the socket of the next connection; nothing if none comes within `patience`.
    std::optional<int> accept(Duration patience) const;

  private:
    int socket_ = -1;
    std::uint16_t port_ = 0;
};

/// Connects to HOST:PORT and returns the socket. Throws RuntimeError if nobody listens at any of its
/// addresses, or the name is unknown.
int connected(const std::string& host, std::uint16_t port, Duration patience);

}  // namespace paretoken::experiments
