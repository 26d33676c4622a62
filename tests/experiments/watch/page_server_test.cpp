#include "experiments/watch/page_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace paretoken::experiments {
namespace {

/// A client that reads only when it is told to.
class Reader {
  public:
    explicit Reader(const std::string& url) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socket_ = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("connect");
        constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        if (send(socket_, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0)
            throw std::runtime_error("send");
    }
    ~Reader() { close(socket_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// Reads some bytes; returns how many, 0 at the end.
    std::size_t read_some() const {
        static char bytes[1 << 16];
        const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    /// Reads to the end; returns the number of bytes.
    std::size_t read_all() const {
        std::size_t all = 0;
        while (const std::size_t got = read_some()) all += got;
        return all;
    }

  private:
    int socket_ = -1;
};

TEST(PageServer, ASlowReaderOfALongPageDelaysNobody) {
    constexpr std::size_t kLong = 64 << 20;  // more than the kernel keeps for a peer that does not read
    PageServer server("127.0.0.1:0", Reach::this_machine, "nothing", [](const PageRequest&) {
        return ServedPage{.type = "text/plain", .body = std::string(kLong, 'x')};
    });
    std::jthread serving([&](const std::stop_token& stop) { server.serve(stop); });
    const Reader slow(server.url());
    EXPECT_GT(slow.read_some(), 0U);  // its answer has begun
    const Reader quick(server.url());
    EXPECT_GT(quick.read_all(), kLong);
    EXPECT_GT(slow.read_all(), kLong - (1 << 16)) << "it was not dropped to serve the other one";
}

}  // namespace
}  // namespace paretoken::experiments
