#pragma once
// Writes and reads server.jsonl, which has one line for each reading of the server's metrics, of other
// exporters, and of power, flushed at once. The file is created with the first line. A line that cannot be
// written is left out without an error, because a run must not fail for its server's metrics.
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/run/observations.h"
#include "core/units.h"

namespace paretoken::reports {

inline constexpr const char* kServerFileName = "server.jsonl";

/// One line without its newline: {"at_s":1.5,"running":3}, in seconds since `zero`, finite values only.
/// `whole`: also engine, names of metrics and settings, for a server's first reading.
std::string server_line(const ServerScrape& scrape, TimePoint zero, bool whole);

/// One line without its newline for a reading of power: {"at_s":1.5,"source":"nvml","power_w":300}.
std::string power_line(const std::string& source, const PowerReading& reading, TimePoint zero);

class ServerLines {
  public:
    /// Removes an earlier file at `path`. Times are written relative to `zero`.
    ServerLines(std::filesystem::path path, TimePoint zero);

    // These append a line. They may be called from any thread.
    void add(const ServerScrape& scrape);
    void add(const std::string& source, const PowerReading& reading);

  private:
    void append(const std::string& line);

    std::filesystem::path path_;
    TimePoint zero_;
    std::mutex mutex_;
    std::ofstream file_;
    std::set<std::pair<std::string, std::uint32_t>> begun_;  ///< places and servers with a line
};

/// Reads the lines of a file into `server`, `exporters` and `power` of `observed`; failed scrapes stay. A
/// missing file counts as empty. Throws a UsageError that names the file, the line and what is wrong.
void read_server_lines(const std::filesystem::path& path, TimePoint zero, Observations& observed);

}  // namespace paretoken::reports
