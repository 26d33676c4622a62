#pragma once
// Writes server.jsonl, which has one line for each reading of the server's metrics. A line is appended and
// flushed when the reading is made, so that it is not lost in a crash. The file is created with the first
// line. A line that cannot be written is left out without an error, because a run must not fail for its
// server's metrics.
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "core/units.h"

namespace paretoken::reports {

inline constexpr const char* kServerFileName = "server.jsonl";

/// One line without its newline: {"at_s":1.5,"running":3}. `at_s` is the time of the reading in seconds,
/// `fields` the metrics that were read. Values that are not finite are left out. If the reading is not from
/// the server itself but from another exporter of metrics, `place` names it, and the line holds it as
/// "place".
std::string server_line(double at_s, const std::map<std::string, double>& fields,
                        const std::string& place = {});

class ServerLines {
  public:
    /// Removes an earlier file at `path`. Times are written relative to `epoch`.
    ServerLines(std::filesystem::path path, TimePoint epoch);

    /// Appends a line. May be called from any thread.
    void add(TimePoint at, const std::map<std::string, double>& fields, const std::string& place = {});

  private:
    std::filesystem::path path_;
    TimePoint epoch_;
    std::mutex mutex_;
    std::ofstream file_;
};

}  // namespace paretoken::reports
