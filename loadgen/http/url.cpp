#include "loadgen/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/error.h"
#include "core/text/letter_case.h"
#include "core/text/printable.h"
#include "core/text/secrets.h"

namespace paretoken::http {
namespace {

[[noreturn]] void reject(std::string_view text, std::string_view why) {
    throw UsageError(fmt::format("URL '{}': {}; expected http://HOST[:PORT][/BASE][?QUERY] or https://…",
                                 printable_line(redacted_url(text)), why));
}

/// The text without blanks at its ends, which users paste, too.
std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::uint16_t port_of(std::string_view digits, std::string_view text) {
    unsigned value = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (ec != std::errc{} || end != digits.data() + digits.size() || value == 0 || value > 65535) {
        reject(text, fmt::format("'{}' is not a port (1 to 65535)", digits));
    }
    return static_cast<std::uint16_t>(value);
}

/// Splits "host:port", "[v6]:port" or "host" and returns the port's digits ("" when there is none).
std::string_view take_host(std::string_view authority, std::string_view text, std::string& host) {
    if (authority.starts_with('[')) {
        const auto close = authority.find(']');
        if (close == std::string_view::npos) reject(text, "the bracket of the IPv6 address is not closed");
        host = authority.substr(1, close - 1);
        // RFC 6874 writes the % before a zone as %25.
        if (const auto zone = host.find("%25"); zone != std::string::npos) host.erase(zone + 1, 2);
        constexpr std::string_view kAddress =  // hexadecimal groups, an IPv4 part, and a zone after %
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:.%-_";
        if (host.find_first_not_of(kAddress) != std::string::npos)
            reject(text, fmt::format("'{}' is not an IPv6 address", host));
        authority.remove_prefix(close + 1);
        if (authority.empty()) return {};
        if (authority.front() != ':') reject(text, "only a port may follow the IPv6 address");
        return authority.substr(1);
    }
    const auto colon = authority.find(':');
    if (colon != authority.rfind(':'))
        reject(text, "an IPv6 address needs brackets, as in http://[::1]:8000");
    host = authority.substr(0, colon);
    if (colon == std::string_view::npos) return {};
    if (colon + 1 == authority.size()) reject(text, "the port is empty");
    return authority.substr(colon + 1);
}

/// Returns whether a path ends with a version: "/v4", "/v1beta", "/v1beta2".
bool ends_with_version(std::string_view path) {
    std::string_view name = path.substr(path.rfind('/') + 1);
    if (!path.starts_with('/') || !name.starts_with('v')) return false;
    name.remove_prefix(1);
    constexpr std::string_view kDigits = "0123456789";
    const auto drop_digits = [&] {
        name.remove_prefix(std::min(name.find_first_not_of(kDigits), name.size()));
    };
    if (name.empty() || kDigits.find(name.front()) == std::string_view::npos) return false;
    drop_digits();
    for (const std::string_view stage : {"alpha", "beta"}) {
        if (!name.starts_with(stage)) continue;
        name.remove_prefix(stage.size());
        drop_digits();
    }
    return name.empty();
}

/// Refuses the address of an endpoint that writes no text, which is at the root or behind a version.
void refuse_other_endpoints(std::string_view base, std::string_view text) {
    constexpr std::array<std::string_view, 10> kOthers = {
        "embeddings",  "rerank",         "score",        "pooling", "classify",
        "moderations", "transcriptions", "translations", "speech",  "generations"};
    const std::size_t slash = base.rfind('/');
    if (slash == std::string_view::npos || std::ranges::count(kOthers, base.substr(slash + 1)) == 0) return;
    std::string_view front = base.substr(0, slash);
    for (const std::string_view group : {"/audio", "/images"})
        if (front.ends_with(group)) front.remove_suffix(group.size());
    if (front.empty() || ends_with_version(front))
        reject(text, fmt::format("{} writes no text, and only endpoints that do are measured", base));
}

}  // namespace

std::string Url::authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    const bool usual = port == (tls ? 443 : 80);
    return fmt::format("{}{}{}{}", v6 ? "[" : "", host, v6 ? "]" : "", usual ? "" : fmt::format(":{}", port));
}

