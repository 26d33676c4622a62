#include "cli/page_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"

namespace paretoken::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t kMostHeaderBytes = 16 << 10;
constexpr std::size_t kMostConnections = 64;
constexpr std::chrono::seconds kLongestRequest{10};
constexpr std::chrono::seconds kLongestAnswer{10};
constexpr int kLookForStopMs = 200;

struct HostAndPort {
    std::string host;
    int port = 0;
};

/// "[::1]:80" → ::1, 80; "127.0.0.1" → 127.0.0.1, −1. Nothing when it is no address.
std::optional<HostAndPort> host_and_port(std::string_view text) {
    HostAndPort parsed{.host = {}, .port = -1};
    const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
    if (bracket == std::string_view::npos) return {};
    const std::size_t colon = text.find(':', bracket);
    parsed.host = std::string(bracket > 0 ? text.substr(1, bracket - 1) : text.substr(0, colon));
    if (colon == std::string_view::npos)
        return bracket > 0 && bracket + 1 != text.size() ? std::nullopt : std::optional(parsed);
    const std::string_view digits = text.substr(colon + 1);
    constexpr std::size_t kMostDigits = 5;
    constexpr int kHighestPort = 65535;
    if (digits.empty() || digits.size() > kMostDigits ||
        digits.find_first_not_of("0123456789") != std::string_view::npos)
        return {};
    parsed.port = std::stoi(std::string(digits));
    return parsed.port > kHighestPort ? std::nullopt : std::optional(parsed);
}

union Address {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

/// Nothing for a host that is not of the loopback.
std::optional<Address> loopback_address(const std::string& host, int port) {
    Address address{};
    if (host == "localhost" || ::inet_pton(AF_INET, host.c_str(), &address.v4.sin_addr) == 1) {
        if (host == "localhost") address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        constexpr std::uint32_t kLoopbackNet = 127;
        if (ntohl(address.v4.sin_addr.s_addr) >> 24 != kLoopbackNet) return {};
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(static_cast<std::uint16_t>(port));
        return address;
    }
    if (::inet_pton(AF_INET6, host.c_str(), &address.v6.sin6_addr) == 1 &&
        IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr)) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(static_cast<std::uint16_t>(port));
        return address;
    }
    return {};
}

