#include "experiments/watch/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace paretoken::experiments {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t kMostHeaderBytes = 16 << 10;
constexpr std::size_t kMostConnections = 64;
/// The longest time for sending a request, and the longest in which nothing of the answer is taken.
constexpr std::chrono::seconds kPatience{10};
constexpr int kLookForStopMs = 200;

struct HostAndPort {
    std::string host = {};
    int port = 0;
};

/// Splits an address: "[::1]:80" → ::1, 80; "127.0.0.1" → 127.0.0.1, −1. Returns nothing for any other text.
std::optional<HostAndPort> host_and_port(std::string_view text) {
    HostAndPort parsed{.port = -1};
    const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
    if (bracket == std::string_view::npos) return {};
    const std::string_view behind = text.substr(bracket);
    const std::size_t colon = behind.rfind(':');
    if (colon != std::string_view::npos && bracket > 0 && colon != 1) return {};
    const std::size_t end = colon == std::string_view::npos ? text.size() : bracket + colon;
    parsed.host = std::string(bracket > 0 ? text.substr(1, bracket - 1) : text.substr(0, end));
    if (colon == std::string_view::npos)
        return bracket > 0 && bracket + 1 != text.size() ? std::nullopt : std::optional(parsed);
    const std::string_view digits = behind.substr(colon + 1);
    constexpr std::size_t kMostDigits = 5;
    constexpr int kHighestPort = 65535;
    if (parsed.host.empty() || digits.empty() || digits.size() > kMostDigits ||
        digits.find_first_not_of("0123456789") != std::string_view::npos)
        return {};
    parsed.port = std::stoi(std::string(digits));
    return parsed.port > kHighestPort ? std::nullopt : std::optional(parsed);
}

bool is_loopback(const std::string& host) {
    if (host == "localhost") return true;
    constexpr std::uint32_t kLoopbackNet = 127;
    in_addr v4{};
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == kLoopbackNet;
    in6_addr v6{};
    return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/// Returns a socket that listens on the first usable address of the host. Throws RuntimeError.
int listening_socket(const HostAndPort& at, const std::string& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
    addrinfo* list = nullptr;
    const std::string host = at.host == "localhost" ? "127.0.0.1" : at.host;
    if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(at.port).c_str(), &hints, &list);
        failed != 0)
        throw RuntimeError(
            fmt::format("--listen {}: cannot resolve the host: {}; give an address of this machine, such as "
                        "127.0.0.1",
                        address, ::gai_strerror(failed)));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
    int error = 0;
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
        const int file = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (file < 0) {
            error = errno;
            continue;
        }
        const int yes = 1;
        (void)::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        constexpr int kWaiting = 16;
        if (::bind(file, a->ai_addr, a->ai_addrlen) == 0 && ::listen(file, kWaiting) == 0) return file;
        error = errno;
        ::close(file);
    }
    throw RuntimeError(fmt::format("cannot listen on {}: {}; --listen 127.0.0.1:0 takes a free port", address,
                                   std::strerror(error)));
}

int port_of(int socket) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
    const in_port_t port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                       : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
    return ntohs(port);
}

// ---- answers

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

// ---- connections

