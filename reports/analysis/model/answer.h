#pragma once
// Writes the sentence at the head of a report: the cost at the measured speed per user and at the hardware's
// limit, and how far the runs can be trusted.
#include <optional>
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The point that the sentence is about. Among the points on the configuration's own front, it is the one
/// with the most output tokens per second, which makes it the cheapest one if all cost the same per hour. A
/// point whose speed per user is certified (has enough requests) takes precedence over all others. Null if no
/// point is on the front.
const ReportPoint* answer_point(const Configuration& configuration);

struct AnswerInputs {
    /// The point of the hard limit (LimitKind::hard, reports/analysis/model/limit.h) at which each user still
    /// gets the tokens/s of answer_point(). At that speed no server on this hardware can have a lower price
    /// than this point. Absent without a limit.
    std::optional<LimitPoint> floor;
};

/// The sentence for the head of the report. It starts with the configuration's title.
std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs);

}  // namespace paretoken::reports
