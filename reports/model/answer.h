#pragma once
// Writes the sentence at the head of a report: the cost at the measured speed per user, the cost at the
// hardware's limit, and how far the runs can be trusted. Pure text from a finished configuration.
#include <optional>
#include <string>

#include "reports/model/limit.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The point that the sentence is about: the cheapest point on the configuration's own front, where certified
/// points go before all others. Null when there is none.
const ReportPoint* answer_point(const Configuration& configuration);

struct AnswerInputs {
    std::optional<LimitPoint>
        floor;  ///< hard limit at the point's interactivity, with a price if one is known
};

/// The sentence for the head of the report. It starts with the configuration's title.
std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs);

}  // namespace paretoken::reports
