#pragma once
// Shows on standard error what an experiment tells: warnings, the points of a sweep, and on a terminal the
// live line of a run.
#include <optional>

#include "cli/progress_line.h"
#include "experiments/watcher.h"

namespace paretoken::cli {

class ConsoleWatcher : public experiments::Watcher {
  public:
    void warn(const std::string& text) override;
    void wait(const std::string& text) override;
    void load_begins(const std::string& label, const loadgen::Progress& progress,
                     const loadgen::Limits& limits) override;
    void load_ends() override;
    void point_begins(std::size_t number, std::size_t points, const std::string& label,
                      bool already_measured) override;
    void point_lengthened(const std::string& label, std::uint64_t requests, std::uint64_t asked) override;

  private:
    std::optional<ProgressLine> line_;
};

}  // namespace paretoken::cli
