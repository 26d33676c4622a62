#pragma once
// How far a run is, how fast, how long still: a live line on a terminal, and on anything else a plain line
// every 10 s.
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "core/units.h"
#include "loadgen/limits.h"
#include "loadgen/progress.h"

namespace paretoken::cli {

/// "3:05", "1:02:05"
std::string clock_text(double seconds);

/// One state of the line, without colours or control characters. Pure.
std::string progress_text(const std::string& label, const loadgen::Progress& progress,
                          const loadgen::Limits& limits, Duration elapsed);

/// Draws until destroyed, then removes the line; prints lines where none can be removed.
class ProgressLine {
  public:
    ProgressLine(std::string label, const loadgen::Progress& progress, const loadgen::Limits& limits);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

  private:
    void draw_until_over();
    void print_until_over();

    std::string label_;
    const loadgen::Progress& progress_;
    loadgen::Limits limits_;
    TimePoint began_;
    std::atomic<bool> over_{false};
    bool redraws_ = false;
    std::thread thread_;
};

}  // namespace paretoken::cli
