#include "experiments/fleet/rendezvous.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "cards/host.h"
#include "core/error.h"
#include "core/plan/shard.h"
#include "reports/files/file_io.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kPlaceName = "paretoken.rendezvous";

std::optional<std::uint16_t> port_in(std::string_view text) {
    std::uint16_t port = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || stop != text.data() + text.size() || port == 0) return std::nullopt;
    return port;
}

std::optional<std::string> address_text(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    if (address->sa_family == AF_INET6) {
        const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(&six)) return std::nullopt;  // it needs the name of an interface
        bytes = &six;
    }
    if (bytes == nullptr || inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr)
        return std::nullopt;
    return text.data();
}

}  // namespace

std::string text_of(const MeetingPlace& place) {
    return Json{{"hosts", place.hosts}, {"port", place.port}, {"token", place.token}}.dump();
}

MeetingPlace parse_place(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    try {
        if (json.is_object())
            return {.hosts = json.at("hosts").get<std::vector<std::string>>(),
                    .port = json.at("port").get<std::uint16_t>(),
                    .token = json.at("token").get<std::string>()};
    } catch (const Json::exception&) {  // the message below names the text
    }
    throw UsageError(fmt::format("'{}' does not tell where shard 0 listens", text));
}

Rendezvous parse_rendezvous(const std::string& text) {
    if (text == kRendezvousByMpi) return {};
    const auto colon = text.rfind(':');
    if (text.find('/') != std::string::npos || colon == std::string::npos) return {.directory = text};
    const auto port = port_in(std::string_view(text).substr(colon + 1));
    std::string host = text.substr(0, colon);
    if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!port || host.empty())
        throw UsageError(
            fmt::format("--rendezvous {}: expected HOST:PORT of shard 0, or a directory that all see", text));
    return {.host = std::move(host), .port = *port};
}

std::vector<std::string> hosts_of_this_machine() {
    std::vector<std::string> hosts;
    std::vector<std::string> loopback;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) == 0) {
        for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
            if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
            if (auto text = address_text(at->ifa_addr))
                ((at->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : hosts).push_back(std::move(*text));
        }
        freeifaddrs(all);
    }
    hosts.push_back(cards::this_host().name);
    hosts.insert(hosts.end(), loopback.begin(), loopback.end());
    return hosts;
}

PublishedPlace::PublishedPlace(const fs::path& directory, const MeetingPlace& place)
    : path_(directory / kPlaceName) {
    reports::ensure_directory(directory);
    reports::write_file_atomically(path_, text_of(place));
}

PublishedPlace::~PublishedPlace() {
    std::error_code ignored;
    fs::remove(path_, ignored);
}

std::optional<MeetingPlace> published_place(const fs::path& directory) {
    try {
        return parse_place(reports::read_file(directory / kPlaceName));
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

}  // namespace paretoken::experiments
