#pragma once
// The metrics of inference servers, under one name for each quantity of all engines, and the figures that
// follow from a run's scrapes. The functions are pure. A quantity that a server does not have is absent.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/server_scrape.h"
#include "core/units.h"

namespace paretoken {

struct Series;
struct ServerFigures;

/// A share is a gauge from 0 to 1: engines are averaged, while other gauges are summed.
enum class MetricKind : std::uint8_t { gauge, share, counter, histogram };

/// A quantity and its names in engines and their versions; of one engine's names, the newest is the first.
struct ServerMetric {
    std::string_view key;
    MetricKind kind = MetricKind::gauge;
    std::vector<std::string_view> names;
    std::string_view removed = {};  ///< one of the names that its engine no longer has; empty: none
};
std::span<const ServerMetric> server_metrics();

/// Returns "vllm", "sglang", "trtllm", "tgi", "llamacpp".
std::vector<std::string> engines();

/// Returns the engine whose prefix a metric's name has; empty if it has none.
std::string engine_of_metric(std::string_view name);

/// Returns the names that the newest version of an engine gives to the quantities, by ServerMetric::key; a
/// histogram's name is without "_bucket". The result is empty for an unknown engine.
std::map<std::string, std::string> names_of_engine(std::string_view engine);

/// The largest share that is possible: servers may count a little more than they have.
inline constexpr double kMostShare = 1.1;

/// Adds a scrape to the earlier ones of its place, and its kept series to the series, of which there are at
/// most kMostKeptSeries. It becomes one of the scrapes if it has known quantities.
void add_scrape(ServerScrapes& scrapes, ServerScrape scrape);

/// Returns the scrapes of at least one server as if they were one with several engines, at the times of the
/// first that has any; the others contribute their nearest ones. Shares are averaged, all else is added.
/// Servers without scrapes contribute failures and kept series.
ServerScrapes combined(std::vector<ServerScrapes> servers);

/// Returns the figures of the time `span`, by key:
///   gauge, share  KEY and KEY_max: mean and maximum; several engines also KEY_imbalance: largest ÷ mean
///   counter       KEY: the growth, which is linear between two scrapes
///   histogram     KEY_mean_s: the mean of the samples that were added
/// Ratios of counters are included. A counter that falls was reset if at least half of them fall with it; an
/// impossible counter or ratio is left out, and all counters and histograms if they were reset more than
/// once. Empty with fewer than two scrapes.
std::map<std::string, double> figures_over(std::span<const ServerScrape> scrapes, TimeSpan span);

/// Returns, for each position in a draft of speculative decoding, the share of the drafts verified in `span`
/// whose token at this position was accepted; empty if unknown.
std::vector<double> accepted_per_position(std::span<const ServerScrape> scrapes, TimeSpan span);

/// Returns all figures of a run's scrapes; nothing when none was tried. `asked` is left empty.
std::optional<ServerFigures> server_figures(const ServerScrapes& scraped, TimeSpan window);

/// Returns gauges over time, in seconds since `zero`, with the source "server".
std::vector<Series> server_series(std::span<const ServerScrape> scrapes, TimePoint zero);

/// Returns the kept series, in seconds since `zero`; their source is the place, or "server".
std::vector<Series> kept_series_of(const ServerScrapes& scraped, TimePoint zero);

}  // namespace paretoken
