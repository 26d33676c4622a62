#pragma once
// What people read in a terminal: 80 columns, headline first. Pure; printing is the caller's.
#include <span>
#include <string>

#include "core/result/result.h"
#include "reports/files/sweep_file.h"

namespace paretoken::reports {

struct ConsoleStyle {
    bool colour = false;         ///< ANSI colours
    std::string directory = {};  ///< where the run's files are; empty: not said
};

/// What every metric and figure means, for --help.
std::string definitions_text();

/// The summary of one run: throughput, latencies with their intervals, failures, lengths, verdict, files.
std::string run_summary(const RunResult& result, const ConsoleStyle& style = {});

/// A sweep: a table for each cell, how much the repeats differed, and what a search found.
std::string sweep_summary(const SweepFile& file, const ConsoleStyle& style = {});

/// One line per load level.
std::string sweep_table(std::span<const SweepPoint> points, const ConsoleStyle& style = {});

}  // namespace paretoken::reports
