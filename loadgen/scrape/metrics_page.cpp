#include "loadgen/scrape/metrics_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/secrets.h"

namespace paretoken::scrape {
namespace {

bool is_refusal(const http::Fetched& answer) {
    return !answer.failure && (answer.head.status == 401 || answer.head.status == 403);
}

}  // namespace

http::Headers credentials_for(const http::Url& page, const http::Url& endpoint,
                              const http::Headers& headers) {
    constexpr std::array<std::string_view, 3> kNames = {"authorization", "x-api-key", "api-key"};
    http::Headers credentials;
    if (page.tls != endpoint.tls || page.host != endpoint.host || page.port != endpoint.port)
        return credentials;
    for (const auto& header : headers)
        if (std::ranges::any_of(kNames,
                                [&](std::string_view name) { return http::same_name(header.first, name); }))
            credentials.push_back(header);
    return credentials;
}

MetricsPage::MetricsPage(MetricsPlace place) : place_(std::move(place)) {}

http::Fetched MetricsPage::ask(Duration timeout, const std::stop_token& stop) const {
    try {
        // Each reading has a new connection, because one that stays open may be stale by the next reading.
        http::Fetcher fetcher(place_.url, place_.address, place_.tls,
                              sends_credentials_ ? place_.credentials : http::Headers(), stop);
        return fetcher.get("", timeout);
    } catch (const RuntimeError& error) {  // no descriptors left, for example
        http::Fetched nothing;
        nothing.failure = {http::FetchFailure::Kind::connect_failed, error.what()};
        return nothing;
    }
}

http::Fetched MetricsPage::read(Duration timeout, const std::stop_token& stop) {
    http::Fetched answer = ask(timeout, stop);
    const bool is_redirect = !answer.failure && answer.head.status / 100 == 3;
    if (!has_added_slash_ && is_redirect && http::only_adds_slash(place_.url, "", answer.head.location)) {
        has_added_slash_ = true;
        place_.url.base += '/';
        answer = ask(timeout, stop);
    }
    if (!sends_credentials_ && !place_.credentials.empty() && is_refusal(answer)) {
        sends_credentials_ = true;
        answer = ask(timeout, stop);
    }
    return answer;
}

std::string MetricsPage::why_unread(const http::Fetched& answer) const {
    constexpr std::size_t kShown = 200;
    if (answer.failure) return answer.failure->why;
    if (answer.ok()) return http::compression_note(answer.head);
    std::string why = fmt::format("HTTP {}", answer.head.status);
    if (!answer.head.location.empty())
        why += fmt::format(" (Location: {}; redirects are not followed)",
                           printable_line(redacted_url(answer.head.location), kShown));
    if (is_refusal(answer))
        why += place_.credentials.empty()
                   ? " (it was asked without a key, which is sent only to the scheme, host and port of the "
                     "server's URL)"
                   : " (also with the key of the endpoint)";
    return why;
}

}  // namespace paretoken::scrape
