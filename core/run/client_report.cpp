#include "core/run/client_report.h"

#include <algorithm>
#include <iterator>

namespace paretoken {

void ClientCounters::add(const ClientCounters& other) {
    chunks += other.chunks;
    stamped_chunks += other.stamped_chunks;
    grouped_chunks += other.grouped_chunks;
    late_grouped_chunks += other.late_grouped_chunks;
}

void ConnectionCounts::add(const ConnectionCounts& other) {
    opened += other.opened;
    opened_ahead += other.opened_ahead;
    opening_ahead = std::max(opening_ahead, other.opening_ahead);
    segments_sent += other.segments_sent;
    retransmitted += other.retransmitted;
}

void ClientReport::add(ClientReport other) {
    chunks.add(other.chunks);
    connections.add(other.connections);
    read_delay.add(other.read_delay);
    unstamped_delay.add(other.unstamped_delay);
    largest_clock_jump = std::max(largest_clock_jump, other.largest_clock_jump);
    std::move(other.cpu.begin(), other.cpu.end(), std::back_inserter(cpu));
    host_lost_share = std::max(host_lost_share, other.host_lost_share);
}

}  // namespace paretoken
