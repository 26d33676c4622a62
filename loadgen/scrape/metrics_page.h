#pragma once
// Reads the text of a page of metrics over HTTP.
#include <stop_token>
#include <string>

#include "core/units.h"
#include "loadgen/http/address.h"
#include "loadgen/http/fetch.h"
#include "loadgen/http/message.h"
#include "loadgen/http/tls.h"
#include "loadgen/http/url.h"

namespace paretoken::scrape {

struct MetricsPlace {
    http::Url url;  ///< URL of the metrics with its whole path
    http::Address address;
    const http::TlsContext* tls = nullptr;  ///< null means plain TCP; must outlive what reads there
    /// Headers that the URL's own server accepts. They are sent only once it has refused a reading without.
    http::Headers credentials = {};
};

/// Returns the headers among those of requests to an endpoint that also authorise readings of `page`: none if
/// it has another scheme, host or port.
http::Headers credentials_for(const http::Url& page, const http::Url& endpoint, const http::Headers& headers);

class MetricsPage {
  public:
    explicit MetricsPage(MetricsPlace place);

    /// Returns what the URL answers to a request on a new connection. A connection that cannot even begin is
    /// a failure of the fetch. No redirect is followed, except the first one that only adds a slash.
    http::Fetched read(Duration timeout, const std::stop_token& stop = {});

    /// Returns why an answer of read() has no metrics; empty if it may have some.
    std::string why_unread(const http::Fetched& answer) const;

  private:
    http::Fetched ask(Duration timeout, const std::stop_token& stop) const;

    MetricsPlace place_;
    bool has_added_slash_ = false;
    bool sends_credentials_ = false;
};

}  // namespace paretoken::scrape
