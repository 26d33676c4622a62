#pragma once
// What inference servers say of themselves on /metrics, under one name for each quantity whatever the engine
// calls it, and what a run's scrapes come to. Pure. A quantity that a server does not tell is absent.
#include <functional>
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

/// A share is a gauge between 0 and 1, of which several engines have a mean and not a sum.
enum class MetricKind : std::uint8_t { gauge, share, counter, histogram };

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

/// The known quantities of one scrape, over all engines and models: shares as means, all others as sums.
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
    /// Gauges and shares where there are several engines: quantity → engine → value.
    std::map<std::string, std::map<std::string, double>> by_engine = {};
    std::vector<double> accepted_by_position = {};   ///< drafted tokens, the first of a pass first
    std::map<std::string, std::string> config = {};  ///< settings: "cache_config.block_size" → "16"
    std::map<std::string, double> kept = {};         ///< of kept_series()
    std::string place = {};  ///< name of the place where this was read; empty: the server

    bool operator==(const ServerScrape&) const = default;
};

/// A series that was kept because of its name.
struct KeptSeries {
    std::vector<TimePoint> at = {};
    std::vector<double> values = {};

    bool operator==(const KeptSeries&) const = default;
};

/// What was scraped while a load was made.
struct ServerScrapes {
    /// With known quantities, ascending in time; only the first one keeps its sources and settings.
    std::vector<ServerScrape> scrapes;
    std::uint64_t failed = 0;  ///< scrapes that could not be read or held nothing known
    std::string last_failure;  ///< one line
    std::string name = {};     ///< of the place: the source of the series below
    std::map<std::string, KeptSeries> kept = {};
};

ServerScrape server_scrape_of(const Scrape& scrape, TimePoint at);

/// Finite samples whose names are wanted, by name and labels: node_cpu_seconds_total{cpu="0"} → value.
std::map<std::string, double> kept_series(const Scrape& scrape,
                                          const std::function<bool(std::string_view name)>& wants);

/// Several servers as the engines of one, at the times of the first one's scrapes: of each other the scrape
/// that is nearest in time. At least one.
ServerScrapes combined(std::vector<ServerScrapes> servers);

/// Gauges as means over the stretch (and maxima; of several engines also the largest engine's mean ÷ the mean
/// of all, as "KEY_imbalance"), counters as differences, histograms as means of what was
/// added; between two scrapes counters grow linearly. A counter that falls was reset and counts from 0. Empty
/// for fewer than two scrapes.
std::map<std::string, double> figures_over(std::span<const ServerScrape> scrapes, TimeSpan span);

/// Share of the passes in the stretch whose i-th drafted token was accepted; empty where it is not told.
std::vector<double> accepted_per_position(std::span<const ServerScrape> scrapes, TimeSpan span);

/// Everything that the scrapes of a run come to; nothing when none was tried. `asked` is left empty.
std::optional<ServerFigures> server_figures(const ServerScrapes& scraped, TimeSpan window);

/// Gauges over time, in seconds since `zero`, with the source "server".
std::vector<Series> server_series(std::span<const ServerScrape> scrapes, TimePoint zero);

/// The series that were kept, in seconds since `zero`; the source is the name of the place, "server" where it
/// has none.
std::vector<Series> kept_series_of(const ServerScrapes& scraped, TimePoint zero);

}  // namespace paretoken::scrape
