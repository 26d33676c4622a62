// The URL of a target: an accepted URL names one place, can be written and read again, and adds no
// line to a request.
#include "loadgen/http/url.h"

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

bool on_one_line(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

}  // namespace

void fuzz(Input input) {
    http::Url url;
    if (refuses([&] { url = http::parse_url(input.rest()); })) return;
    require(!url.host.empty() && url.port != 0, "an accepted URL has a host and a port");
    require(on_one_line(url.authority()), "the Host header is one word");
    require(on_one_line(url.target("/v1/models")), "the request's target is one word");
    require(!url.base.ends_with('/'), "a base has no slash at its end");
    const std::string again = (url.tls ? "https://" : "http://") + url.authority() + url.base +
                              (url.has_version() ? "" : "/v1") + (url.query.empty() ? "" : "?" + url.query);
    require(http::parse_url(again) == url, "a URL written down is read back as it was");
    (void)url.text();
}

}  // namespace paretoken::fuzz
