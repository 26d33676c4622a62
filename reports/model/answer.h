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

struct AnswerInputs {
    std::optional<LimitPoint>
        floor;  ///< the hard limit at the point's interactivity, priced where a price is known
};

/// Starts with the configuration's title.
std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs);

}  // namespace paretoken::reports
