#pragma once
// The columns of a report's table: the figures of a point (a run) that are shown, with their units and
// definitions. The writers of HTML, Markdown and CSV iterate over report_columns().
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// How the cells of a column are written.
enum class ColumnStyle { number, dollars, percent };

struct ReportColumn {
    std::string_view key;    ///< key in CSV, with the unit: "ttft_p50_s"
    std::string_view group;  ///< title of the group: "TTFT"; its columns are adjacent
    std::string_view title;  ///< "p50"
    std::string_view unit;   ///< "ms"
    double scale = 1;        ///< factor from the stored value to the shown value
    ColumnStyle style = ColumnStyle::number;
    std::string_view brief_title;  ///< title in Markdown's short table; empty if the column is not in it
    std::string_view definition;   ///< meaning of the figure, in one or two sentences
    /// The value for a point. Absent: not measured. +infinity: the percentile falls among failures.
    std::function<std::optional<double>(const ReportPoint& point)> value;
};

/// All columns: throughput, latency, cost, outcomes of the requests, and the other figures of the run.
std::span<const ReportColumn> report_columns();

/// The columns that at least one point of the model has a value for.
std::vector<const ReportColumn*> columns_in_use(const ReportModel& model);

/// The text of a cell.
std::string cell_of(const ReportColumn& column, const ReportPoint& point);

}  // namespace paretoken::reports
