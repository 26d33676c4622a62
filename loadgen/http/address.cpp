#include "loadgen/http/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "core/error.h"

namespace paretoken::http {

std::vector<Address> resolve(const Url& url) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int failed = getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &list);
    if (failed != 0) {
        throw RuntimeError(
            fmt::format("cannot resolve host '{}' of {}: {}; check the host name, or give an IP address",
                        url.host, url.text(), gai_strerror(failed)));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    std::vector<Address> addresses;
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
        Address address;
        std::memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
        address.length = a->ai_addrlen;
        addresses.push_back(address);
    }
    return addresses;
}

std::string text_of(const Address& address) {
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    const auto* generic = reinterpret_cast<const sockaddr*>(&address.storage);
    if (getnameinfo(generic, address.length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return "?";
    }
    return address.storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                                 : fmt::format("{}:{}", host, port);
}

bool is_loopback(const Address& address) {
    if (address.storage.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
        return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

}  // namespace paretoken::http
