#pragma once
// The socket on which a simulated server waits for connections.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

namespace paretoken::sim {

/// Returns a listening socket with the kernel's receive stamps. Port 0 means a free one. Throws RuntimeError.
boost::asio::ip::tcp::acceptor listening(boost::asio::io_context& io, const std::string& host,
                                         std::uint16_t port);

}  // namespace paretoken::sim
