#include "experiments/fleet/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "loadgen/http/address.h"

namespace paretoken::experiments {
namespace {

constexpr std::size_t kHeadBytes = 5;  ///< the kind, and the length from its lowest byte on

/// Waits until a socket can be read or written. Returns false when the time is over.
bool waits_for(int socket, short what, Duration patience) {
    pollfd entry{.fd = socket, .events = what, .revents = 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
    int got = 0;
    do got = ::poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    while (got < 0 && errno == EINTR);
    return got > 0;
}

void send_at_once(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Returns the socket, or −1 with the reason in errno.
int connected_to(const http::Address& address, Duration patience) {
    const int socket = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return -1;
    const auto* const name = reinterpret_cast<const sockaddr*>(&address.storage);
    int error = 0;
    socklen_t size = sizeof error;
    const bool refused = ::connect(socket, name, address.length) != 0 && errno != EINPROGRESS;
    if (!refused && !waits_for(socket, POLLOUT, patience))
        error = ETIMEDOUT;
    else if (refused || ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error != 0) {
        ::close(socket);
        errno = error;
        return -1;
    }
    ::fcntl(socket, F_SETFL, 0);  // blocks again
    return socket;
}

}  // namespace

Channel::Channel(int socket) : socket_(socket) {
    send_at_once(socket_);
}

Channel::~Channel() {
    ::close(socket_);
}

void Channel::close() {
    ::shutdown(socket_, SHUT_RDWR);
}

bool Channel::send(MessageKind kind, std::string_view body) {
    std::string bytes(kHeadBytes, '\0');
    bytes[0] = static_cast<char>(kind);
    for (std::size_t i = 1; i < kHeadBytes; ++i) bytes[i] = static_cast<char>(body.size() >> (8 * (i - 1)));
    bytes += body;
    const std::lock_guard lock(sending_);
    for (std::string_view left = bytes; !left.empty();) {
        const ssize_t sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool Channel::read(char* to, std::size_t size, Duration patience) {
    while (size > 0) {
        if (!waits_for(socket_, POLLIN, patience)) return false;
        const ssize_t got = ::recv(socket_, to, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

std::optional<Message> Channel::receive(Duration patience) {
    while (true) {
        std::array<char, kHeadBytes> head{};
        if (!read(head.data(), head.size(), patience)) return std::nullopt;
        std::size_t size = 0;
        for (std::size_t i = 1; i < kHeadBytes; ++i)
            size |= static_cast<std::size_t>(static_cast<unsigned char>(head[i])) << (8 * (i - 1));
        const auto kind = static_cast<unsigned char>(head[0]);
        if (kind > static_cast<unsigned char>(MessageKind::over) || size > kLongestMessage)
            return std::nullopt;
        Message message{.kind = static_cast<MessageKind>(kind), .body = std::string(size, '\0')};
        if (!read(message.body.data(), size, patience)) return std::nullopt;
        if (message.kind != MessageKind::alive) return message;
    }
}

Listener::Listener(std::uint16_t port) {
    const auto fails = [&](const char* what) {
        const std::string why = std::strerror(errno);
        if (socket_ >= 0) ::close(socket_);
        throw RuntimeError(
            fmt::format("--rendezvous: cannot {} port {}: {}; choose another port", what, port, why));
    };
    const int on = 1;
    const int off = 0;
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    socket_ = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool has_six = socket_ >= 0;
    if (!has_six) socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) fails("open a socket for");
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (has_six) ::setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const int bound = has_six ? ::bind(socket_, reinterpret_cast<const sockaddr*>(&six), sizeof six)
                              : ::bind(socket_, reinterpret_cast<const sockaddr*>(&four), sizeof four);
    if (bound != 0 || ::listen(socket_, SOMAXCONN) != 0) fails("listen on");
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &size) != 0) fails("listen on");
    port_ = ntohs(has_six ? reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port
                          : reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

Listener::~Listener() {
    ::close(socket_);
}

std::optional<int> Listener::accept(Duration patience) const {
    if (!waits_for(socket_, POLLIN, patience)) return std::nullopt;
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    return socket < 0 ? std::nullopt : std::optional(socket);
}

int connected(const std::string& host, std::uint16_t port, Duration patience) {
    int error = 0;
    for (const http::Address& address : http::resolve({.host = host, .port = port})) {
        const int socket = connected_to(address, patience);
        if (socket >= 0) return socket;
        error = errno;
    }
    throw RuntimeError(
        error == ECONNREFUSED
            ? fmt::format(
                  "nothing listens at {}:{}; shard 0 is not started there, or its load has begun already "
                  "(each shard is started once)",
                  host, port)
            : fmt::format("{}:{} cannot be reached from here: {}", host, port, std::strerror(error)));
}

}  // namespace paretoken::experiments
