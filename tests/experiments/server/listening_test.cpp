#include "experiments/server/listening.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paretoken::experiments {
namespace {

/// A socket of this process that listens on a free port at an address of either family.
class Listener {
  public:
    explicit Listener(int family, const char* host) : file_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage address{};
        socklen_t length = 0;
        if (family == AF_INET) {
            auto* const four = reinterpret_cast<sockaddr_in*>(&address);
            length = sizeof *four;
            ::inet_pton(family, host, &four->sin_addr);
        } else {
            auto* const six = reinterpret_cast<sockaddr_in6*>(&address);
            length = sizeof *six;
            ::inet_pton(family, host, &six->sin6_addr);
        }
        address.ss_family = static_cast<sa_family_t>(family);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        works_ = ::bind(file_, any, length) == 0 && ::listen(file_, 1) == 0 &&
                 ::getsockname(file_, any, &length) == 0;
        port_ = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);  // at the same place in both
    }
    ~Listener() { ::close(file_); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    bool works() const { return works_; }
    std::uint16_t port() const { return port_; }

  private:
    int file_;
    bool works_ = false;
    std::uint16_t port_ = 0;
};

TEST(Listens, is_true_only_for_the_group_of_the_process_that_listens) {
    for (const char* const host : {"127.0.0.1", "127.0.0.2", "0.0.0.0"}) {
        const Listener listener(AF_INET, host);
        ASSERT_TRUE(listener.works()) << host;
        EXPECT_TRUE(listens(::getpgrp(), listener.port())) << host;
        EXPECT_FALSE(listens(::getpgrp() + 1, listener.port())) << host;
    }
    for (const char* const host : {"::1", "::", "::ffff:127.0.0.1"}) {
        const Listener listener(AF_INET6, host);
        if (!listener.works()) continue;  // not every machine has IPv6
        EXPECT_TRUE(listens(::getpgrp(), listener.port())) << host;
    }
}

TEST(Listens, is_false_when_nothing_listens_any_more) {
    std::uint16_t port = 0;
    {
        const Listener listener(AF_INET, "127.0.0.1");
        port = listener.port();
    }
    EXPECT_FALSE(listens(::getpgrp(), port));
}

}  // namespace
}  // namespace paretoken::experiments
