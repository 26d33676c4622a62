#pragma once
// Writes watch.jsonl, one line for each interval of a watch, flushed when the interval ends.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken::reports {

inline constexpr const char* kWatchFileName = "watch.jsonl";

/// The comparison of a quantity of the latest requests with its reference (experiments/watch/drift.h).
struct DriftLine {
    std::string metric;    ///< "ttft", "tpot"
    double ratio = 1;      ///< geometric mean of the latest requests ÷ that of the reference
    Interval ci95;         ///< 95 % interval of the ratio
    std::uint64_t n = 0;   ///< number of the latest requests that were compared
    bool drifted = false;  ///< as in Drift (experiments/watch/drift.h)

    bool operator==(const DriftLine&) const = default;
};

struct WatchLine {
    std::uint64_t interval = 0;  ///< number of the interval, from 1
    std::string at;              ///< end of the interval, in UTC; in virtual time the start + `end_s`
    double begin_s = 0;          ///< begin of the interval in seconds since the watch began
    double end_s = 0;            ///< end of the interval in seconds since the watch began
    std::uint64_t requests = 0;  ///< number of requests that ended in the interval, with failed ones
    std::uint64_t failed = 0;
    std::map<std::string, double> figures = {};  ///< values by name with unit: "ttft_p50_s", "kv_usage", …
    std::vector<std::string> firing = {};        ///< names of the alerts that are firing
    std::vector<DriftLine> drift = {};
    std::string error = {};  ///< error text of a request that failed; empty if none did

    bool operator==(const WatchLine&) const = default;
};

/// The line as one line of JSON, without its newline. Values that are not finite are left out.
std::string watch_line(const WatchLine& line);

/// The line for a terminal: "2026-11-21T12:03:20Z  interval 3, to 180 s: 6 requests, TTFT p50 41.2 ms, p95
/// 60.1 ms, ITL p50 …".
std::string watch_text(const WatchLine& line);

/// The file watch.jsonl. The constructor creates it, or empties an existing one.
class WatchFile {
  public:
    explicit WatchFile(std::filesystem::path path);

    void add(const WatchLine& line);  ///< appends a line; throws RuntimeError when it cannot be written

  private:
    std::filesystem::path path_;
    std::ofstream file_;
};

}  // namespace paretoken::reports
