#pragma once
// Finds out from /proc whether the processes of a group listen on a TCP port.
#include <sys/types.h>

#include <cstdint>

namespace paretoken::experiments {

/// Returns whether a process of the process group listens on `port` at a loopback address or at all addresses
/// of this machine. Returns false if /proc does not say, for example for a process of another user.
bool listens(pid_t group, std::uint16_t port);

}  // namespace paretoken::experiments
