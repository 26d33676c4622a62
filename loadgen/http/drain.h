#pragma once
// The event loop of a thread's sockets on an epoll descriptor. A round first reads the ready sockets, up to
// kMostAhead bytes in all, and then calls their owners, which get these bytes from receive(), so that the
// kernel's code and ours do not evict each other from the caches. Only wake() is thread-safe.
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "core/histogram.h"
#include "core/units.h"
#include "loadgen/http/clock_map.h"

namespace paretoken::http {

/// What a socket's owner receives. In a callback it may remove itself, or any other listener.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void on_ready(std::uint32_t epoll_events) = 0;

    /// Announces that on_ready() follows soon, so that the owner can prefetch the memory that it will use.
    virtual void expect() {}

  private:
    friend class Drain;
    int socket_ = -1;  ///< for the drain
};

/// One call of epoll_wait. It tells since when the sockets that the call reported can have been ready.
class Wait {
  public:
    /// `before`: the end of the call before. A call that took longer than kBlocked is taken to have blocked.
    Wait(TimePoint before, TimePoint begin, TimePoint end);

    /// Notes when the last segment of a reported socket arrived. If that was long before the end, the host
    /// woke this thread late; if it was before the begin, the call did not block, however long it took.
    void note_arrival(TimePoint at);

    /// Returns the end of a call that blocked, its begin if this thread woke late, because other segments may
    /// have arrived at any time during the call, and the end of the call before if it did not block.
    TimePoint ready_since() const;
    bool blocked() const { return blocked_; }

    /// Returns how late this thread woke if the arrival at `at` ended the call; zero if it cannot have.
    Duration wake_delay(TimePoint at) const;

  private:
    static constexpr Duration kBlocked = std::chrono::microseconds(20);
    static constexpr Duration kPromptWake = std::chrono::microseconds(100);

    TimePoint before_;
    TimePoint begin_;
    TimePoint end_;
    bool blocked_ = false;
    bool late_ = false;
};

/// Bytes of one read and when they arrived.
struct Read {
    std::span<const char> bytes;  ///< followed by at least kReadPadding readable bytes
    TimePoint at;  ///< kernel receive stamp of the last segment, or else the clock right after the read
    bool kernel_stamp = false;
    Duration delay{};  ///< clock after the read − stamp; zero without a stamp
    /// An upper bound of the time that bytes waited in the kernel: since Wait::ready_since().
    Duration lay{};
    /// Returns an upper bound of the time by which the first of several events in this read may have arrived
    /// before `at`. A kernel stamp is that of the last segment, and exact for a read with one event.
    Duration early(bool several) const {
        if (!kernel_stamp) return lay;
        return several ? std::max(Duration{}, lay - delay) : Duration{};
    }
    bool filled = false;  ///< whether the read filled the buffer, so that more may be waiting
};
inline constexpr std::size_t kReadPadding = 64;

class Drain {
  public:
    /// `kernel_stamps`: whether sockets ask the kernel when bytes arrived; otherwise the clock after a read
    /// is used. Throws RuntimeError when the kernel refuses the descriptors of the event loop.
    explicit Drain(bool kernel_stamps = true);
    ~Drain();
    Drain(const Drain&) = delete;
    Drain& operator=(const Drain&) = delete;

    /// Watches a socket for epoll events. `listener` must exist until remove(). Throws RuntimeError.
    void add(int fd, Listener& listener, std::uint32_t events);
    /// Watches a socket that was added for other events. An event that is ready now is reported again.
    void change(int fd, Listener& listener, std::uint32_t events);
    /// Stops watching a socket. Its listener gets no further callback, not even in the current round.
    void remove(int fd, Listener& listener);

    struct Round {
        int served = 0;
        bool more = false;  ///< whether it served as many sockets as it might, so that more may be ready
    };

    /// Serves ready sockets, at most `most` (1 to kMostPerRound), so that a burst never delays due actions;
    /// if none is ready, waits for one until `until` (a past time: not), a wake() or a signal.
    Round serve(TimePoint until, int most = kMostPerRound);
    static constexpr int kMostPerRound = 32;
    /// The bytes of a listener's object that are prefetched once its socket was read.
    static constexpr std::size_t kListenerBytes = 320;
    /// The most bytes of a read that an owner causes by receive(); a limit, so that a round ends soon.
    static constexpr std::size_t kMostPerRead = 64 * 1024;
    /// The most bytes that a round reads before it calls the first owner.
    static constexpr std::size_t kMostAhead = 256 * 1024;

    /// Ends the current or the next wait. May be called from any thread.
    void wake();

    /// Returns the read that this round has made for the socket, or else makes one recvmsg, whose result and
    /// errno it has. The bytes are valid until the round is over, or the next call for a new read.
    long receive(int fd, Read& read);

    std::uint64_t reads() const { return reads_; }  ///< number of reads that brought bytes
    Duration waited() const { return waited_; }     ///< approximate time spent waiting for ready sockets
    bool kernel_stamps() const { return kernel_stamps_; }
    /// Returns the distribution of Read::delay over the reads with a stamp.
    const Histogram& read_delay() const { return read_delay_; }

    /// Returns the distribution of Read::lay over the reads without a stamp.
    const Histogram& unstamped_delay() const { return unstamped_delay_; }
    Duration largest_clock_jump() const { return clock_map_.largest_jump(); }
    /// Returns the sum of the delays above 1 ms with which this thread woke: after the end of a wait, or
    /// after the bytes that ended it had arrived.
    Duration woken_late() const { return woken_late_; }
    /// Adds the delay with which the thread woke from a sleep of its owner.
    void add_wake(Duration late) {
        if (late > kUsualWake) woken_late_ += late;
    }

  private:
    struct Ready {
        Listener* listener = nullptr;  ///< null once it was removed
        std::uint32_t events = 0;
        int fd = -1;
        bool read_ahead = false;
        int error = 0;  ///< errno of the read
        long taken = 0;
        Read read;
    };

    /// A longer delay of a wake-up is a pause of the host, a shorter one the scheduler's usual delay.
    static constexpr Duration kUsualWake = std::chrono::milliseconds(1);

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
    Ready* told_ = nullptr;  ///< socket being told, until its owner has taken what was read
    std::uint64_t reads_ = 0;
    Histogram read_delay_;
    Histogram unstamped_delay_;
    TimePoint looked_at_;  ///< time of the last look at what is ready
    /// The call that reported the sockets being served. If a round was full (Round::more), some
    /// ready sockets may not have been reported in it, and the next round keeps its call.
    Wait wait_;
    Duration waited_{};
    Duration late_{};        ///< delay of the wake-up of this round, as far as its reads have shown it
    Duration woken_late_{};  ///< sum over rounds
    bool more_ = false;      ///< whether the last round was full
    bool kernel_stamps_;
    std::span<Ready> round_;  ///< sockets being served
};

}  // namespace paretoken::http
