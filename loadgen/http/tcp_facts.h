#pragma once
// The kernel's counters of one TCP connection, apart because linux/tcp.h and netinet/tcp.h conflict.
#include <cstdint>

namespace paretoken::http {

struct TcpFacts {
    std::uint32_t segments_sent = 0;
    std::uint32_t retransmitted = 0;
};

/// Returns zeros when `fd` is not a connected TCP socket.
TcpFacts tcp_facts_of(int fd);

}  // namespace paretoken::http
