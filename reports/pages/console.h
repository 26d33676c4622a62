#pragma once
// Results as text for a terminal: at most 80 columns wide, the most important figures first.
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/result/result.h"
#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

struct ConsoleStyle {
    bool colour = false;         ///< whether ANSI colours are used
    std::string directory = {};  ///< directory of the run's files; not shown if empty
};

struct HeadlineCost;
/// Returns what a million output tokens costs at a point of a sweep; nothing if that is not known.
using CostOfPoint = std::function<std::optional<HeadlineCost>(const SweepPoint&)>;

/// The summary of one run: throughput, latencies with their intervals, failures, lengths, verdict, files.
std::string run_summary(const RunResult& result, const ConsoleStyle& style = {});

/// The summary of a sweep: a table for each cell, the spread of repeats, a comparison, and a search.
std::string sweep_summary(const SweepFile& file, const ConsoleStyle& style = {},
                          const CostOfPoint& cost = {});

/// Two lines on the highest load that was shown to meet the limits and on the highest that was measured
/// within them, and the command that would certify the second.
std::string answer_lines(const SweepSearch& answer, const std::string& axis);

/// A table with one line per point (a load level, or a repeat of one), and below it the errors of points that
/// failed. The column of tokens/s per user is left out where it does not fit into 80 columns.
std::string sweep_table(std::span<const SweepPoint> points, const ConsoleStyle& style = {},
                        const CostOfPoint& cost = {});

}  // namespace paretoken::reports
