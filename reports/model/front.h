#pragma once
// The Pareto front over configurations. Points are compared if their configurations serve the same model
// under the same workload and are priced on the same basis. A point dominates a point of another
// configuration only if its own figures are certified and its quality is neither certainly worse nor unknown.
// Pure.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/slo.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// A quantity for the horizontal axis of a front.
struct FrontX {
    std::string_view name;  ///< name that --x takes: "ttft_p95"
    std::string_view tag;   ///< tag of the metric
    double p = 0.9;         ///< percentile of the metric
    bool higher_is_better = false;
    double scale = 1;        ///< factor from the metric's unit to the shown unit
    std::string_view title;  ///< title of the axis
    std::string_view brief;  ///< text on the switch between axes
};
std::span<const FrontX> front_xs();

/// A further value of --x. There is no front over the date; the page draws the history of every load instead.
inline constexpr std::string_view kDateAxis = "date";

/// A quantity for the vertical axis of a front.
struct FrontY {
    std::string_view name;  ///< name that --y takes: "usd_per_m"
    bool higher_is_better = false;
    std::string_view title;
    std::string_view brief;
};
std::span<const FrontY> front_ys();

/// The index of a pair of axes in ReportPoint::places.
std::size_t place_of_axes(std::size_t x, std::size_t y);

/// The index of a name in front_xs() or front_ys(). Both throw a UsageError that lists the known names.
std::size_t front_x_named(std::string_view name);
std::size_t front_y_named(std::string_view name);

/// The point's value on the axis, in shown units; nothing when the percentile falls among failures or was not
/// measured.
std::optional<double> front_value(const ReportPoint& point, const FrontX& x);

/// Output tokens/s divided by the number of GPUs or machines.
std::optional<double> tokens_per_s_per_gpu(const ReportPoint& point);

struct FrontOptions {
    std::size_t x = 0;
    std::size_t y = 0;
    bool over_time = false;      ///< whether the page opens with the history of every load
    std::vector<Slo> slos = {};  ///< limits; a point that does not certainly meet them is on no front
    bool quality_equal = false;  ///< whether the user says that all configurations answer equally well
    bool anyway = false;         ///< whether all valid points are compared with each other
};

/// Sets every point's `places`, and its `on_front`, `within_noise` and `why_not` for the axes asked for. The
/// note says which configurations are not compared with each other.
FrontNote place_on_fronts(std::vector<Configuration>& configurations, const FrontOptions& options);

}  // namespace paretoken::reports
