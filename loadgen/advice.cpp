#include "loadgen/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/text/letter_case.h"

namespace paretoken::loadgen {
namespace {

/// A proxy or gateway, and how its own answers are recognised.
struct Gateway {
    std::string_view name;
    std::string_view server;   ///< in its Server header, in lower case; empty if it has none
    std::string_view words;    ///< in its own pages only; empty if the header tells enough
    std::string_view timeout;  ///< setting of the time that it waits for an answer; empty if it is unknown
    bool whole = false;        ///< whether the words are the whole page
};

constexpr std::array<Gateway, 25> kGateways{{
    {"HAProxy", "", "No server is available to handle this request", "timeout server"},
    {"HAProxy", "", "The server returned an invalid or incomplete response", "timeout server"},
    {"HAProxy", "", "The server didn't respond in time", "timeout server"},
    {"nginx", "nginx", "<center>nginx", "proxy_read_timeout"},
    {"OpenResty", "openresty", "<center>openresty", "proxy_read_timeout"},
    {"Caddy", "caddy", "", "response_header_timeout, read_timeout"},
    {"Envoy", "envoy", "upstream connect error or disconnect/reset", "timeout of the route, 15 s if not set"},
    {"Envoy", "", "upstream request timeout", "timeout of the route, 15 s if not set"},
    {"Envoy or a load balancer built on it", "", "no healthy upstream", ""},
    {"Traefik", "", "no available server", "responseHeaderTimeout"},
    {"Traefik", "", "Bad Gateway", "responseHeaderTimeout", true},
    {"Traefik", "", "Gateway Timeout", "responseHeaderTimeout", true},
    {"ngrok", "", "ERR_NGROK_", ""},
    {"AWS's load balancer", "awselb", "", "idle_timeout.timeout_seconds"},
    {"Cloudflare", "cloudflare", "error code: 52", "100 s"},
    {"Google's load balancer", "", "The server encountered a temporary error and could not complete your",
     "timeout of the backend service"},
    {"Azure's application gateway", "microsoft-azure-application-gateway", "", "request time-out"},
    {"Apache", "apache", "", "ProxyTimeout"},
    {"Varnish", "varnish", "Varnish cache server", "first_byte_timeout"},
    {"Kong", "kong", "failure to get a peer from the ring-balancer", "read_timeout"},
    {"Kong", "", "An invalid response was received from the upstream server", "read_timeout"},
    {"Kong", "", "The upstream server is timing out", "read_timeout"},
    {"LiteLLM", "", "litellm.", "timeout, request_timeout"},
    {"LiteLLM", "", "No deployments available for selected model", ""},
    {"Open WebUI", "", "Open WebUI: ", "AIOHTTP_CLIENT_TIMEOUT"},
}};

bool contains(std::string_view text, std::string_view words) {
    return !words.empty() && text.find(words) != std::string_view::npos;
}

enum class GatewayFault : std::uint8_t { none, absent, no_answer, slow, tls };

/// Returns what a proxy reports with an answer. `is_known`: the answer comes from a known proxy. `own_page`:
/// it is a page of this proxy itself.
GatewayFault fault_of(int status, bool is_known, bool own_page, std::string_view body) {
    // A server says these itself of an image, for example, that it cannot fetch.
    constexpr std::array<std::string_view, 4> kOfAnyFetch = {
        "Connection error",
        "onnection refused",
        "Cannot connect to host",
        "All connection attempts failed",
    };
    constexpr std::array<std::string_view, 12> kAbsent = {
        "No server is available to handle this request",
        "no healthy upstream",
        "no available server",
        "upstream connect error",
        "failure to get a peer",
        "Backend fetch failed",
        "No deployments available",
        "o available workers",
        "o healthy workers",
        "Server Connection Error",
        "APIConnectionError",
        "no instances found",
    };
    const auto is_said = [&](std::string_view words) { return contains(body, words); };
    if (status == 504 || status == 524 || status == 598) return GatewayFault::slow;
    if (status == 525 || status == 526) return GatewayFault::tls;
    if (status == 521 || status == 523 || status == 530) return GatewayFault::absent;
    if (status != 429 && status < 500) return GatewayFault::none;
    if (std::ranges::any_of(kAbsent, is_said)) return GatewayFault::absent;
    if ((is_known || status != 500) && std::ranges::any_of(kOfAnyFetch, is_said)) return GatewayFault::absent;
    if (status == 503) return own_page ? GatewayFault::absent : GatewayFault::none;
    const bool is_failed = status == 502 || status == 520 || status == 522;
    return is_failed ? GatewayFault::no_answer : GatewayFault::none;
}

}  // namespace

std::string address_text(const http::Url& url, std::string_view path) {
    http::Url whole = url;
    whole.base += path.substr(0, path.find('?'));
    return whole.text();
}

std::string redirect_advice(const http::Url& url, std::string_view path, std::string_view location) {
    http::Url origin = url;
    origin.base.clear();
    origin.query.clear();
    const std::string_view place = location.substr(0, location.find_first_of("?#"));
    const std::string_view wanted = path.substr(0, path.find('?'));
    const bool of_models = wanted.ends_with("/models");
    const std::string_view front = place.starts_with("//") ? (url.tls ? "https:" : "http:") : "";
    const std::string whole = fmt::format(
        "{}{}", place.starts_with('/') && front.empty() ? origin.text() : std::string(front), place);
    const bool adds_slash = http::only_adds_slash(url, path, location);
    if (of_models && adds_slash)
        return "the server wants a slash at the end, which its list of models does not need if --model is "
               "given";
    if (adds_slash) return fmt::format("the server wants a slash at the end: give --endpoint {}/", wanted);
    for (const std::string_view end : {wanted, wanted.substr(wanted.starts_with("/v1/") ? 3 : 0)}) {
        if (!whole.ends_with(end)) continue;
        return fmt::format("redirects are not followed, give {} as the URL",
                           whole.substr(0, whole.size() - end.size()));
    }
    return "redirects are not followed; if the API is there, give its address up to the version as the URL";
}

GatewayReport gateway_report(int status, std::string_view server, std::string_view body) {
    constexpr std::string_view kBlanks = " \t\r\n";
    while (!body.empty() && kBlanks.find(body.front()) != std::string_view::npos) body.remove_prefix(1);
    while (!body.empty() && kBlanks.find(body.back()) != std::string_view::npos) body.remove_suffix(1);
    const bool is_json = body.starts_with('{') || body.starts_with('[');
    const std::string small_server = lower_case(server);
    const auto found = std::find_if(kGateways.begin(), kGateways.end(), [&](const Gateway& gateway) {
        // A proxy puts its name on the answers that it passes on, too. Those are mostly JSON.
        const bool is_page = gateway.whole ? body == gateway.words : contains(body, gateway.words);
        return is_page || (!is_json && contains(small_server, gateway.server));
    });
    const bool is_known = found != kGateways.end();
    // Words without any mark-up are those of the server behind a proxy, unless the proxy is known for them.
    const bool is_page = body.empty() || body.front() == '<';
    const bool own_page = is_known && !is_json && (is_page || contains(body, found->words));
    const GatewayFault fault = fault_of(status, is_known, own_page, body);
    if (fault == GatewayFault::none) return {};
    const std::string name = is_known ? std::string(found->name) : "a proxy before the server";
    const std::string setting =
        fmt::format(" ({})", is_known && !found->timeout.empty() ? found->timeout : "its read timeout");
    constexpr std::string_view kOr = ", or give the server's own address";
    switch (fault) {
        case GatewayFault::absent:
            return {
                .fact = name + " has no server behind it that takes the request",
                .remedy = fmt::format("start the server, or check the address and the health check that the "
                                      "proxy has for it{}",
                                      kOr)};
        case GatewayFault::no_answer:
            return {.fact = name + " got no answer from the server behind it",
                    .remedy = fmt::format("check that the server runs at the address that the proxy has, and "
                                          "that the proxy waits long enough for an answer{}{}",
                                          setting, kOr)};
        case GatewayFault::slow:
            return {.fact = name + " did not wait long enough for the server's answer",
                    .remedy = fmt::format("raise the proxy's limit on this time{}{}", setting, kOr)};
        case GatewayFault::tls:
            return {
                .fact = name + " cannot agree on TLS with the server behind it",
                .remedy = fmt::format("check the server's certificate and the proxy's mode of TLS{}", kOr)};
        case GatewayFault::none:
            break;
    }
    return {};
}

std::string not_found_note(const http::Url& url, std::string_view path, std::string_view said) {
    const std::string asked = address_text(url, path);
    if (said.find("model") != std::string_view::npos)
        return fmt::format(
            "; the address was {}, and --model names the model unless the dataset's request has its own",
            asked);
    return fmt::format(
        "; the address was {}: if it is wrong, give the path after {} with --endpoint, or the whole "
        "address as the URL",
        asked, url.text());
}

std::string_view tls_advice(std::string_view why) {
    if (contains(why, "client certificate")) return "put a proxy that has the certificate before it";
    if (contains(why, "expired"))
        return "renew it, or set this machine's clock if that is wrong, or give --insecure to accept any "
               "certificate";
    if (contains(why, "not yet valid"))
        return "set this machine's clock or the server's, whichever is wrong, or give --insecure to accept "
               "any certificate";
    if (contains(why, "hostname mismatch") || contains(why, "IP address mismatch"))
        return "use a name or an address in the URL that the certificate has, or give --insecure to accept "
               "any certificate";
    if (contains(why, "certificate"))
        return "give the certificate of its authority (or its own, if it is self-signed) with --ca-file, or "
               "--insecure to accept any certificate";
    return "check the URL's scheme, give --ca-file, or --insecure to accept any certificate";
}

std::string cut_off_note(std::string_view what, Duration took, const http::Fetched& answer,
                         std::string_view remark) {
    return fmt::format(
        "{} was cut off after {:.1f} s, {} ({}){}; a proxy before the server may have too short a read "
        "timeout (nginx: proxy_read_timeout, HAProxy: timeout server), or the server ended",
        what, seconds(took), answer.body.empty() ? "before any output" : "in the middle of its answer",
        answer.failure ? answer.failure->why : "", remark);
}

Shortage shortage_of(const http::Fetched& answer) {
    if (answer.head.status != 429) return Shortage::capacity;
    const std::string said = lower_case(answer.body);
    const auto is_said = [&](std::string_view words) { return contains(said, words); };
    // Messages about a limit on the rate often name the page about billing, which raises it.
    constexpr std::array<std::string_view, 4> kOfRates = {"rate limit", "rate-limit", "rate_limit",
                                                          "too many requests"};
    constexpr std::array<std::string_view, 2> kWhen = {"try again in", "retry in"};
    constexpr std::array<std::string_view, 2> kOfMoney = {"billing", "credit"};
    if (is_said("insufficient_quota")) return Shortage::quota;
    if (!answer.head.retry_after.empty() || std::ranges::any_of(kOfRates, is_said)) return Shortage::rate;
    const bool is_temporary = std::ranges::any_of(kWhen, is_said);
    return std::ranges::any_of(kOfMoney, is_said) && !is_temporary ? Shortage::quota : Shortage::capacity;
}

bool wants_more_tokens(std::string_view said) {
    constexpr std::array<std::string_view, 3> kLimits = {"max_tokens", "max_completion_tokens",
                                                         "max_output_tokens"};
    constexpr std::array<std::string_view, 5> kWords = {"minimum", ">=", "at least", "greater than",
                                                        "too small"};
    const auto is_said = [&](std::string_view word) { return said.find(word) != std::string_view::npos; };
    return std::ranges::any_of(kLimits, is_said) && std::ranges::any_of(kWords, is_said);
}

}  // namespace paretoken::loadgen
