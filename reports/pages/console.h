#pragma once
// Results as text for a terminal: at most 80 columns wide, the most important figures first.
#include <span>
#include <string>

#include "core/result/result.h"
#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

struct ConsoleStyle {
    bool colour = false;         ///< whether ANSI colours are used
    std::string directory = {};  ///< directory of the run's files; not shown if empty
};

/// The summary of one run: throughput, latencies with their intervals, failures, lengths, verdict, files.
std::string run_summary(const RunResult& result, const ConsoleStyle& style = {});

/// The summary of a sweep: a table for each cell, the spread of repeats, a comparison, and a search.
std::string sweep_summary(const SweepFile& file, const ConsoleStyle& style = {});

/// Two lines on the highest load that was shown to meet the limits and on the highest that was measured
/// within them, and the command that would certify the second.
std::string answer_lines(const SweepSearch& answer, const std::string& axis);

/// A table with one line per point (a load level, or a repeat of one). Below it are the errors of points
/// that failed, and an explanation if the requests of a point are not enough to decide its SLO.
std::string sweep_table(std::span<const SweepPoint> points, const ConsoleStyle& style = {});

}  // namespace paretoken::reports
