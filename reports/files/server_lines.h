#pragma once
// server.jsonl: one line for each reading of the server's metrics. A line is appended when the reading is
// made, so that it is not lost in a crash. The file is created with the first line. A line that cannot be
// written is left out, because the server's metrics must not make a run fail.
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "core/units.h"

namespace paretoken::reports {

inline constexpr const char* kServerFileName = "server.jsonl";

/// One line without its end: {"at_s": …, and the fields}. Values that are not finite are left out. `place`
/// names an exporter other than the server; if it is not empty, the line holds it as "place".
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
