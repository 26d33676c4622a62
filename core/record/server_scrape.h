#pragma once
// What was read of a server's metrics during a load, before any figure is computed of it.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// The known quantities of one scrape, over all engines and models: shares as means, all others as sums.
struct ServerScrape {
    TimePoint at;
    std::string engine;  ///< "vllm", "sglang", "trtllm", "tgi", "llamacpp"; empty means none of these
    std::map<std::string, std::string> sources = {};  ///< quantity → its name on the server
    std::map<std::string, double> values = {};        ///< values of gauges and counters
    struct Sums {
        double sum = 0;
        double count = 0;

        bool operator==(const Sums&) const = default;
    };
    std::map<std::string, Sums> histograms = {};
    /// Gauges and shares if there are several engines: quantity → engine → value.
    std::map<std::string, std::map<std::string, double>> by_engine = {};
    std::vector<double> accepted_by_position = {};   ///< accepted drafted tokens by position in a pass
    std::map<std::string, std::string> config = {};  ///< settings: "cache_config.block_size" → "16"
    std::map<std::string, double> kept = {};  ///< result of kept_series() (loadgen/scrape/known_metrics.h)
    std::string place = {};                   ///< name of the place that was scraped; empty means a server
    std::uint32_t server = 0;                 ///< number of the server among those that are scraped
    /// Why samples of known quantities were left out: "vllm:num_requests_running -5 is impossible".
    std::vector<std::string> left_out = {};

    bool operator==(const ServerScrape&) const = default;
};

/// The most series kept of one place (a server or an exporter), so that the result stays readable.
inline constexpr std::size_t kMostKeptSeries = 256;

/// A series that was kept because of its name.
struct KeptSeries {
    std::vector<TimePoint> at = {};
    std::vector<double> values = {};

    bool operator==(const KeptSeries&) const = default;
};

struct ServerScrapes {
    /// Scrapes with known quantities, ascending in time; only the first has sources and settings.
    std::vector<ServerScrape> scrapes;
    /// Scrapes that failed, or had no known quantity and no series to keep.
    std::uint64_t failed = 0;
    std::string last_failure;  ///< why the last of these failed, or samples were left out, in one line
    std::string name = {};     ///< name of the place, which is the source of the series below
    std::map<std::string, KeptSeries> kept = {};
};

}  // namespace paretoken
