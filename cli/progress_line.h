#pragma once
// The live line of a run on a terminal: how far, how fast, how long still. On anything but a terminal it is
// silent.
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "core/units.h"
#include "loadgen/limits.h"
#include "loadgen/progress.h"

namespace paretoken::cli {

/// One state of the line, without colours or control characters. Pure.
std::string progress_text(const std::string& label, const loadgen::Progress& progress,
                          const loadgen::Limits& limits, Duration elapsed);

/// Draws until destroyed, then removes the line.
class ProgressLine {
  public:
    ProgressLine(std::string label, const loadgen::Progress& progress, const loadgen::Limits& limits);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

  private:
    void draw_until_over();

    std::string label_;
    const loadgen::Progress& progress_;
    loadgen::Limits limits_;
    TimePoint began_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

}  // namespace paretoken::cli
