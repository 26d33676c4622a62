#include "loadgen/http/drain.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace paretoken::http {
namespace {

constexpr std::size_t kScratchBytes = 256 * 1024;
constexpr int kBatch = 32;  ///< sockets served between two looks at the schedule

int open_epoll() {
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) throw RuntimeError(fmt::format("epoll_create1: {}", std::strerror(errno)));
    return fd;
}

/// The software receive stamp among the control messages of a read; false when there is none.
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

Drain::Drain(boost::asio::io_context& io)
    : epoll_(io, open_epoll()), scratch_(std::make_unique<char[]>(kScratchBytes + kReadPadding)) {}

Drain::~Drain() = default;

void Drain::start() {
    stopped_ = false;
    arm();
}

void Drain::stop() {
    stopped_ = true;
    boost::system::error_code ignored;
    epoll_.cancel(ignored);
}

void Drain::arm() {
    epoll_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                      [this](const boost::system::error_code& ec) {
                          if (ec || stopped_) return;
                          while (poll() && !stopped_) {
                          }
                          if (!stopped_) arm();
                      });
}

void Drain::add(int fd, Listener& listener, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &listener;
    if (epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &event) != 0) {
        throw RuntimeError(fmt::format("epoll_ctl: {}", std::strerror(errno)));
    }
    std::erase(removed_, &listener);  // the same address may have been freed and used again in this batch
}

void Drain::change(int fd, Listener& listener, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &listener;
    epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, fd, &event);
}

void Drain::remove(int fd, Listener& listener) {
    epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
    if (serving_) removed_.push_back(&listener);
}

bool Drain::poll() {
    if (serving_) return false;
    epoll_event events[kBatch];
    const int ready = epoll_wait(epoll_.native_handle(), events, kBatch, 0);
    if (ready <= 0) return false;
    clock_map_.refresh(Clock::now());
    serving_ = true;
    for (int i = 0; i < ready; ++i) {
        auto* listener = static_cast<Listener*>(events[i].data.ptr);
        const bool stale = std::find(removed_.begin(), removed_.end(), listener) != removed_.end();
        if (!stale) listener->on_ready(events[i].events);
    }
    serving_ = false;
    removed_.clear();
    if (between_ != nullptr) between_(between_context_);
    return ready == kBatch;
}

void Drain::set_between_batches(void (*call)(void*), void* context) {
    between_ = call;
    between_context_ = context;
}

long Drain::receive(int fd, Read& read) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(scm_timestamping)) + 64];
    iovec piece{scratch_.get(), kScratchBytes};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const long n = recvmsg(fd, &message, MSG_DONTWAIT);
    if (n <= 0) return n;

    const TimePoint now = Clock::now();
    read.bytes = {scratch_.get(), static_cast<std::size_t>(n)};
    timespec stamp{};
    read.kernel_stamp = receive_stamp(message, stamp);
    read.at = read.kernel_stamp ? std::min(clock_map_.monotonic(stamp), now) : now;
    read.delay = now - read.at;
    if (read.kernel_stamp) read_delay_.add(read.delay);
    return n;
}

}  // namespace paretoken::http
