#pragma once
// watch.jsonl: a line per interval of a watch, appended as the interval ends and flushed, so that every whole
// line is there after a crash.
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

/// How a quantity of the last requests compares with its reference: the ratio of geometric means.
struct DriftLine {
    std::string metric;  ///< "ttft", "tpot"
    double ratio = 1;
    Interval ci95;
    std::uint64_t n = 0;   ///< requests that were compared
    bool drifted = false;  ///< the interval shows a change by more than a tenth

    bool operator==(const DriftLine&) const = default;
};

struct WatchLine {
    std::uint64_t interval = 0;  ///< from 1
    std::string at;              ///< UTC, when it ended
    double begin_s = 0;          ///< since the watch began
    double end_s = 0;
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    std::map<std::string, double> figures = {};  ///< "ttft_p50_s", "kv_usage", …
    std::vector<std::string> firing = {};        ///< alerts that fire now
    std::vector<DriftLine> drift = {};
    std::string error = {};  ///< of the first request that failed

    bool operator==(const WatchLine&) const = default;
};

/// One line of JSON, without its end. Values that are not finite are left out.
std::string watch_line(const WatchLine& line);

/// "12:03:20  6 requests  TTFT p50 41.2 p95 60.1 ms  ITL p50 …", for a terminal.
std::string watch_text(const WatchLine& line);

/// Begins a file anew, and appends to it. Throws RuntimeError when it cannot be written.
class WatchFile {
  public:
    explicit WatchFile(std::filesystem::path path);

    void add(const WatchLine& line);

  private:
    std::filesystem::path path_;
    std::ofstream file_;
};

}  // namespace paretoken::reports
