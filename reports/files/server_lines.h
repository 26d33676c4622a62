#pragma once
// server.jsonl: a line for each reading of the server's metrics, appended as it is made, so that it is there
// after a crash. The file exists once there is something to say. A line that cannot be written is left out:
// what a server says of itself must not cost a run.
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "core/units.h"

namespace paretoken::reports {

inline constexpr const char* kServerFileName = "server.jsonl";

/// One line without its end: {"at_s": …, and the fields}. Values that are not finite are left out. `place`
/// names another exporter than the server; a line has it as "place" where it is not empty.
std::string server_line(double at_s, const std::map<std::string, double>& fields,
                        const std::string& place = {});

class ServerLines {
  public:
    /// Replaces nothing: an earlier file is removed. Times are written relative to `epoch`.
    ServerLines(std::filesystem::path path, TimePoint epoch);

    /// From any thread.
    void add(TimePoint at, const std::map<std::string, double>& fields, const std::string& place = {});

  private:
    std::filesystem::path path_;
    TimePoint epoch_;
    std::mutex mutex_;
    std::ofstream file_;
};

}  // namespace paretoken::reports
