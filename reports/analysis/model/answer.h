#pragma once
// Writes the sentence at the head of a report: the cost at the measured speed per user and at the hardware's
// limit, and how far the runs can be trusted.
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The point that the sentence is about: cheapest_fitting() (choice.h), those first that were shown to meet
/// the limits. Null if there is none.
const ReportPoint* answer_point(const Configuration& configuration);

/// "2 × h100-sxm at $5.90 per hour", and earning_text()
std::string price_text(const PointCost& cost);

struct AnswerInputs {
    /// The point of the hard limit with the tokens/s per user of answer_point(), below whose price no server
    /// on this hardware can be. Absent without a limit.
    std::optional<LimitPoint> floor;
    /// The same limit if the server had more slots, where their number is what `floor` ends at.
    std::optional<LimitPoint> without_slots = {};
    /// The most requests that the memory holds at once; absent if it is not known.
    std::optional<double> most_in_memory = {};
    std::optional<double> most_computed = {};  ///< where the curve of the limit ends if that is not known
    std::vector<Slo> slos;                     ///< the limits that a usable point keeps
    std::string worse_than = {};               ///< Choice::worse_than of the configuration
};

/// A title for a report that says what it found: the first sentence of its search, if the report has the same
/// limits and no other runs, or the cost of the cheapest configuration; "Cost and performance" if it has
/// neither.
std::string answer_title(const ReportModel& model);

/// The sentence for the head of the report. It starts with the configuration's title.
std::string answer_sentence(const Configuration& configuration, const AnswerInputs& inputs);

}  // namespace paretoken::reports
