#pragma once
// What the load generator reports about its reading of events, its threads and its connections.
#include <cstdint>
#include <vector>

#include "core/histogram.h"
#include "core/units.h"

namespace paretoken {

/// Counts over all finished requests. They show how far the client, and not the server, shaped the measured
/// times. A chunk is an event of a streamed answer that has output.
struct ClientCounters {
    std::uint64_t chunks = 0;
    std::uint64_t stamped_chunks = 0;       ///< chunks timed by a kernel stamp
    std::uint64_t grouped_chunks = 0;       ///< chunks completed by the same read as the chunk before
    std::uint64_t late_grouped_chunks = 0;  ///< grouped chunks whose bytes may have waited for this process
                                            ///< to read them (http::Read::lay) for longer than both 300 µs
                                            ///< and the stream's mean time per event

    void add(const ClientCounters& other);

    bool operator==(const ClientCounters&) const = default;
};

struct ConnectionCounts {
    std::uint64_t opened = 0;
    std::uint64_t opened_ahead = 0;  ///< of these, those that were open before a request needed them
    Duration opening_ahead{};  ///< time before the load in which the connections of its start were opened
    std::uint64_t segments_sent = 0;
    std::uint64_t retransmitted = 0;

    void add(const ConnectionCounts& other);

    bool operator==(const ConnectionCounts&) const = default;
};

/// The CPU time of a worker's thread over about 100 ms, without deliberate polling.
struct CpuSample {
    TimePoint at;      ///< end of these 100 ms
    double share = 0;  ///< share of one core

    bool operator==(const CpuSample&) const = default;
};

/// The report of a worker, or the reports of all workers of a load together.
struct ClientReport {
    ClientCounters chunks = {};
    ConnectionCounts connections = {};
    Histogram read_delay = {};       ///< time from an event's kernel stamp until the client read it
    Histogram unstamped_delay = {};  ///< upper bounds of that time for events without a stamp
    Duration largest_clock_jump{};   ///< largest jump of the realtime clock against the monotonic one
    std::vector<std::vector<CpuSample>> cpu = {};  ///< samples by worker
    /// Sum of the delays above 1 ms with which a worker's thread woke ÷ the length of the load.
    double host_lost_share = 0;

    /// Adds other workers. The lost share becomes the larger one: a host's workers freeze together.
    void add(ClientReport other);

    bool operator==(const ClientReport&) const = default;
};

}  // namespace paretoken
