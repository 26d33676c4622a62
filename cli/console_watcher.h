#pragma once
// Shows on standard error what an experiment tells: warnings, the points of a sweep with the time left, and
// how far a run is.
#include <optional>
#include <string>

#include "cli/progress_line.h"
#include "experiments/watcher.h"

namespace paretoken::cli {

/// "3:20" left of a sweep whose measured points took `measured_s` seconds in all; empty while none was.
std::string time_left(double measured_s, std::size_t measured, std::size_t left);

/// The row of a point on one line: what it came to, the reason of a warning, and where it is.
std::string point_text(const reports::SweepPoint& point, const std::filesystem::path& directory);

class ConsoleWatcher : public experiments::Watcher {
  public:
    void warn(const std::string& text) override;
    void wait(const std::string& text) override;
    void load_begins(const std::string& label, const loadgen::Progress& progress,
                     const loadgen::Limits& limits) override;
    void load_ends() override;
    void point_begins(std::size_t number, std::size_t points, const std::string& label,
                      bool already_measured) override;
    void point_ends(const reports::SweepPoint& point, const std::filesystem::path& directory) override;
    void point_lengthened(const std::string& label, std::uint64_t requests, std::uint64_t asked) override;

  private:
    std::optional<ProgressLine> line_;
    std::optional<TimePoint> point_began_;
    double measured_s_ = 0;
    std::size_t measured_ = 0;
};

}  // namespace paretoken::cli
