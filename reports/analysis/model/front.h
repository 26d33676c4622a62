#pragma once
// Computes the Pareto front over configurations. Points are compared if their configurations serve the same
// model under the same workload and, on an axis in dollars, have a price on the same basis. A point dominates
// one of another configuration only if its percentile is certified and its quality is not certainly worse;
// without quality scores, number formats must be equal. FrontOptions::anyway drops these conditions.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result/slo.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

struct FrontX {
    std::string_view name;  ///< value of --x: "ttft_p95"
    std::string_view tag;   ///< tag of the metric (core/result/metrics.h): "ttft"
    double p = 0.9;         ///< level of the percentile of the metric
    bool higher_is_better = false;
    double scale = 1;        ///< factor from the metric's unit to the shown unit
    std::string_view title;  ///< title of the axis
    std::string_view brief;  ///< text on the switch between axes
};
std::span<const FrontX> front_xs();  ///< all of them; the first is the default

/// A further value of --x. There is no front over the date; the page draws the history of every load instead.
inline constexpr std::string_view kDateAxis = "date";

struct FrontY {
    std::string_view name;  ///< value of --y: "usd_per_m"
    bool higher_is_better = false;
    std::string_view title;  ///< title of the axis
    std::string_view brief;  ///< text on the switch between axes
};
std::span<const FrontY> front_ys();  ///< all of them; the first is the default

/// The index of a pair of axes in ReportPoint::places. `x` and `y` are indices in front_xs() and front_ys().
std::size_t place_of_axes(std::size_t x, std::size_t y);

/// The index of the quantity with this name in front_xs() or front_ys(). If there is none, the functions
/// throw a UsageError that lists the known names. They also throw for kDateAxis, which has no index.
std::size_t front_x_named(std::string_view name);
std::size_t front_y_named(std::string_view name);

/// The point's value on the axis, in the unit that is shown (FrontX::scale); nothing when the percentile
/// falls among failures or was not measured.
std::optional<double> front_value(const ReportPoint& point, const FrontX& x);

/// Output tokens/s divided by the number of GPUs or machines; nothing without output tokens.
std::optional<double> tokens_per_s_per_gpu(const ReportPoint& point);

struct FrontOptions {
    std::size_t x = 0;           ///< index in front_xs()
    std::size_t y = 0;           ///< index in front_ys()
    bool over_time = false;      ///< whether the page opens with the history of every load
    std::vector<Slo> slos = {};  ///< limits; a point that does not certainly meet them is on no front
    bool quality_equal = false;  ///< whether the user says that all configurations answer equally well
    bool anyway = false;         ///< whether configurations are compared although they differ (--anyway);
                                 ///< without prices they are still not compared in dollars
};

/// Sets every point's `places` for all pairs of axes, and its `on_front`, `on_own_front`, `within_noise` and
/// `why_not` for the axes in `options`. Returns which configurations are not compared with each other.
FrontNote place_on_fronts(std::vector<Configuration>& configurations, const FrontOptions& options);

}  // namespace paretoken::reports
