#include "core/plan/scrape_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/error.h"
#include "core/spec.h"
#include "core/text/secrets.h"

namespace paretoken {
namespace {

bool is_url(std::string_view text) {
    return text.starts_with("http://") || text.starts_with("https://");
}

/// Returns whether a name is that of a source of a run's own series.
bool is_taken(std::string_view name) {
    constexpr std::string_view kOwn[] = {"requests", "server", "nvml", "rapl", "dcgm"};
    return std::ranges::find(kOwn, name) != std::end(kOwn);
}

Exporter exporter_of(const std::string& text) {
    const auto equals = text.find('=');
    Exporter exporter{.name = text.substr(0, equals),
                      .url = equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (!is_plain_name(exporter.name) || !is_url(exporter.url))
        throw UsageError(
            fmt::format("'{}': expected auto, none, a URL like http://host:9090/metrics, or NAME=URL for "
                        "another exporter",
                        redacted_scrape_place(text)));
    if (is_taken(exporter.name))
        throw UsageError(fmt::format("'{}': {} is the source of other series; give another name",
                                     redacted_scrape_place(text), exporter.name));
    return exporter;
}

}  // namespace

ScrapePlaces parse_scrape_places(const std::vector<std::string>& texts) {
    ScrapePlaces places;
    std::string word;
    for (const std::string& text : texts) {
        if (text == "auto" || text == "none") {
            if (!word.empty() && word != text) throw UsageError("auto and none exclude each other");
            word = text;
            continue;
        }
        if (is_url(text)) {
            places.servers.push_back(text);
            continue;
        }
        Exporter exporter = exporter_of(text);
        for (const Exporter& other : places.exporters)
            if (other.name == exporter.name)
                throw UsageError(fmt::format("there are two exporters '{}'", exporter.name));
        places.exporters.push_back(std::move(exporter));
    }
    if (!word.empty() && !places.servers.empty())
        throw UsageError(
            fmt::format("'{}': a URL takes the place of the server's own metrics; leave one out", word));
    places.automatic = word != "none" && places.servers.empty();
    return places;
}

std::string redacted_scrape_place(std::string_view text) {
    if (is_url(text)) return redacted_url(text);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return std::string(text);
    return fmt::format("{}={}", text.substr(0, equals), redacted_url(text.substr(equals + 1)));
}

void check_regular_expressions(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        try {
            (void)std::regex(text);
        } catch (const std::regex_error& error) {
            throw UsageError(fmt::format("'{}': not a regular expression ({})", text, error.what()));
        }
    }
}

}  // namespace paretoken
