#pragma once
// Compares results side by side: figures, ratios with intervals, differences of conditions, and a sentence
// per load. It gives no verdict; that is the gate's. The functions are pure.
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

struct ComparedSide {
    std::string name;  ///< as the user gave it
    std::vector<ReportPoint> points = {};
};

/// A figure of one side at one load: the mean over its runs.
struct SideFigure {
    double value = 0;
    /// Its ratio to the figure of the first side; absent for that side. The interval is Welch's on the
    /// logarithms with several runs per side, otherwise from those within the runs; absent if a run has none.
    std::optional<double> ratio = {};
    std::optional<Interval> ratio_ci95 = {};

    bool operator==(const SideFigure&) const = default;
};

struct FigureRow {
    std::string title;  ///< "TTFT p50, ms"
    bool higher_is_better = false;
    std::vector<std::optional<SideFigure>> sides = {};  ///< one for each side; absent if it was not measured

    bool operator==(const FigureRow&) const = default;
};

struct LoadComparison {
    std::string load;                         ///< "c=8"
    std::vector<FigureRow> figures = {};      ///< those that at least one side has
    std::vector<std::string> sentences = {};  ///< one for each side but the first

    bool operator==(const LoadComparison&) const = default;
};

struct ResultComparison {
    std::vector<std::string> differences;  ///< differences of conditions, and what is wrong with a side
    std::vector<LoadComparison> loads;
    bool workloads_differ =
        false;  ///< whether the dataset or the lengths of requests are among the differences

    bool operator==(const ResultComparison&) const = default;
};

/// Compares each side with the first one, load by load. Runs that are invalid are left out, and named.
ResultComparison comparison_of(const std::vector<ComparedSide>& sides);

}  // namespace paretoken::reports
