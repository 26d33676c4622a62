#pragma once
// watch.jsonl: one line for each interval of a watch. A line is appended and flushed when the interval ends,
// so that no whole line is lost in a crash.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken::reports {

inline constexpr const char* kWatchFileName = "watch.jsonl";

/// How a quantity of the last requests compares with its reference, as a ratio of geometric means.
struct DriftLine {
    std::string metric;  ///< "ttft", "tpot"
    double ratio = 1;
    Interval ci95;
    std::uint64_t n = 0;   ///< requests that were compared
    bool drifted = false;  ///< whether the interval shows a change of more than 10 %

    bool operator==(const DriftLine&) const = default;
};

struct WatchLine {
    std::uint64_t interval = 0;  ///< number of the interval, from 1
    std::string at;              ///< end of the interval, in UTC
    double begin_s = 0;          ///< seconds since the watch began
    double end_s = 0;
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    std::map<std::string, double> figures = {};  ///< "ttft_p50_s", "kv_usage", …
    std::vector<std::string> firing = {};        ///< alerts that are firing
    std::vector<DriftLine> drift = {};
    std::string error = {};  ///< error of the first request that failed

    bool operator==(const WatchLine&) const = default;
};

/// The line as one line of JSON, without its newline. Values that are not finite are left out.
std::string watch_line(const WatchLine& line);

/// The line for a terminal: "12:03:20  6 requests  TTFT p50 41.2 p95 60.1 ms  ITL p50 …".
std::string watch_text(const WatchLine& line);

/// A file of watch lines. It is emptied at first; then lines are appended. Throws RuntimeError when it cannot
/// be written.
class WatchFile {
  public:
    explicit WatchFile(std::filesystem::path path);

    void add(const WatchLine& line);

  private:
    std::filesystem::path path_;
    std::ofstream file_;
};

}  // namespace paretoken::reports
