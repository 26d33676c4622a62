#pragma once
// Resolves names to socket addresses before any clock starts; the load itself never asks a resolver.
#include <sys/socket.h>

#include <string>
#include <vector>

#include "loadgen/http/url.h"

namespace paretoken::http {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

/// Returns all TCP addresses of the URL's host, in the resolver's order. Throws RuntimeError naming the host.
std::vector<Address> resolve(const Url& url);

/// Returns "127.0.0.1:8000" or "[::1]:8000"; "?" if the address is not valid.
std::string text_of(const Address& address);

/// Returns whether it is a loopback address, which means that the server is on this machine.
bool is_loopback(const Address& address);

}  // namespace paretoken::http