std::string Url::text() const {
    const std::string whole = fmt::format("{}://{}{}", tls ? "https" : "http", authority(), base);
    return query.empty() ? whole : redacted_url(fmt::format("{}?{}", whole, query));
}

std::string Url::target(std::string_view path) const {
    if (query.empty()) return fmt::format("{}{}", base, path);
    return fmt::format("{}{}{}{}", base, path, path.find('?') == std::string_view::npos ? '?' : '&', query);
}

bool Url::has_version() const {
    return ends_with_version(base);
}

std::string_view Url::api_path(std::string_view path) const {
    constexpr std::string_view kVersion = "/v1";
    return has_version() && path.starts_with("/v1/") ? path.substr(kVersion.size()) : path;
}

Url parse_url(std::string_view text) {
    Url url;
    text = without_blanks(text);
    std::string_view rest = text;
    const std::size_t colon = std::min(rest.find("://"), rest.find('/'));
    const std::string scheme = lower_case(rest.substr(0, colon));
    if (scheme == "http:" || scheme == "https:") reject(text, "two slashes must follow the scheme");
    if (rest.substr(std::min(colon, rest.size())).starts_with("://")) {
        if (scheme != "http" && scheme != "https")
            reject(text, fmt::format("scheme '{}' is not supported", scheme));
        url.tls = scheme == "https";
        url.port = url.tls ? 443 : 80;
        rest.remove_prefix(scheme.size() + 3);
    }
    if (has_credentials(text)) {
        reject(text,
               "credentials in the URL are not supported; set the API key, or give "
               "-H 'Authorization: Basic …'");
    }
    for (const char c : rest) {
        if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F) {
            reject(text, "it must not contain a space or a control character");
        }
        if (c == '#') reject(text, "a fragment ('#…') is never sent to a server");
    }
    if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
        url.query = rest.substr(mark + 1);
        rest = rest.substr(0, mark);
    }
    const auto slash = rest.find('/');
    const std::string_view port = take_host(rest.substr(0, slash), text, url.host);
    if (url.host.empty()) reject(text, "the host is missing");
    if (!port.empty()) url.port = port_of(port, text);
    if (slash != std::string_view::npos) url.base = rest.substr(slash);
    const auto drop_slashes = [&] {
        while (url.base.ends_with('/')) url.base.pop_back();
    };
    drop_slashes();
    refuse_other_endpoints(url.base, text);
    constexpr std::string_view kModels = "/models";  // of the list of models, which users paste too
    if (url.base.ends_with(kModels) &&
        ends_with_version(url.base.substr(0, url.base.size() - kModels.size())))
        url.base.resize(url.base.size() - kModels.size());
    if (url.base.ends_with("/v1")) {
        const std::string whole = url.base;
        url.base.resize(url.base.size() - 3);
        drop_slashes();
        if (url.has_version()) url.base = whole;
    }
    return url;
}

Url parse_page_url(std::string_view text) {
    Url url = parse_url(text);
    text = without_blanks(text);
    text = text.substr(0, text.find('?'));
    if (const auto scheme = text.find("://"); scheme != std::string_view::npos)
        text.remove_prefix(scheme + 3);
    const std::string_view path = text.substr(std::min(text.find('/'), text.size()));
    url.base = path.find_first_not_of('/') == std::string_view::npos ? "" : path;
    return url;
}

bool only_adds_slash(const Url& url, std::string_view path, std::string_view location) {
    const std::string wanted = fmt::format("{}{}/", url.base, path.substr(0, path.find('?')));
    const std::string_view place = location.substr(0, location.find_first_of("?#"));
    return place == wanted ||
           place == fmt::format("{}://{}{}", url.tls ? "https" : "http", url.authority(), wanted);
}

bool is_loopback(const Url& url) {
    return url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

}  // namespace paretoken::http
