#pragma once
// Reads the /metrics of a server or exporter once per interval on a thread of its own, and once before and
// after the load. If a server hangs or answers wrongly, only its scrapes are lost.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/record/server_scrape.h"
#include "loadgen/periodic.h"
#include "loadgen/scrape/known_metrics.h"
#include "loadgen/scrape/metrics_page.h"

namespace paretoken::scrape {

struct ScraperOptions {
    std::string name = {};     ///< name of an exporter; empty for a server, whose known quantities are read
    std::uint32_t server = 0;  ///< ServerScrape::server
    std::string model = {};    ///< the only model of the load, if it is known: others are left out
    std::vector<std::string> keep = {};  ///< regular expressions for whole names of series to keep
    MetricsPlace place = {};
    Duration interval = std::chrono::seconds(1);
    Duration timeout = std::chrono::seconds(5);  ///< longest time of one scrape
};

class Scraper {
  public:
    using OnScrape = std::function<void(const ServerScrape&)>;

    /// Makes the first scrape. `on_scrape`, which may be empty, is called for each with a known quantity or a
    /// series to keep: the first by the constructor, the last by finish(), the others on the scraper's
    /// thread. Throws std::regex_error for an invalid pattern of `keep`.
    Scraper(const ScraperOptions& options, OnScrape on_scrape);
    ~Scraper();
    Scraper(const Scraper&) = delete;
    Scraper& operator=(const Scraper&) = delete;

    /// Returns why the first scrape failed or lacks wanted series or values; empty if it is complete.
    const std::string& first_complaint() const { return first_complaint_; }

    /// Returns whether the first scrape had something to read.
    bool began_well() const { return began_well_; }

    /// Ends the thread and makes the last scrape. Call it at most once.
    ServerScrapes finish();

  private:
    class Keep;

    void scrape();
    void fail(std::string why);
    void note(std::string why);

    ScraperOptions options_;
    MetricsPage page_;
    OnScrape on_scrape_;
    std::unique_ptr<Keep> keep_;
    std::string first_complaint_;  ///< constant after the first scrape
    bool began_well_ = false;      ///< likewise
    ServerScrapes result_;         ///< used by the thread only, until it is joined
    std::stop_source stop_;
    bool is_first_ = true;  ///< whether it is the scrape before the load; not written once the thread runs
    std::optional<loadgen::Periodic> periodic_;  ///< last, so that it ends before the members it uses
};

}  // namespace paretoken::scrape
