#pragma once
// The address of requests: http or https, a host, a port, a base path and a query; nothing else.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken::http {

struct Url {
    bool tls = false;
    std::string host;  ///< name or address; IPv6 without brackets
    std::uint16_t port = 80;
    std::string base = {};  ///< prefix of every path, "" or "/api/openai"; only a page's may end with a slash
    std::string query = {};  ///< query of every request: "" or "api-version=2024-02-01"

    bool operator==(const Url&) const = default;

    std::string authority() const;  ///< value of the Host header
    /// Returns the target of a request: the base, `path` and the query. A path may have a query of its own.
    std::string target(std::string_view path) const;
    std::string text() const;  ///< text to show, without query values that may be secret
    /// Returns whether the base ends with the version of the API, such as "/v4" or "/v1beta".
    bool has_version() const;
    /// Returns a path of the API below the base: "/models" for "/v1/models" if the base has a version.
    std::string_view api_path(std::string_view path) const;
};

/// Reads "http://127.0.0.1:8000", "https://api.example.com/openai?api-version=2024-02-01", "127.0.0.1:8000"
/// (http). A final /v1 of the base is removed, because the paths of requests begin with it, unless another
/// version comes before it. An endpoint that writes no text, such as /v1/embeddings, is refused. Throws
/// UsageError naming the mistake in the text, without the secrets in it.
Url parse_url(std::string_view text);

/// Reads the URL of a single page, whose path is kept whole, also with a slash or a version at its end.
Url parse_page_url(std::string_view text);

/// Returns whether a redirect from `path` below a URL leads to the same address with a slash at its end.
bool only_adds_slash(const Url& url, std::string_view path, std::string_view location);

/// Returns whether the host is an address of the loopback or its name, so that nobody else can have its port.
bool is_loopback(const Url& url);

}  // namespace paretoken::http
