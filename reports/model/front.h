#pragma once
// The Pareto front over configurations. Points are held against each other where their configurations serve
// the same model under the same workload and are priced on the same basis; a point dominates one of another
// configuration only where its own figures are certified and its quality is not certainly worse or unknown.
// Pure.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/slo.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// What a front may be drawn over.
struct FrontX {
    std::string_view name;  ///< "ttft_p95", as --x takes it
    std::string_view tag;   ///< of the metric
    double p = 0.9;         ///< its percentile
    bool higher_is_better = false;
    double scale = 1;        ///< to what is shown
    std::string_view title;  ///< of the axis
    std::string_view brief;  ///< of the switch
};
std::span<const FrontX> front_xs();

/// Beside these, --x takes the date: no front is over it, and the page draws the history of every load.
inline constexpr std::string_view kDateAxis = "date";

/// What a front may be drawn of.
struct FrontY {
    std::string_view name;  ///< "usd_per_m", as --y takes it
    bool higher_is_better = false;
    std::string_view title;
    std::string_view brief;
};
std::span<const FrontY> front_ys();

/// Place of a pair of axes in ReportPoint::places.
std::size_t place_of_axes(std::size_t x, std::size_t y);

/// Place in front_xs() and front_ys(). Throw UsageError that lists the names.
std::size_t front_x_named(std::string_view name);
std::size_t front_y_named(std::string_view name);

/// In shown units; nothing when it falls among failures or was not measured.
std::optional<double> front_value(const ReportPoint& point, const FrontX& x);

/// Tokens/s of each GPU or machine.
std::optional<double> tokens_per_s_per_gpu(const ReportPoint& point);

struct FrontOptions {
    std::size_t x = 0;
    std::size_t y = 0;
    bool over_time = false;      ///< the page opens with the history of every load
    std::vector<Slo> slos = {};  ///< a point that does not certainly meet them is on no front
    bool quality_equal = false;  ///< the user says that all configurations answer equally well
    bool anyway = false;         ///< everything that is valid is held against everything
};

/// Gives every point its places, and `on_front`, `within_noise` and `why_not` for the axes asked for; says
/// which configurations are not held against each other.
FrontNote place_on_fronts(std::vector<Configuration>& configurations, const FrontOptions& options);

}  // namespace paretoken::reports
