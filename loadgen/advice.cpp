#include "loadgen/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace paretoken::loadgen {

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
    const std::string whole = fmt::format("{}{}", place.starts_with('/') ? origin.text() : "", place);
    if (of_models && whole == fmt::format("{}{}{}/", origin.text(), url.base, wanted))
        return "the server wants a slash at the end, which its list of models does not need if --model is "
               "given";
    if (whole == fmt::format("{}{}{}/", origin.text(), url.base, wanted))
        return fmt::format("the server wants a slash at the end: give --endpoint {}/", wanted);
    for (const std::string_view end : {wanted, wanted.substr(wanted.starts_with("/v1/") ? 3 : 0)}) {
        if (!whole.ends_with(end)) continue;
        return fmt::format("redirects are not followed, give {} as the URL",
                           whole.substr(0, whole.size() - end.size()));
    }
    return "redirects are not followed; if the API is there, give its address up to the version as the URL";
}

std::string gateway_note(int status) {
    if (status == 504)
        return "; a proxy before the server did not wait long enough for its answer: raise the proxy's read "
               "timeout (nginx: proxy_read_timeout), or give the server's own address";
    if (status == 502)
        return "; a proxy before the server got no answer from it: check that the server runs, and that the "
               "proxy's read timeout (nginx: proxy_read_timeout) is long enough, or give the server's own "
               "address";
    return {};
}

bool wants_more_tokens(std::string_view said, std::string_view limit_name) {
    constexpr std::array<std::string_view, 5> kWords = {"minimum", ">=", "at least", "greater than",
                                                        "too small"};
    const auto is_said = [&](std::string_view word) { return said.find(word) != std::string_view::npos; };
    return is_said(limit_name) && std::any_of(kWords.begin(), kWords.end(), is_said);
}

}  // namespace paretoken::loadgen
