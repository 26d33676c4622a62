#pragma once
// Figures of a run that several parts of a report are computed from.
#include <optional>
#include <string_view>

#include "core/result/result.h"

namespace paretoken::reports {

inline constexpr double kCertifiedPercentile = .9;  // percentile of the x axis and of SLOs

const PercentileValue* percentile_of(const RunResult& result, std::string_view key, double p);

std::optional<double> positive(const std::optional<double>& value);

/// Mean tokens of prompts and answers: the achieved ones, or those that were requested.
struct Lengths {
    double input = 0;
    double output = 0;
};

Lengths lengths_of(const RunResult& result);

/// Cached ÷ all prompt tokens by `usage`; nothing when it was not reported.
std::optional<double> cached_share(const RunResult& result);

/// The work of the window, or the work of one request with mean lengths if the run holds no sums.
Totals work_of(const RunResult& result);

/// The mean number of requests in flight, measured, or else the run's concurrency.
std::optional<double> batch_of(const RunResult& result);

/// The mean number of slots of a closed loop that pause between two requests, as while the tools of an agent
/// run or a user thinks; 0 if there are hardly any, and for an open loop.
double pausing_of(const RunResult& result);

}  // namespace paretoken::reports
