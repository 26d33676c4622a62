#pragma once
// One drain for all sockets of a worker: an epoll descriptor of our own, nested in the worker's io_context,
// so that a wake-up serves every socket that has become ready. Bytes are pushed from here; nobody pulls. Not
// thread-safe: one drain, one thread.
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/histogram.h"
#include "core/units.h"
#include "loadgen/http/clock_map.h"

namespace paretoken::http {

/// What a socket's owner hears from the drain. It may remove itself, or any other, while being told.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void on_ready(std::uint32_t epoll_events) = 0;
};

/// Bytes of one read and when they arrived.
struct Read {
    std::span<const char> bytes;  ///< followed by at least kReadPadding readable bytes
    TimePoint at;  ///< kernel receive stamp of the last segment, else the clock right after the read
    bool kernel_stamp = false;
    Duration delay{};  ///< clock after the read − stamp; zero without a stamp
};
inline constexpr std::size_t kReadPadding = 64;

class Drain {
  public:
    explicit Drain(boost::asio::io_context& io);
    ~Drain();
    Drain(const Drain&) = delete;
    Drain& operator=(const Drain&) = delete;

    void start();  ///< begins to listen; the io_context has work until stop()
    void stop();

    void add(int fd, Listener& listener, std::uint32_t events);
    void change(int fd, Listener& listener, std::uint32_t events);
    void remove(int fd, Listener& listener);

    /// Serves what is ready now, without waiting. True when there was anything.
    bool poll();

    /// Called after each batch of served sockets, so that a burst never delays a due dispatch.
    void set_between_batches(void (*call)(void*), void* context);

    /// One recvmsg into the shared scratch buffer. Returns as recvmsg does, errno untouched.
    long receive(int fd, Read& read);

    const Histogram& read_delay() const { return read_delay_; }
    Duration largest_clock_jump() const { return clock_map_.largest_jump(); }

  private:
    void arm();

    boost::asio::posix::stream_descriptor epoll_;
    ClockMap clock_map_;
    std::unique_ptr<char[]> scratch_;
    Histogram read_delay_;
    std::vector<Listener*> removed_;  ///< during a batch: events of these are stale
    bool serving_ = false;
    bool stopped_ = true;
    void (*between_)(void*) = nullptr;
    void* between_context_ = nullptr;
};

}  // namespace paretoken::http
