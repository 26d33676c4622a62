#pragma once
// The Pareto front of points that want x large (tokens/s per user) and y small (dollars per million tokens).
// Sort and scan; equal points are all kept; a point that is not a number is on no front.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace paretoken::reports {

struct ParetoPoint {
    double x = 0;  ///< larger is better
    double y = 0;  ///< smaller is better
};

/// Of each point, in the order given.
struct ParetoPlace {
    bool on_front = false;
    std::optional<std::size_t>
        dominated_by;  ///< a point of the front that is better; nothing for one with no number

    bool operator==(const ParetoPlace&) const = default;
};

std::vector<ParetoPlace> pareto_front(std::span<const ParetoPoint> points);

/// At least as good in both and better in one.
bool dominates(const ParetoPoint& better, const ParetoPoint& worse);

}  // namespace paretoken::reports
