#pragma once
// What the kernel counted for one TCP connection. Apart, because linux/tcp.h and netinet/tcp.h do not go
// together.
#include <cstdint>

namespace paretoken::http {

struct TcpFacts {
    std::uint32_t segments_sent = 0;
    std::uint32_t retransmitted = 0;
};

/// Zeros when `fd` is no connected TCP socket.
TcpFacts tcp_facts_of(int fd);

}  // namespace paretoken::http
