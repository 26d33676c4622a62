#pragma once
// Shows the progress of a run, its speed and the time left: as a live line on a terminal, elsewhere as a
// plain line every 10 s.
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "core/units.h"
#include "loadgen/load/limits.h"
#include "loadgen/progress.h"

namespace paretoken::cli {

/// Returns a duration as text: "3:05", "1:02:05".
std::string clock_text(double seconds);

/// Returns the text of the line, without colours or control characters. `elapsed` is the time since the
/// load began, and `measured` is the time since its first request after the warm-up. The time left is shown
/// if `limits` bound the number of requests or the duration, and more than 2 % of the load is done.
std::string progress_text(const std::string& label, const loadgen::Progress& progress,
                          const loadgen::Limits& limits, Duration elapsed, Duration measured);

/// Shows the line on standard error, from its own thread, until this object is destroyed, which removes the
/// line. If standard error is not a terminal that can redraw a line, it prints separate lines, which stay.
/// `progress` must outlive this object.
class ProgressLine {
  public:
    ProgressLine(std::string label, const loadgen::Progress& progress, const loadgen::Limits& limits);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

  private:
    void draw_until_over();
    void print_until_over();
    void note_end_of_warmup();
    std::string text() const;

    std::string label_;
    const loadgen::Progress& progress_;
    loadgen::Limits limits_;
    TimePoint began_;
    std::optional<TimePoint> measuring_since_;  ///< when the warm-up was over, to within 50 ms
    std::atomic<bool> over_{false};
    bool redraws_ = false;
    std::thread thread_;
};

}  // namespace paretoken::cli
