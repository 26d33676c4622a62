#pragma once
// Computes the points that no other point dominates, where a large x and a small y are better. Equal points
// do not dominate each other; points that are not finite are not on the front.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace paretoken::reports {

struct ParetoPoint {
    double x = 0;  ///< larger is better
    double y = 0;  ///< smaller is better
};

struct ParetoPlace {
    bool on_front = false;
    /// The index of a point on the front that dominates it; absent if there is none.
    std::optional<std::size_t> dominated_by;

    bool operator==(const ParetoPlace&) const = default;
};

/// Sorts and scans the points once, in O(n log n).
std::vector<ParetoPlace> pareto_front(std::span<const ParetoPoint> points);

/// Whether `better` is at least as good as `worse` in both coordinates and better in one.
bool dominates(const ParetoPoint& better, const ParetoPoint& worse);

}  // namespace paretoken::reports
