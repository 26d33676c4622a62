#pragma once
// Compares two micro.json files row by row: "same" if the median speeds differ by at most a given share,
// otherwise "faster" or "slower", or "ambiguous" if the intervals overlap or a row is not valid.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::reports {

enum class MicroVerdict { faster, slower, same, ambiguous };
std::string_view name_of(MicroVerdict verdict);

/// The median speed of a row in RowComparison::unit, and the interval over its windows: [p25, p75] if both
/// files have both, otherwise [p10, p90].
struct Speed {
    double median = 0;
    Interval interval;

    bool operator==(const Speed&) const = default;
};

/// The verdict is "same" if the medians differ by at most `least_effect` (0.03: 3 %) in either direction. It
/// is "faster" or "slower" if they differ by more and the intervals do not overlap, otherwise "ambiguous".
MicroVerdict verdict_of(const Speed& before, const Speed& after, double least_effect);

/// operations_per_s is 1 ÷ the median time, for rows that state neither bytes nor FLOP.
enum class SpeedUnit { bytes_per_s, flops_per_s, operations_per_s };

struct RowComparison {
    std::string name;
    MicroVerdict verdict = MicroVerdict::ambiguous;
    SpeedUnit unit = SpeedUnit::operations_per_s;
    std::optional<Speed> before = {};  ///< absent if the row failed or the file lacks its percentiles
    std::optional<Speed> after = {};   ///< as `before`, in the second file
    /// Reason why the rows cannot be compared (`verdict` is then ambiguous); may be empty.
    std::string note = {};

    bool operator==(const RowComparison&) const = default;
    /// The relative change: after ÷ before − 1.
    std::optional<double> effect() const;
};

struct MicroComparison {
    double least_effect = 0;                    ///< share up to which medians count as the same
    std::vector<RowComparison> rows = {};       ///< rows that are in both files, in the order of the first
    std::vector<std::string> only_before = {};  ///< names of rows that only the first file has
    std::vector<std::string> only_after = {};   ///< names of rows that only the second file has
    std::vector<std::string> differences;       ///< differences of devices and settings: "threads: 2, then 4"

    bool operator==(const MicroComparison&) const = default;
    std::size_t count(MicroVerdict verdict) const;  ///< number of rows with this verdict
};

/// The value of `least_effect` that is used by default.
inline constexpr double kLeastEffect = 0.03;

/// Compares the rows that have the same name and the same device id in both files.
MicroComparison comparison_of(const MicroFile& before, const MicroFile& after,
                              double least_effect = kLeastEffect);

/// The comparison as a table for people. The differences of devices and settings come first.
std::string text_of(const MicroComparison& comparison);

}  // namespace paretoken::reports
