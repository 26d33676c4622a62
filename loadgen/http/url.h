#pragma once
// The address that requests are sent to: http or https, a host, a port and a base path. Nothing else of RFC
// 3986 is accepted.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken::http {

struct Url {
    bool tls = false;
    std::string host;  ///< IPv6 without brackets
    std::uint16_t port = 80;
    std::string base;        ///< "" or "/api/openai": prefix of every path, without a slash at its end
    std::string query = {};  ///< "" or "api-version=2024-02-01": goes with every request

    bool operator==(const Url&) const = default;

    std::string authority() const;  ///< for the Host header
    /// The target of a request: the base, `path` and the query. A path may bring a query of its own.
    std::string target(std::string_view path) const;
    std::string text() const;  ///< to show: without the values of the query that may be secret
};

/// "http://127.0.0.1:8000", "https://api.example.com/openai?api-version=2024-02-01", "127.0.0.1:8000" (http).
/// A base that ends in /v1 loses it: endpoints bring their own. Throws UsageError saying what is wrong with
/// the text, without the secrets in it.
Url parse_url(std::string_view text);

}  // namespace paretoken::http
