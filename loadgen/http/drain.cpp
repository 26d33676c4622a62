#include "loadgen/http/drain.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/prefetch.h"

namespace paretoken::http {
namespace {

constexpr std::size_t kExpected = 2;                        ///< sockets between expect() and a socket's turn
constexpr Duration kLooked = std::chrono::microseconds(2);  ///< approximate time of a wait that finds some

int opened(const char* what, int fd) {
    if (fd < 0)
        throw RuntimeError(
            fmt::format("{}: {}; if too many files are open, raise the limit on them (ulimit -n)", what,
                        std::strerror(errno)));
    return fd;
}

/// Calls epoll_wait with a timeout in nanoseconds, or in whole milliseconds, rounded up, if the kernel has no
/// such call (before 5.11, or forbidden).
int wait_for_events(int epoll, epoll_event* events, int most, Duration timeout) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const timespec t{.tv_sec = static_cast<time_t>(whole.count()), .tv_nsec = (timeout - whole).count()};
    const int ready = epoll_pwait2(epoll, events, most, &t, nullptr);
    if (ready >= 0 || (errno != ENOSYS && errno != EPERM)) return ready;
    return epoll_wait(epoll, events, most,
                      static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count()));
}

/// Finds the software receive stamp among the control messages of a read; returns false if there is none.
bool receive_stamp(msghdr& message, timespec& stamp) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING) continue;
        scm_timestamping stamps{};
        std::memcpy(&stamps, CMSG_DATA(c), sizeof stamps);
        stamp = stamps.ts[0];
        return stamp.tv_sec != 0 || stamp.tv_nsec != 0;
    }
    return false;
}

}  // namespace

Wait::Wait(TimePoint before, TimePoint begin, TimePoint end)
    : before_(before), begin_(begin), end_(end), blocked_(end - begin > kBlocked) {}

void Wait::note_arrival(TimePoint at) {
    late_ = late_ || end_ - at > kPromptWake;
    blocked_ = blocked_ && at >= begin_;
}

TimePoint Wait::ready_since() const {
    if (!blocked_) return before_;
    return late_ ? begin_ : end_;
}

Duration Wait::wake_delay(TimePoint at) const {
    return blocked_ && at > begin_ ? std::max(Duration{}, end_ - at) : Duration{};
}

Drain::Drain(bool kernel_stamps)
    : epoll_(opened("epoll_create1", epoll_create1(EPOLL_CLOEXEC))),
      wake_up_(opened("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      scratch_(std::make_unique<char[]>(kMostPerRead + kReadPadding)),
      ahead_(std::make_unique<char[]>(kMostAhead + kReadPadding)),
      looked_at_(Clock::now()),
      wait_(looked_at_, looked_at_, looked_at_),
      kernel_stamps_(kernel_stamps) {
    epoll_event event{};
    event.events = EPOLLIN;  // no listener: data.ptr stays null
    epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_up_, &event);
}

Drain::~Drain() {
    close(wake_up_);
    close(epoll_);
}

void Drain::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_up_, &one, sizeof one);
}

void Drain::add(int fd, Listener& listener, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &listener;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
        throw RuntimeError(fmt::format("epoll_ctl: {}", std::strerror(errno)));
    }
    listener.socket_ = fd;
}

void Drain::change(int fd, Listener& listener, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &listener;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Drain::remove(int fd, Listener& listener) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    // Results of this round for it are stale. Its address may be used again before the round is over.
    for (Ready& one : round_) {
        if (one.listener != &listener) continue;
        one.listener = nullptr;
        if (told_ == &one) told_ = nullptr;
    }
}

Drain::Round Drain::serve(TimePoint until, int most) {
    epoll_event events[kMostPerRound];
    const TimePoint now = Clock::now();
    const int ready = wait_for_events(epoll_, events, most, std::max(Duration{}, until - now));
    const TimePoint after = Clock::now();
    waited_ += std::max(Duration{}, after - now - kLooked);
    const Wait wait(std::exchange(looked_at_, after), now, after);
    if (wait.blocked() && ready <= 0) add_wake(after - std::max(now, until));
    if (!more_) wait_ = wait;
    more_ = ready == most;
    if (ready <= 0) return {};
    clock_map_.refresh(after);
    round_ = {ready_.data(), static_cast<std::size_t>(ready)};
    for (std::size_t i = 0; i < round_.size(); ++i) {
        auto* const listener = static_cast<Listener*>(events[i].data.ptr);
        round_[i].listener = listener;
        round_[i].events = events[i].events;
        round_[i].read_ahead = false;
        if (listener == nullptr) {
            std::uint64_t calls = 0;
            [[maybe_unused]] const auto taken = read(wake_up_, &calls, sizeof calls);
        }
        prefetch(listener, 1);
    }
    read_ahead();
    for (std::size_t i = 0; i < round_.size(); ++i) {
        if (i + kExpected < round_.size()) expect(round_[i + kExpected]);
        tell(round_[i]);
    }
    told_ = nullptr;
    round_ = {};
    add_wake(std::exchange(late_, {}));
    return {.served = ready, .more = more_};
}

void Drain::expect(const Ready& one) {
    if (one.listener != nullptr && one.read_ahead) one.listener->expect();
}

void Drain::tell(Ready& one) {
    if (one.listener == nullptr) return;
    told_ = one.read_ahead ? &one : nullptr;
    one.listener->on_ready(one.events);
}

/// Reads sockets whose only event is readable bytes. Sockets that connect, write or end read for themselves.
void Drain::read_ahead() {
    std::size_t used = 0;
    for (Ready& one : round_) {
        constexpr std::size_t kLeastRoom = 16 * 1024;
        if (used + kLeastRoom > kMostAhead) return;
        if (one.listener == nullptr || one.events != EPOLLIN) continue;
        one.read_ahead = true;
        one.fd = one.listener->socket_;
        one.taken = receive(one.fd, {ahead_.get() + used, kMostAhead - used}, one.read);
        one.error = errno;
        prefetch(one.listener, kListenerBytes);
        if (one.taken > 0) used += (static_cast<std::size_t>(one.taken) + 63) / 64 * 64;
    }
}

long Drain::receive(int fd, Read& read) {
    if (told_ == nullptr || told_->fd != fd) return receive(fd, {scratch_.get(), kMostPerRead}, read);
    const Ready& one = *std::exchange(told_, nullptr);
    read = one.read;
    // A read of several segments has the stamp of the last one and can hide that this thread woke late, which
    // a later read of the round may have shown.
    if (one.taken > 0) read.lay = read.at + read.delay - wait_.ready_since();
    errno = one.error;
    return one.taken;
}

long Drain::receive(int fd, std::span<char> into, Read& read) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(scm_timestamping)) + 64];
    iovec piece{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const long n = recvmsg(fd, &message, MSG_DONTWAIT);
    if (n <= 0) return n;

    const TimePoint now = Clock::now();
    ++reads_;
    read.bytes = into.first(static_cast<std::size_t>(n));
    read.filled = read.bytes.size() == into.size();
    timespec stamp{};
    read.kernel_stamp = receive_stamp(message, stamp);
    read.at = read.kernel_stamp ? std::min(clock_map_.monotonic(stamp), now) : now;
    read.delay = now - read.at;
    if (read.kernel_stamp) {
        wait_.note_arrival(read.at);
        late_ = std::max(late_, wait_.wake_delay(read.at));
        read_delay_.add(read.delay);
    }
    read.lay = now - wait_.ready_since();
    if (!read.kernel_stamp) unstamped_delay_.add(read.lay);
    return n;
}

}  // namespace paretoken::http
