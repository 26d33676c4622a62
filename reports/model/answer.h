#pragma once
// The sentence at the head of a report: what a user's speed costs here, what it would cost at the hardware's
// limit, and how far the runs can be trusted. Pure text from a finished configuration.
#include <optional>
#include <string>

#include "reports/model/limit.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The point that the sentence is about: the cheapest of its own front, certified ones first. Null when there
/// is none.
const ReportPoint* answer_point(const Configuration& configuration);

/// How the gap between a point's cost and the floor at its interactivity splits, in shares (of its logarithm)
/// that sum to 1.
struct Gap {
    double batch = 0;       ///< fewer requests in flight than the hardware could serve at that speed
    double kernels = 0;     ///< the fastest kernels we know are slower than the ceiling
    double no_overlap = 0;  ///< prefill and decode not computed at once
    double unattributed = 0;
    double requests_in_flight = 0;
    double requests_possible = 0;  ///< at that speed
};

/// Nothing when the point is within 5 % of the floor, or has no limit.
std::optional<Gap> gap_of(const ReportPoint& point, const LimitPoint& floor, const LimitInputs& inputs,
                          const Totals& work, double batch);

struct AnswerInputs {
    std::optional<LimitPoint>
        floor;  ///< the hard limit at the point's interactivity, priced where a price is known
    std::optional<Gap> gap;
};

/// Starts with the configuration's title.
std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs);

}  // namespace paretoken::reports
