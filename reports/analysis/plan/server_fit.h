#pragma once
// What one measured level says about a server, and what a simulated server predicts for other levels.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The figures of a run that are predicted. A figure that was not measured is absent.
struct LoadFigures {
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> ttft_p50_s = {};
    std::optional<double> itl_p50_s = {};

    bool operator==(const LoadFigures&) const = default;
};
using LoadFigure = std::optional<double> LoadFigures::*;
/// The largest share by which a fit may miss a figure of its own level without a warning.
inline constexpr double kLargestMiss = 0.1;
LoadFigures load_figures_of(const RunResult& result);

/// The figures at the ends of the 95 % intervals of the times: with `slow` at their upper ends, else at their
/// lower ones. A time without an interval keeps its value.
LoadFigures at_interval_end(const RunResult& result, bool slow);

/// The figures of a level as predicted, and the range in which they are expected.
struct PredictedLevel {
    double load = 0;
    LoadFigures predicted = {};
    LoadFigures low = {};
    LoadFigures high = {};
    std::optional<LoadFigures> measured = {};

    bool operator==(const PredictedLevel&) const = default;
};

/// The speeds that explain a level. Shares are those of the datasheet and absent without a card.
struct FittedSpeeds {
    double memory_bytes_per_s = 0;     ///< at which weights are read
    double linear_flops_per_s = 0;     ///< of the linear layers; 0 if they have no arithmetic
    double step_s = 0;                 ///< fixed time of a step
    std::optional<double> row_s = {};  ///< of a token among few, where kernels compute tokens one by one
    std::optional<double> memory_share = {};
    std::optional<double> linear_share = {};

    bool operator==(const FittedSpeeds&) const = default;
};

struct ServerFit {
    std::string run = {};                    ///< directory of the run
    std::string again = {};                  ///< its server and options as one line, without the load
    std::string server = {};                 ///< "llama.cpp, smollm2-135m in q8_0 on AMD EPYC"
    std::string axis = {};                   ///< "c" (requests in flight) or "req/s"
    double load = 0;                         ///< the level that the speeds are fitted to
    LoadFigures measured = {};               ///< at that level
    std::optional<LoadFigures> before = {};  ///< by the card of the GPU; absent without one
    LoadFigures after = {};                  ///< with the fitted speeds
    bool by_throughput = false;  ///< whether arithmetic is fitted to the throughput, not to the TTFT
    bool equal_lengths = false;  ///< whether a closed loop had requests of equal lengths
    std::optional<FittedSpeeds> usual = {};  ///< by the card of the GPU
    FittedSpeeds speeds = {};
    std::vector<PredictedLevel> levels = {};
    std::vector<PredictedLevel> others = {};  ///< measured levels that were not asked for, without ranges
    std::string profile = {};                 ///< file of the fitted profile; empty if it is not kept

    bool operator==(const ServerFit&) const = default;
};

/// Widens the ranges of the levels, which are those of the servers fitted to the ends of the intervals, so
/// that 9 of 10 measured values are within them: by what the fit misses at its own level, and by how far off
/// the predictions of the measured levels are. docs/plan.md has the formula.
void widen_ranges(ServerFit& fit);

/// Whether all requests of a run have the same number of input tokens, and of output tokens.
bool has_equal_lengths(const RunResult& result);

/// What makes the prediction doubtful, a sentence each.
std::vector<std::string> doubts_of(const ServerFit& fit);

/// How far off the predictions of measured levels are, and a command that would make the others surer.
std::string certainty_of(const ServerFit& fit);

/// One screen for a terminal.
std::string server_fit_console(const ServerFit& fit);

}  // namespace paretoken::reports
