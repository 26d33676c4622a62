#pragma once
// Reads a server's /metrics once per interval on a thread of its own, so that no load thread ever waits for
// it. One scrape is made before the load begins and one after it has ended. A server that does not answer,
// answers nonsense or hangs costs nothing but its scrapes.
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "loadgen/http/address.h"
#include "loadgen/http/message.h"
#include "loadgen/http/tls.h"
#include "loadgen/http/url.h"
#include "loadgen/periodic.h"
#include "loadgen/scrape/server_metrics.h"

namespace paretoken::scrape {

struct ScraperOptions {
    http::Url url;  ///< its base is the path of the metrics
    http::Address address;
    const http::TlsContext* tls = nullptr;  ///< null: plain; outlives the scraper
    Duration interval = std::chrono::seconds(1);
    Duration timeout = std::chrono::seconds(5);  ///< of one scrape
};

class Scraper {
  public:
    using OnScrape = std::function<void(const ServerScrape&)>;

    /// Makes the first scrape before it returns. `on_scrape`, which may be empty, is called for each that
    /// could be read: first from here, later from the scraper's thread.
    Scraper(const ScraperOptions& options, OnScrape on_scrape);
    ~Scraper();
    Scraper(const Scraper&) = delete;
    Scraper& operator=(const Scraper&) = delete;

    /// Makes the last scrape and ends the thread. Call it once.
    ServerScrapes finish();

  private:
    void scrape();

    ScraperOptions options_;
    OnScrape on_scrape_;
    ServerScrapes result_;  ///< the thread's own until it was joined
    std::stop_source stop_;
    std::optional<loadgen::Periodic> periodic_;  ///< last, so that it ends before what it uses
};

}  // namespace paretoken::scrape
