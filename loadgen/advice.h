#pragma once
// What the refusals of servers and proxies mean, and what to tell the user. Pure functions.
#include <string>
#include <string_view>

#include "core/units.h"
#include "loadgen/http/fetch.h"
#include "loadgen/http/url.h"

namespace paretoken::loadgen {

/// Returns the text of the whole address of a path, without secrets.
std::string address_text(const http::Url& url, std::string_view path);

/// Returns what to do about a redirect for `path`: the URL to give if `location` is that path elsewhere.
std::string redirect_advice(const http::Url& url, std::string_view path, std::string_view location);

/// What a gateway says about the server behind it; both texts are empty if the answer is the server's own.
struct GatewayReport {
    std::string fact;    ///< "HAProxy has no server behind it that takes the request"
    std::string remedy;  ///< half a sentence

    bool operator==(const GatewayReport&) const = default;
};

/// Reads an answer's status, its Server header and its whole body. The words of a server that is busy or
/// loads its model, which a proxy only passed on, are no report.
GatewayReport gateway_report(int status, std::string_view server, std::string_view body);

/// Returns the address that was asked for `path`, and how to give another one. `said`: the words of a 404.
std::string not_found_note(const http::Url& url, std::string_view path, std::string_view said);

/// Returns what to do about a failure of TLS: half a sentence. `why` is the text of the failure.
std::string_view tls_advice(std::string_view why);

/// Returns that a request was cut off after a time, why, and `remark`.
std::string cut_off_note(std::string_view what, Duration took, const http::Fetched& answer,
                         std::string_view remark);

/// What a server that is to be asked again lacks.
enum class Shortage : std::uint8_t { capacity, rate, quota };

/// Returns why an answer with the status 429, 503 or 529 refuses a request. Waiting does not help a quota
/// that is used up; it does if the answer says when to ask again.
Shortage shortage_of(const http::Fetched& answer);

/// Returns whether a refusal says that answers must be allowed more tokens. It may have another name for the
/// limit than the request, because gateways translate requests into those of another protocol.
bool wants_more_tokens(std::string_view said);

}  // namespace paretoken::loadgen