/// A socket that is closed with this object.
class Connection {
  public:
    explicit Connection(int socket) : socket_(socket) {}
    ~Connection() {
        if (socket_ >= 0) ::close(socket_);
    }
    Connection(Connection&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)),
          head_(std::move(other.head_)),
          answer_(std::move(other.answer_)),
          sent_(other.sent_),
          since_(other.since_) {}
    Connection& operator=(Connection&& other) noexcept {
        std::swap(socket_, other.socket_);
        std::swap(head_, other.head_);
        std::swap(answer_, other.answer_);
        std::swap(sent_, other.sent_);
        std::swap(since_, other.since_);
        return *this;
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int socket() const { return socket_; }
    /// Returns the event to wait for: bytes of the request, or room for the rest of the answer.
    short wanted() const { return answer_.empty() ? POLLIN : POLLOUT; }
    /// Returns whether the peer has taken too long for its request, or has taken none of the answer for long.
    bool is_late() const { return SteadyClock::now() - since_ > kPatience; }

    /// Reads or writes what is possible without waiting, so that a slow reader delays nobody else. Returns
    /// whether the connection is finished: answered, closed or broken.
    template <class ResponseTo>
    bool go_on(const ResponseTo& response_to) {
        if (!answer_.empty()) return write();
        char bytes[4096];
        const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
        if (got <= 0) return got == 0 || (errno != EAGAIN && errno != EINTR);
        head_.append(bytes, static_cast<std::size_t>(got));
        if (head_.find("\r\n\r\n") != std::string::npos) {
            answer_ = response_to(head_);
        } else if (head_.size() > kMostHeaderBytes) {
            answer_ = words("431 Request Header Fields Too Large", "The head of the request is too long.");
        } else {
            return false;
        }
        since_ = SteadyClock::now();
        return write();
    }

  private:
    /// Writes what the kernel takes now. Returns whether nothing is left to write, or nobody reads any more.
    bool write() {
        while (sent_ < answer_.size()) {
            const ssize_t sent =
                ::send(socket_, answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
            if (sent <= 0) return errno != EAGAIN && errno != EINTR;
            sent_ += static_cast<std::size_t>(sent);
            since_ = SteadyClock::now();
        }
        ::shutdown(socket_, SHUT_WR);
        return true;
    }

    int socket_;
    std::string head_;
    std::string answer_;  ///< empty until the request is complete
    std::size_t sent_ = 0;
    SteadyClock::time_point since_ = SteadyClock::now();  ///< last progress: accepted, answered, or written
};

}  // namespace

PageServer::PageServer(const std::string& address, Reach reach, std::string nothing_here, Answer answer)
    : reach_(reach), nothing_here_(std::move(nothing_here)), answer_(std::move(answer)) {
    const auto wanted = host_and_port(address);
    if (!wanted || wanted->port < 0)
        throw UsageError(fmt::format("--listen {}: expected HOST:PORT, e.g. 127.0.0.1:0", address));
    if (reach_ == Reach::this_machine && !is_loopback(wanted->host))
        throw UsageError(fmt::format(
            "--listen {}: a report is served to this machine only; take 127.0.0.1, [::1] or localhost",
            address));
    listener_ = listening_socket(*wanted, address);
    host_ = wanted->host.find(':') == std::string::npos ? wanted->host : fmt::format("[{}]", wanted->host);
    port_ = port_of(listener_);
}

PageServer::~PageServer() {
    if (listener_ >= 0) ::close(listener_);
}

std::string PageServer::url() const {
    return fmt::format("http://{}:{}", host_, port_);
}

std::string PageServer::response_to(const std::string& head) const {
    namespace http = boost::beast::http;
    http::request_parser<http::empty_body> parser;
    boost::beast::error_code error;
    parser.put(boost::asio::buffer(head), error);
    if (!parser.is_header_done()) return words("400 Bad Request", "This is not an HTTP request.");
    const auto& request = parser.get();
    if (request.method() != http::verb::get && request.method() != http::verb::head)
        return words("405 Method Not Allowed", "Only GET and HEAD are answered.");
    const auto host = host_and_port(request[http::field::host]);
    if (reach_ == Reach::this_machine && (!host || !is_loopback(host->host)))
        return words("403 Forbidden", "This server is for this machine: use its loopback address.");
    const std::string_view target = request.target();
    try {
        const auto page = answer_({.path = std::string(target.substr(0, target.find('?'))),
                                   .accept = std::string(request[http::field::accept])});
        if (!page) return words("404 Not Found", nothing_here_);
        return response("200 OK", *page, request.method() == http::verb::get);
    } catch (const Error& problem) {
        return words("500 Internal Server Error", problem.what());
    }
}

void PageServer::serve(const std::stop_token& stop) {
    const auto respond = [this](const std::string& head) { return response_to(head); };
    std::vector<Connection> connections;
    std::vector<pollfd> waiting;
    while (!stop.stop_requested()) {
        waiting.assign(1, {listener_, POLLIN, 0});
        for (const Connection& connection : connections)
            waiting.push_back({connection.socket(), connection.wanted(), 0});
        if (::poll(waiting.data(), waiting.size(), kLookForStopMs) < 0) continue;
        for (std::size_t i = connections.size(); i-- > 0;) {
            const bool is_done = waiting[i + 1].revents != 0 && connections[i].go_on(respond);
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

}  // namespace paretoken::experiments
