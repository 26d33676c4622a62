#pragma once
// One drain for all sockets of a worker: an epoll descriptor and nothing around it, so that a wake-up costs
// one call to the kernel and a read another. What a round finds is read first, socket after socket, and only
// then told, so that the kernel's code and ours do not push each other out of the caches at every event.
// Bytes are pushed from here; nobody pulls. Not thread-safe but for wake(): one drain, one thread.
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/result/histogram.h"
#include "core/units.h"
#include "loadgen/http/clock_map.h"

namespace paretoken::http {

/// The events that a socket's owner receives from the drain. It may remove itself, or any other, while being
/// told.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void on_ready(std::uint32_t epoll_events) = 0;

    /// It is told of what was read in a moment: the time to prefetch what it is going to touch.
    virtual void expect() {}

  private:
    friend class Drain;
    int socket_ = -1;  ///< the drain's
};

/// Bytes of one read and when they arrived.
struct Read {
    std::span<const char> bytes;  ///< followed by at least kReadPadding readable bytes
    TimePoint at;  ///< kernel receive stamp of the last segment, else the clock right after the read
    bool kernel_stamp = false;
    Duration delay{};  ///< clock after the read − stamp; zero without a stamp
    Duration lay{};  ///< the longest that any of it can have lain here: since the drain looked before, unless
                     ///< it was waiting when they came
    bool filled = false;  ///< it took as much as there was room for: more may be waiting
};
inline constexpr std::size_t kReadPadding = 64;

class Drain {
  public:
    /// `kernel_stamps`: ask the kernel when bytes arrived; else the clock after a read has to do.
    explicit Drain(bool kernel_stamps = true);
    ~Drain();
    Drain(const Drain&) = delete;
    Drain& operator=(const Drain&) = delete;

    void add(int fd, Listener& listener, std::uint32_t events);
    void change(int fd, Listener& listener, std::uint32_t events);
    void remove(int fd, Listener& listener);

    /// The result of one round of serving.
    struct Round {
        int served = 0;
        bool more = false;  ///< as many were ready as one round takes: look again before waiting
    };

    /// Serves sockets that are ready, at most kMostPerRound, so that a burst never keeps its caller from what
    /// is due. When none is ready, waits for one until `until`, a wake() or a signal; a time that is past
    /// only looks.
    Round serve(TimePoint until);
    static constexpr int kMostPerRound = 32;
    static constexpr std::size_t kListenerBytes = 320;  ///< prefetched, from a listener on, when it was read
    static constexpr std::size_t kMostPerRead = 64 * 1024;  ///< bytes: a round has to end soon whatever comes
    static constexpr std::size_t kMostAhead = 256 * 1024;   ///< bytes read before the first of them is told

    /// From any thread: ends a wait, now or the next one.
    void wake();

    /// One recvmsg into the shared scratch buffer, or what was read of this socket already. Returns as
    /// recvmsg does, errno too. The bytes stay until the next call, and those read ahead until the round is
    /// over.
    long receive(int fd, Read& read);

    std::uint64_t reads() const { return reads_; }  ///< that brought bytes
    Duration waited() const { return waited_; }     ///< for a socket to be ready, about
    bool kernel_stamps() const { return kernel_stamps_; }
    const Histogram& read_delay() const { return read_delay_; }  ///< of reads with a kernel stamp

    /// Read::lay of reads without one.
    const Histogram& unstamped_delay() const { return unstamped_delay_; }
    Duration largest_clock_jump() const { return clock_map_.largest_jump(); }

  private:
    /// The state of one socket within a round.
    struct Ready {
        Listener* listener = nullptr;  ///< null once it was removed
        std::uint32_t events = 0;
        int fd = -1;
        bool read_ahead = false;
        int error = 0;  ///< of the read
        long taken = 0;
        Read read;
    };

    void read_ahead();
    void expect(const Ready& one);
    void tell(Ready& one);
    long receive(int fd, std::span<char> into, Read& read);

    int epoll_ = -1;
    int wake_up_ = -1;  ///< an eventfd
    ClockMap clock_map_;
    std::unique_ptr<char[]> scratch_;
    std::unique_ptr<char[]> ahead_;
    std::array<Ready, kMostPerRound> ready_;
    Ready* told_ = nullptr;  ///< the one being told, while nobody has taken what was read of it
    std::uint64_t reads_ = 0;
    Histogram read_delay_;
    Histogram unstamped_delay_;
    TimePoint looked_at_;    ///< when it last knew what was ready
    TimePoint ready_since_;  ///< at the earliest, of what is being served
    Duration waited_{};
    bool more_ = false;  ///< the round before left some
    bool kernel_stamps_;
    std::span<Ready> round_;  ///< being served
};

}  // namespace paretoken::http
