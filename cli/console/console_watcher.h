#pragma once
// Shows the messages of an experiment on standard error: warnings, points, time left, and progress.
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console/interrupt.h"
#include "cli/console/live_panel.h"
#include "experiments/watcher.h"

namespace paretoken::cli {

/// Returns the estimated seconds that are left of a sweep; nothing if `measured` is 0.
std::optional<double> time_left(double measured_s, std::size_t measured, std::size_t left);

/// Returns one line about a measured point: its load, its figures, the verdict on its run with the reason if
/// there is one, and its directory. For a point that failed, the error takes the place of the figures.
std::string point_text(const reports::SweepPoint& point, const std::filesystem::path& directory);

class ConsoleWatcher : public experiments::Watcher {
  public:
    /// If it is quiet, it shows only warnings. `interrupt`, whose texts it prints, must outlive it.
    explicit ConsoleWatcher(InterruptWatch& interrupt, bool quiet = false);
    ~ConsoleWatcher() override;
    ConsoleWatcher(const ConsoleWatcher&) = delete;
    ConsoleWatcher& operator=(const ConsoleWatcher&) = delete;

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
    /// Prints a text, above the panel if there is one.
    void say(std::string_view text);

    InterruptWatch& interrupt_;
    bool quiet_ = false;
    Place place_;       ///< of the point that is measured
    std::mutex mutex_;  ///< guards panel_, which an interrupt may use from its thread
    std::optional<LivePanel> panel_;
    std::optional<TimePoint> first_began_;  ///< when the first point began that was measured
    std::size_t measured_ = 0;              ///< points that ended since
    std::size_t skipped_ = 0;               ///< points that were already measured
};

}  // namespace paretoken::cli
