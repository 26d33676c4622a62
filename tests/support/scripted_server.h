#pragma once
// A server on loopback that answers each request by a script, to imitate misbehaving servers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace paretoken::testing {

/// The actions of the server after a request.
struct ScriptedAnswer {
    std::vector<std::string> writes = {};  ///< texts that are sent one after the other
    int pause_ms = 0;                      ///< pause before each of them
    bool close_after = false;              ///< whether the connection is closed after the texts
    bool reset_after = false;              ///< whether it is closed with a RST packet instead of FIN
    /// Time after which the connection is closed although another request has come, which is not read.
    std::optional<int> close_unread_ms = {};
    /// Whether the last text (there must be one) is sent again and again until the client closes.
    bool endless = false;
};

/// The server. It listens from its construction to its destruction, which ends all connections.
class ScriptedServer {
  public:
    /// A function that returns the answer to a request. `text` is the head and the body of the request.
    /// Connections are counted from 0, and requests from 0 in each connection. Each connection has a thread
    /// that calls the script, so that calls may be concurrent.
    using Script = std::function<ScriptedAnswer(int connection, int request, const std::string& text)>;

    explicit ScriptedServer(Script script) : script_(std::move(script)) {
        listener_ = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        listen(listener_, 64);
        socklen_t length = sizeof address;
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
        port_ = ntohs(address.sin_port);
        acceptor_ = std::thread([this] { accept_all(); });
    }

    ~ScriptedServer() {
        over_ = true;
        acceptor_.join();
        for (std::thread& t : threads_) t.join();
        close(listener_);
    }

    std::uint16_t port() const { return port_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    int connections() const { return connections_; }

  private:
    static bool readable(int fd) {
        pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
        return ::poll(&p, 1, 10) > 0;
    }

    void accept_all() {
        while (!over_) {
            if (!readable(listener_)) continue;
            const int fd = accept(listener_, nullptr, nullptr);
            const int number = connections_++;
            threads_.emplace_back([this, fd, number] { serve(fd, number); });
        }
    }

    /// Reads one whole request by its Content-Length. Returns an empty text when the connection or the server
    /// has ended.
    std::string read_request(int fd) {
        std::string text;
        while (!over_) {
            if (const auto head = text.find("\r\n\r\n"); head != std::string::npos) {
                const auto at = text.find("Content-Length: ");
                const std::size_t length = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
                if (text.size() >= head + 4 + length) return text;
            }
            if (!readable(fd)) continue;
            char bytes[8192];
            const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
            if (n <= 0) return {};
            text.append(bytes, static_cast<std::size_t>(n));
        }
        return {};
    }

    /// Sends every byte, even if the client reads slowly. Returns false when the connection or the server
    /// has ended first.
    bool send_whole(int fd, std::string_view bytes) {
        while (!bytes.empty() && !over_) {
            const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0 && errno != EAGAIN) return false;
            if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return bytes.empty();
    }

    void serve(int fd, int connection) {
        const timeval patience{.tv_sec = 0,
                               .tv_usec = 100'000};  // so that a blocked send ends with the server
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        for (int request = 0; !over_; ++request) {
            const std::string text = read_request(fd);
            if (text.empty()) break;
            const ScriptedAnswer answer = script_(connection, request, text);
            for (const std::string& bytes : answer.writes) {
                if (answer.pause_ms > 0)
                    std::this_thread::sleep_for(std::chrono::milliseconds(answer.pause_ms));
                send_whole(fd, bytes);
            }
            while (answer.endless && !over_) {
                if (!send_whole(fd, answer.writes.back())) break;
            }
            if (answer.reset_after) {
                const linger now{.l_onoff = 1, .l_linger = 0};
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
            }
            if (answer.close_unread_ms) {
                while (!over_ && !readable(fd)) {
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(*answer.close_unread_ms));
                shutdown(fd, SHUT_RDWR);
                break;
            }
            if (answer.close_after || answer.reset_after) break;
        }
        close(fd);
    }

    Script script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> over_{false};
    std::atomic<int> connections_{0};
    std::thread acceptor_;
    std::vector<std::thread> threads_;
};

}  // namespace paretoken::testing
