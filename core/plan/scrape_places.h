#pragma once
// The places where a run reads metrics, from the texts of --scrape: "auto" (the server's own /metrics),
// "none", URLs of servers' metrics, and NAME=URL for other exporters. The functions are pure.
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

struct Exporter {
    std::string name;  ///< source of its series in results
    std::string url;

    bool operator==(const Exporter&) const = default;
};

struct ScrapePlaces {
    bool automatic = true;                  ///< whether to read /metrics of the server under load
    std::vector<std::string> servers = {};  ///< URLs of metrics that are read in place of that /metrics
    std::vector<Exporter> exporters = {};

    bool operator==(const ScrapePlaces&) const = default;
};

/// Parses the values of --scrape. Throws UsageError for an unknown text, "auto" together with "none", either
/// of them together with a server's URL, and two exporters of one name or one with a reserved name.
ScrapePlaces parse_scrape_places(const std::vector<std::string>& texts);

/// Returns a text with the secrets of its URL hidden, as by redacted_url() (core/text/secrets.h).
std::string redacted_scrape_place(std::string_view text);

/// Throws UsageError naming a text that is not a regular expression (ECMAScript).
void check_regular_expressions(const std::vector<std::string>& texts);

}  // namespace paretoken