socklen_t size_of(const Address& address) {
    return address.any.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

int port_of(int socket) {
    Address bound{};
    socklen_t size = sizeof bound;
    ::getsockname(socket, &bound.any, &size);
    return ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
}

// ---- requests

struct Request {
    std::string method;
    std::string path;
    std::string host;
};

std::string lowered(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

/// Nothing when it is no HTTP request.
std::optional<Request> parsed(std::string_view head) {
    const std::size_t line_end = head.find('\n');
    const std::string_view line = trimmed(head.substr(0, line_end));
    const std::size_t first = line.find(' ');
    const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos || !line.substr(second + 1).starts_with("HTTP/1.")) return {};
    Request request{
        std::string(line.substr(0, first)), std::string(line.substr(first + 1, second - first - 1)), {}};
    request.path = request.path.substr(0, request.path.find('?'));
    for (std::size_t at = line_end; at != std::string_view::npos;) {
        const std::size_t end = head.find('\n', at + 1);
        const std::string_view field =
            head.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
        const std::size_t colon = field.find(':');
        if (colon != std::string_view::npos && lowered(field.substr(0, colon)) == "host")
            request.host = std::string(trimmed(field.substr(colon + 1)));
        at = end;
    }
    return request;
}

std::string response(std::string_view status, const ServedPage& page, bool with_body) {
    return fmt::format(
               "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
               "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
               status, page.type, page.body.size()) +
           (with_body ? page.body : "");
}

std::string words(std::string_view status, std::string_view text) {
    return response(status, {"text/plain; charset=utf-8", fmt::format("{}\n", text)}, true);
}

std::string response_to(std::string_view head, const PageServer::Answer& answer) {
    const auto request = parsed(head);
    if (!request) return words("400 Bad Request", "This is no HTTP request.");
    if (request->method != "GET" && request->method != "HEAD")
        return words("405 Method Not Allowed", "Only GET and HEAD are answered.");
    const auto host = host_and_port(request->host);
    if (!host || !loopback_address(host->host, 0))
        return words("403 Forbidden", "This server is for this machine: use its loopback address.");
    try {
        const auto page = answer(request->path);
        if (!page) return words("404 Not Found", "There is nothing here; the report is at /.");
        return response("200 OK", *page, request->method == "GET");
    } catch (const Error& error) {
        return words("500 Internal Server Error", error.what());
    }
}

// ---- connections

/// A socket that is closed at the end.
class Connection {
  public:
    explicit Connection(int socket) : socket_(socket) {}
    ~Connection() {
        if (socket_ >= 0) ::close(socket_);
    }
    Connection(Connection&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), head_(std::move(other.head_)), since_(other.since_) {}
    Connection& operator=(Connection&& other) noexcept {
        std::swap(socket_, other.socket_);
        std::swap(head_, other.head_);
        std::swap(since_, other.since_);
        return *this;
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int socket() const { return socket_; }
    bool is_late() const { return SteadyClock::now() - since_ > kLongestRequest; }

    /// Reads what is there. Returns whether the connection is done with: answered, closed or broken.
    bool read(const PageServer::Answer& answer) {
        char bytes[4096];
        const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
        if (got <= 0) return got == 0 || (errno != EAGAIN && errno != EINTR);
        head_.append(bytes, static_cast<std::size_t>(got));
        if (head_.find("\r\n\r\n") != std::string::npos) {
            write(response_to(head_, answer));
            return true;
        }
        if (head_.size() <= kMostHeaderBytes) return false;
        write(words("431 Request Header Fields Too Large", "The head of the request is too long."));
        return true;
    }

  private:
    /// To the end, or until the reader has taken nothing for a while.
    void write(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent > 0) {
                text.remove_prefix(static_cast<std::size_t>(sent));
                continue;
            }
            pollfd room{socket_, POLLOUT, 0};
            const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(kLongestAnswer).count();
            if (errno != EAGAIN || ::poll(&room, 1, static_cast<int>(most)) <= 0) return;
        }
        ::shutdown(socket_, SHUT_WR);
    }

    int socket_;
    std::string head_;
    SteadyClock::time_point since_ = SteadyClock::now();
};

}  // namespace

PageServer::PageServer(const std::string& address, Answer answer) : answer_(std::move(answer)) {
    const auto wanted = host_and_port(address);
    if (!wanted || wanted->port < 0)
        throw UsageError(fmt::format("--listen {}: expected HOST:PORT, e.g. 127.0.0.1:0", address));
    const auto bound = loopback_address(wanted->host, wanted->port);
    if (!bound)
        throw UsageError(fmt::format(
            "--listen {}: a report is served to this machine only; take 127.0.0.1, [::1] or localhost",
            address));
    listener_ = ::socket(bound->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener_ < 0 || ::bind(listener_, &bound->any, size_of(*bound)) != 0 ||
        ::listen(listener_, 16) != 0) {
        const int error = errno;
        if (listener_ >= 0) ::close(listener_);
        throw RuntimeError(fmt::format("cannot listen on {}: {}; --listen 127.0.0.1:0 takes a free port",
                                       address, std::strerror(error)));
    }
    host_ = wanted->host.find(':') == std::string::npos ? wanted->host : fmt::format("[{}]", wanted->host);
    port_ = port_of(listener_);
}

PageServer::~PageServer() {
    if (listener_ >= 0) ::close(listener_);
}

std::string PageServer::url() const {
    return fmt::format("http://{}:{}", host_, port_);
}

void PageServer::serve(const std::stop_token& stop) {
    std::vector<Connection> connections;
    std::vector<pollfd> waiting;
    while (!stop.stop_requested()) {
        waiting.assign(1, {listener_, POLLIN, 0});
        for (const Connection& connection : connections) waiting.push_back({connection.socket(), POLLIN, 0});
        if (::poll(waiting.data(), waiting.size(), kLookForStopMs) < 0) continue;
        for (std::size_t i = connections.size(); i-- > 0;) {
            const bool is_done = waiting[i + 1].revents != 0 && connections[i].read(answer_);
            if (is_done || connections[i].is_late())
                connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (waiting[0].revents == 0) continue;
        const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted < 0) continue;
        Connection connection(accepted);
        if (connections.size() < kMostConnections) connections.push_back(std::move(connection));
    }
}

}  // namespace paretoken::cli
