#pragma once
// What inference servers say of themselves on /metrics, under one name for each quantity whatever the engine
// calls it, and what a run's scrapes come to. Pure. A quantity that a server does not tell is absent.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"
#include "core/units.h"
#include "loadgen/scrape/prometheus.h"

namespace paretoken::scrape {

enum class MetricKind : std::uint8_t { gauge, counter, histogram };

/// A quantity and the names that engines and their versions give it. The names of different engines never
/// collide, since each has a prefix of its own.
struct ServerMetric {
    std::string_view key;
    MetricKind kind = MetricKind::gauge;
    std::vector<std::string_view> names;
};
std::span<const ServerMetric> server_metrics();

/// "vllm", "sglang", "trtllm", "tgi", "llamacpp".
std::vector<std::string> engines();

/// What the newest version of an engine calls each quantity that it tells; a histogram's name is without
/// "_bucket".
std::map<std::string, std::string> names_of_engine(std::string_view engine);

/// The known quantities of one scrape, summed over engines and models.
struct ServerScrape {
    TimePoint at;
    std::string engine;  ///< "vllm", "sglang", "trtllm", "tgi", "llamacpp"; empty: none of these
    std::map<std::string, std::string> sources;  ///< quantity → name that the server gives it
    std::map<std::string, double> values;        ///< of gauges and counters
    struct Sums {
        double sum = 0;
        double count = 0;

        bool operator==(const Sums&) const = default;
    };
    std::map<std::string, Sums> histograms;

    bool operator==(const ServerScrape&) const = default;
};

/// What was scraped while a load was made.
struct ServerScrapes {
    /// With known quantities, ascending in time; only the first one keeps its sources.
    std::vector<ServerScrape> scrapes;
    std::uint64_t failed = 0;  ///< scrapes that could not be read or held nothing known
    std::string last_failure;  ///< one line
};

ServerScrape server_scrape_of(const Scrape& scrape, TimePoint at);

/// Gauges as means over the stretch (and maxima), counters as differences, histograms as means of what was
/// added; between two scrapes counters grow linearly. A counter that falls was reset and counts from 0. Empty
/// for fewer than two scrapes.
std::map<std::string, double> figures_over(std::span<const ServerScrape> scrapes, TimeSpan span);

/// Everything that the scrapes of a run come to; nothing when none was tried. `asked` is left empty.
std::optional<ServerFigures> server_figures(const ServerScrapes& scraped, TimeSpan window);

/// Gauges over time, in seconds since `zero`, with the source "server".
std::vector<Series> server_series(std::span<const ServerScrape> scrapes, TimePoint zero);

}  // namespace paretoken::scrape
