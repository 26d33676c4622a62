#include "simulator/listener.h"

#include <fmt/format.h>

#include "core/error.h"
#include "simulator/socket.h"

namespace paretoken::sim {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

tcp::endpoint resolved(boost::asio::io_context& io, const std::string& host, std::uint16_t port) {
    error_code ec;
    const auto found = tcp::resolver(io).resolve(host, std::to_string(port), tcp::resolver::passive, ec);
    if (ec || found.empty()) {
        throw RuntimeError(fmt::format("serve: cannot resolve --host {}: {}", host, ec.message()));
    }
    return found.begin()->endpoint();
}

}  // namespace

tcp::acceptor listening(boost::asio::io_context& io, const std::string& host, std::uint16_t port) {
    const tcp::endpoint endpoint = resolved(io, host, port);
    tcp::acceptor acceptor(io);
    error_code ec;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) enable_receive_stamps(acceptor.native_handle());
    if (!ec) acceptor.listen(boost::asio::socket_base::max_listen_connections, ec);
    if (ec) {
        throw RuntimeError(
            fmt::format("serve: cannot listen on {}:{}: {}; take another --port, or 0 for a free one", host,
                        port, ec.message()));
    }
    return acceptor;
}

}  // namespace paretoken::sim
