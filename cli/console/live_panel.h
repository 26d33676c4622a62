#pragma once
// Shows the progress of a load on standard error, from its own thread: a panel, or else a line every 10 s.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "cli/console/panel.h"
#include "core/units.h"
#include "loadgen/load/limits.h"
#include "loadgen/progress.h"

namespace paretoken::cli {

struct Place {
    std::string text = {};                  ///< "3/8"; empty for a single run
    std::optional<TimePoint> ends_at = {};  ///< when the whole will probably have ended
};

/// Returns the plain line, without colours or control characters. `elapsed` is the time since the load began,
/// and `measured` is the time since its first request after the warm-up. The time left is shown if `limits`
/// bound the number of requests or the duration, and more than 2 % of the load is done.
std::string progress_text(const std::string& label, const loadgen::Progress& progress,
                          const loadgen::Limits& limits, Duration elapsed, Duration measured);

/// Returns what the panel shows, without the time left of the whole; arguments as for progress_text().
PanelState panel_state(const std::string& label, const loadgen::Progress& progress,
                       const loadgen::Limits& limits, Duration elapsed, Duration measured);

/// The display lasts until this object is destroyed, which removes the panel. `progress` must outlive it.
class LivePanel {
  public:
    LivePanel(std::string label, Place place, const loadgen::Progress& progress,
              const loadgen::Limits& limits);
    ~LivePanel();
    LivePanel(const LivePanel&) = delete;
    LivePanel& operator=(const LivePanel&) = delete;

    /// Writes a text to standard error, above the panel.
    void say(std::string_view text);

  private:
    void run();
    void draw();
    void erase();
    void print_plain_line();
    void note_end_of_warmup();

    std::string label_;
    Place place_;
    const loadgen::Progress& progress_;
    loadgen::Limits limits_;
    TimePoint began_;
    bool redraws_;
    std::optional<TimePoint> measuring_since_;  ///< when the warm-up was over, to within 50 ms
    RecentRates rates_;
    std::size_t drawn_ = 0;  ///< lines of the panel on the screen
    std::mutex mutex_;       ///< guards everything above, and the writing
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace paretoken::cli
