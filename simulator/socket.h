#pragma once
// Socket calls that Asio lacks: reading with the kernel's receive stamp (CLOCK_MONOTONIC), writing at once.
#include <cstddef>
#include <span>
#include <string_view>

#include "core/units.h"

namespace paretoken::sim {

/// Enables stamps on a listener before its first connection, so that all first bytes are stamped.
void enable_receive_stamps(int socket);

enum class Reading : std::uint8_t { bytes, would_block, closed };

struct Received {
    Reading what = Reading::would_block;
    std::size_t size = 0;       ///< bytes read; this and the members below are set only for `bytes`
    TimePoint at;               ///< when the last segment of this read reached this host
    bool kernel_stamp = false;  ///< false means that `at` is the clock after the read
};

/// Reads the bytes that have arrived, without waiting. `closed`: the peer ended the connection, or it broke.
Received receive(int socket, std::span<char> into);

/// The number of bytes that the kernel accepted without waiting, or a broken connection.
struct Sent {
    std::size_t size = 0;
    bool broken = false;
};
Sent send_at_once(int socket, std::string_view bytes);

}  // namespace paretoken::sim
