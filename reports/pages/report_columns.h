#pragma once
// The table of a report: which figures of a point are shown, in which unit, and what they mean. HTML,
// Markdown and CSV iterate it; a new column is a new row.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// How the cells of a column are written.
enum class ColumnStyle { number, dollars, percent };

struct ReportColumn {
    std::string_view key;    ///< of CSV, with the unit: "ttft_p50_s"
    std::string_view group;  ///< "Time to first token"; columns of one group stand together
    std::string_view title;  ///< "p50"
    std::string_view unit;   ///< "ms"
    double scale = 1;        ///< what is held × scale = what is shown
    ColumnStyle style = ColumnStyle::number;
    std::string_view brief_title;  ///< in the short table of Markdown; empty: not in it
    std::string_view definition;   ///< one sentence
    /// Nothing: not measured. +infinity: the percentile falls among failures.
    std::function<std::optional<double>(const ReportPoint& point)> value;
};

/// Throughput, latency, cost, what became of the requests, and the other figures of the run.
std::span<const ReportColumn> report_columns();

/// The columns that at least one point of the model has a value for.
std::vector<const ReportColumn*> columns_in_use(const ReportModel& model);

/// What stands in the cell.
std::string cell_of(const ReportColumn& column, const ReportPoint& point);

}  // namespace paretoken::reports
