#pragma once
// The places where a run reads metrics, from the texts of --scrape: "auto" (the server's own /metrics),
// "none", URLs at which servers tell of themselves, and NAME=URL for other exporters. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

struct Exporter {
    std::string name;  ///< the source of its series in results
    std::string url;

    bool operator==(const Exporter&) const = default;
};

struct ScrapePlaces {
    bool automatic = true;                  ///< /metrics of the server that the load goes to
    std::vector<std::string> servers = {};  ///< URLs that take the place of it
    std::vector<Exporter> exporters = {};

    bool operator==(const ScrapePlaces&) const = default;
};

/// Throws UsageError that says what is wrong with a text: what is neither, auto or none beside a server's
/// URL, or two exporters of one name.
ScrapePlaces parse_scrape_places(const std::vector<std::string>& texts);

/// One text with the credentials of its URL hidden.
std::string redacted_scrape_place(std::string_view text);

/// Throws UsageError naming a text that is no regular expression (ECMAScript).
void check_regular_expressions(const std::vector<std::string>& texts);

}  // namespace paretoken
