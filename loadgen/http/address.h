#pragma once
// Names become socket addresses before any clock starts; the load itself never asks a resolver.
#include <sys/socket.h>

#include <string>
#include <vector>

#include "loadgen/http/url.h"

namespace paretoken::http {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

/// All TCP addresses of the URL's host, in the resolver's order. Throws RuntimeError naming the host.
std::vector<Address> resolve(const Url& url);

/// "127.0.0.1:8000"
std::string text_of(const Address& address);

/// A loopback address: this machine serves.
bool is_loopback(const Address& address);

}  // namespace paretoken::http
