#pragma once
// Shows the messages of an experiment on standard error: warnings, the points of a sweep with the time left,
// and the progress of a run.
#include <optional>
#include <string>

#include "cli/progress_line.h"
#include "experiments/watcher.h"

namespace paretoken::cli {

/// Returns the estimated time that is left of a sweep, as text: "3:20". It took `measured_s` seconds to
/// measure `measured` points, and each of the `left` other points is assumed to take their mean time. The
/// text is empty if `measured` is 0.
std::string time_left(double measured_s, std::size_t measured, std::size_t left);

/// Returns one line about a measured point: its load, its figures, the verdict on its run with the reason if
/// there is one, and its directory. For a point that failed, the error takes the place of the figures.
std::string point_text(const reports::SweepPoint& point, const std::filesystem::path& directory);

class ConsoleWatcher : public experiments::Watcher {
  public:
    /// If it is quiet, it shows only warnings.
    explicit ConsoleWatcher(bool quiet = false) : quiet_(quiet) {}
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
    bool quiet_ = false;
    std::optional<ProgressLine> line_;
    std::optional<TimePoint> first_began_;  ///< when the first point began that was measured
    std::size_t measured_ = 0;              ///< points that ended since
    std::size_t skipped_ = 0;               ///< points that were already measured
};

}  // namespace paretoken::cli
