#pragma once
// The figures of a gate's report as text. A positive shift is worse. The functions are pure.
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

inline constexpr double kMostPercent = 300;  ///< larger changes are written as a multiple, as "×160"

/// Whether the row is a limit on the candidate alone, and whether its values are times.
bool is_limit(const GateRow& row);
bool is_time(const GateRow& row);

/// The title of a row with the unit in which value_text() shows it: "Time to first token, p95, ms".
std::string title_of(const GateRow& row);

/// percent_of() by the metric of a row that is no limit.
double percent_of(const GateRow& row, double shift);

/// A shift in words: "9.1 % worse", "50 % higher" if that is better, "0.5 points worse" for a share, "160
/// times as long" above kMostPercent, and "0.63 % of the baseline" for less than a hundredth.
std::string amount_text(const GateRow& row, double shift);

/// amount_text() of the row's shift with its interval and tolerance. For a share it is "from 0.5 % to 3 %",
/// and the reason for a row without a shift.
std::string change_text(const GateRow& row);

/// A value of the row with four significant digits, in milliseconds for times and in percent for ratios.
std::string value_text(const GateRow& row, const std::optional<double>& value);

/// The shift of a row: "+3.2 %", "×160" above kMostPercent, "+0.5 points" for a share; – if there is none.
std::string shift_text(const GateRow& row);

/// The 95 % interval of the shift without a unit: "-1.2 to +4.5"; – if there is none.
std::string interval_text(const GateRow& row);

/// The largest shift that the data allows by GateRow::at_most, without a unit; – if it is not known.
std::string bound_text(const GateRow& row);

/// The tolerance in percent or points; "20 (floor)" where the policy's floor replaces it; empty for a limit.
std::string tolerance_text(const GateRow& row);

/// The reason of a row, and for an undecided row the data that would decide it. It may be empty.
std::string open_text(const GateRow& row, GateDesign design);

/// open_text() of metrics that did not pass, and for which the verdict and the text are the same.
struct OpenText {
    std::string metrics;  ///< titles; if there are more than three, the first ones and how many more
    std::string text;
    GateVerdict verdict = GateVerdict::inconclusive;
};
std::vector<OpenText> open_texts(const GateReport& report);

std::string line_of(const GateReport& report, const GateRow& row);

/// The design of the comparison: "9 interleaved pairs, of at most 16".
std::string design_text(const GateReport& report);

}  // namespace paretoken::reports
