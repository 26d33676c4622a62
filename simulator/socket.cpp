#include "simulator/socket.h"

#include <linux/net_tstamp.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace paretoken::sim {
namespace {

Duration realtime_now() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Returns monotonic − realtime, from the tightest of three brackets, so that an interrupt does not shift it.
Duration clock_offset() {
    Duration offset{};
    Duration narrowest = Duration::max();
    for (int i = 0; i < 3; ++i) {
        const TimePoint before = Clock::now();
        const Duration realtime = realtime_now();
        const Duration width = Clock::now() - before;
        if (width >= narrowest) continue;
        narrowest = width;
        offset = before.time_since_epoch() + width / 2 - realtime;
    }
    return offset;
}

std::optional<Duration> stamp_in(msghdr& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_TIMESTAMPING) continue;
        timespec software{};  // the first of three: software, (unused), hardware
        std::memcpy(&software, CMSG_DATA(part), sizeof software);
        if (software.tv_sec == 0) return std::nullopt;
        return std::chrono::seconds(software.tv_sec) + std::chrono::nanoseconds(software.tv_nsec);
    }
    return std::nullopt;
}

}  // namespace

void enable_receive_stamps(int socket) {
    const int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    // If the kernel refuses, reads have kernel_stamp false.
    (void)setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags);
}

Received receive(int socket, std::span<char> into) {
    alignas(cmsghdr) char control[256];
    iovec part{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t size = 0;
    do {
        size = recvmsg(socket, &message, MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        const bool later = errno == EAGAIN || errno == EWOULDBLOCK;
        return Received{later ? Reading::would_block : Reading::closed, 0, {}, false};
    }
    if (size == 0) return Received{Reading::closed, 0, {}, false};
    Received received{.what = Reading::bytes, .size = static_cast<std::size_t>(size), .at = Clock::now()};
    if (const auto stamp = stamp_in(message)) {
        received.at = std::min(received.at, TimePoint(*stamp + clock_offset()));
        received.kernel_stamp = true;
    }
    return received;
}

Sent send_at_once(int socket, std::string_view bytes) {
    ssize_t size = 0;
    do {
        size = send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (size < 0 && errno == EINTR);
    if (size >= 0) return {.size = static_cast<std::size_t>(size)};
    return {.broken = errno != EAGAIN && errno != EWOULDBLOCK};
}

}  // namespace paretoken::sim
