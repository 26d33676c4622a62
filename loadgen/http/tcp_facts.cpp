#include "loadgen/http/tcp_facts.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace paretoken::http {

TcpFacts tcp_facts_of(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
    return {.segments_sent = info.tcpi_segs_out, .retransmitted = info.tcpi_total_retrans};
}

}  // namespace paretoken::http
