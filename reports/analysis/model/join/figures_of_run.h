#pragma once
// Figures of a run that several parts of a report are computed from.
#include <optional>
#include <string_view>

#include "core/result/result.h"

namespace paretoken::reports {

inline constexpr double kCertifiedPercentile = .9;  // percentile of the x axis and of SLOs

const PercentileValue* percentile_of(const RunResult& result, std::string_view key, double p);

std::optional<double> positive(const std::optional<double>& value);

/// Mean lengths of prompts and answers in tokens: the achieved lengths, or the requested ones if those are
/// unknown.
struct Lengths {
    double input = 0;
    double output = 0;
};

Lengths lengths_of(const RunResult& result);

/// Prompt tokens that came from a cache ÷ all prompt tokens, as reported in `usage`; nothing when it was not
/// reported.
std::optional<double> cached_share(const RunResult& result);

/// The work of the window, or the work of one request with mean lengths if the run holds no sums.
Totals work_of(const RunResult& result);

/// The mean number of requests in flight: the measured value, or the run's concurrency if it was not
/// measured.
std::optional<double> batch_of(const RunResult& result);

}  // namespace paretoken::reports
