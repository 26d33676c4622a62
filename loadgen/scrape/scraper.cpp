#include "loadgen/scrape/scraper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/run/server_figures.h"
#include "core/text/printable.h"

namespace paretoken::scrape {

/// Decides which names are kept. A place has the same names each time, so each name is matched once.
class Scraper::Keep {
  public:
    explicit Keep(const std::vector<std::string>& patterns) {
        for (const std::string& pattern : patterns) patterns_.emplace_back(pattern);
    }
    bool wants(std::string_view name) {
        constexpr std::size_t kLongestName = 256;  // std::regex needs a stack frame for each character
        constexpr std::size_t kMostNames = 100'000;
        if (patterns_.empty() || name.size() > kLongestName) return false;
        if (known_.size() > kMostNames) known_.clear();
        const auto [found, is_new] = known_.emplace(name, false);
        if (is_new)
            found->second = std::ranges::any_of(patterns_, [&](const std::regex& pattern) {
                return std::regex_match(name.begin(), name.end(), pattern);
            });
        return found->second;
    }

  private:
    std::vector<std::regex> patterns_;
    std::unordered_map<std::string, bool> known_;
};

Scraper::Scraper(const ScraperOptions& options, OnScrape on_scrape)
    : options_(options),
      page_(options.place),
      on_scrape_(std::move(on_scrape)),
      keep_(std::make_unique<Keep>(options.keep)) {
    result_.name = options.name;
    scrape();
    is_first_ = false;
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

void Scraper::fail(std::string why) {
    ++result_.failed;
    note(std::move(why));
}

void Scraper::note(std::string why) {
    if (is_first_) first_complaint_ = why;
    result_.last_failure = std::move(why);
}

void Scraper::scrape() {
    if (stop_.stop_requested()) return;
    const TimePoint asked = Clock::now();
    const http::Fetched fetched = page_.read(options_.timeout, stop_.get_token());
    const TimePoint at = asked + (Clock::now() - asked) / 2;
    if (std::string why = page_.why_unread(fetched); !why.empty()) return fail(std::move(why));
    const Scrape text = parse_prometheus(fetched.body);
    const bool is_server = options_.name.empty();
    ServerScrape scrape;
    if (is_server) scrape = server_scrape_of(text, at, options_.model);
    scrape.at = at;
    scrape.place = options_.name;
    scrape.server = options_.server;
    scrape.kept = kept_series(text, [this](std::string_view name) { return keep_->wants(name); });
    std::string left_out;
    if (!scrape.left_out.empty())
        left_out = fmt::format("left out of the server's metrics: {}",
                               printable_line(fmt::format("{}", fmt::join(scrape.left_out, ", "))));
    scrape.left_out.clear();
    const bool is_empty = scrape.sources.empty() && scrape.kept.empty();
    if (is_empty && !left_out.empty()) return fail(std::move(left_out));
    if (!left_out.empty()) note(std::move(left_out));
    if (is_empty)
        return fail(is_server
                        ? fmt::format("no known metric among the {} that it gave; vLLM gives them unless "
                                      "started with --disable-log-stats, SGLang with --enable-metrics, "
                                      "llama-server with --metrics",
                                      text.samples.size())
                        : fmt::format("none of the {} series that it gave matches --scrape-keep",
                                      text.samples.size()));
    if (is_first_) began_well_ = true;
    if (is_first_ && scrape.kept.size() > kMostKeptSeries)
        first_complaint_ = fmt::format("{} series match --scrape-keep; the first {} are kept",
                                       scrape.kept.size(), kMostKeptSeries);
    if (on_scrape_) on_scrape_(scrape);
    add_scrape(result_, std::move(scrape));
}

}  // namespace paretoken::scrape
