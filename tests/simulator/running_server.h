#pragma once
// A simulated server on a thread of its own, and a blocking client for it.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "simulator/server.h"

namespace paretoken::sim {

/// A server on a thread of its own, stopped and joined at the end.
class RunningServer {
  public:
    explicit RunningServer(std::string_view profile, ServerOptions options = {})
        : server_(io_, with(options, profile)) {
        server_.start();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~RunningServer() {
        boost::asio::post(io_, [this] { server_.stop(); });
        thread_.join();
    }
    std::uint16_t port() const { return server_.port(); }
    std::string url() const { return server_.url(); }

  private:
    static ServerOptions with(ServerOptions options, std::string_view profile) {
        options.profile = profile_named(profile);
        return options;
    }

    boost::asio::io_context io_{1};
    Server server_;
    std::thread thread_;
};

struct Answer {
    std::string head;
    std::string body;  ///< body without chunk framing

    int status() const { return head.empty() ? 0 : std::stoi(head.substr(9, 3)); }
};

/// A blocking client with as much HTTP as these tests need.
class Client {
  public:
    explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{.tv_sec = 20, .tv_usec = 0};
        setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            ADD_FAILURE() << "connect";
    }
    ~Client() { ::close(socket_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (size <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(size));
        }
    }
    void request(std::string_view method, std::string_view target, std::string_view body = "",
                 std::string_view headers = "") {
        send(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", method, target,
                         headers, body.size(), body));
    }

    Answer answer() {
        Answer answer;
        answer.head = take_through("\r\n\r\n");
        const auto length = answer.head.find("content-length: ");
        if (length != std::string::npos) {
            answer.body = take(std::stoul(answer.head.substr(length + 16)));
        } else if (answer.head.find("transfer-encoding: chunked") != std::string::npos) {
            while (const std::size_t size = std::stoul(take_through("\r\n"), nullptr, 16)) {
                answer.body += take(size);
                take(2);
            }
            take(2);
        } else {
            answer.body = rest();
        }
        return answer;
    }
    Answer ask(std::string_view method, std::string_view target, std::string_view body = "",
               std::string_view headers = "") {
        request(method, target, body, headers);
        return answer();
    }
    /// Returns everything until the server closes.
    std::string rest() {
        while (more()) continue;
        return std::exchange(inbox_, {});
    }
    std::string take(std::size_t size) {
        while (inbox_.size() < size && more()) continue;
        std::string taken = inbox_.substr(0, size);
        inbox_.erase(0, taken.size());
        return taken;
    }
    std::string take_through(std::string_view mark) {
        std::size_t at = 0;
        while ((at = inbox_.find(mark)) == std::string::npos) {
            if (!more()) {
                ADD_FAILURE() << "closed early";
                return "0";
            }
        }
        return take(at + mark.size());
    }

  private:
    bool more() {
        char bytes[4096];
        const ssize_t size = recv(socket_, bytes, sizeof bytes, 0);
        if (size <= 0) return false;
        inbox_.append(bytes, static_cast<std::size_t>(size));
        return true;
    }

    int socket_;
    std::string inbox_;
};

/// Returns the answer of GET /sim/truth.
inline nlohmann::json truth_of(Client& client) {
    return nlohmann::json::parse(client.ask("GET", "/sim/truth").body);
}

}  // namespace paretoken::sim
