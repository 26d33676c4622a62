#include "loadgen/scrape/scraper.h"

#include <fmt/format.h>

#include <utility>

#include "loadgen/http/fetch.h"

namespace paretoken::scrape {

Scraper::Scraper(const ScraperOptions& options, OnScrape on_scrape)
    : options_(options), on_scrape_(std::move(on_scrape)) {
    scrape();
    periodic_.emplace(options_.interval, [this] { scrape(); });
}

Scraper::~Scraper() {
    stop_.request_stop();
}

ServerScrapes Scraper::finish() {
    periodic_.reset();
    scrape();
    return std::move(result_);
}

void Scraper::scrape() {
    if (stop_.stop_requested()) return;
    // A connection of its own each time: one that a server keeps open may be stale by the next.
    http::Fetcher fetcher(options_.url, options_.address, options_.tls, {}, stop_.get_token());
    const TimePoint asked = Clock::now();
    const http::Fetched fetched = fetcher.get("", options_.timeout);
    const TimePoint at = asked + (Clock::now() - asked) / 2;
    if (!fetched.ok()) {
        ++result_.failed;
        result_.last_failure =
            fetched.failure ? fetched.failure->why : fmt::format("HTTP {}", fetched.head.status);
        return;
    }
    ServerScrape scrape = server_scrape_of(parse_prometheus(fetched.body), at);
    if (scrape.sources.empty()) {
        ++result_.failed;
        result_.last_failure = "no known metric among what it gave";
        return;
    }
    if (on_scrape_) on_scrape_(scrape);
    if (!result_.scrapes.empty())
        scrape.sources.clear();  // the first one's are read, and a run may take days
    result_.scrapes.push_back(std::move(scrape));
}

}  // namespace paretoken::scrape
