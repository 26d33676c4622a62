#include "reports/analysis/model/pareto.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paretoken::reports {
namespace {

bool is_number(const ParetoPoint& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
}

}  // namespace

bool dominates(const ParetoPoint& better, const ParetoPoint& worse) {
    return better.x >= worse.x && better.y <= worse.y && (better.x > worse.x || better.y < worse.y);
}

std::vector<ParetoPlace> pareto_front(std::span<const ParetoPoint> points) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return !is_number(points[i]); });
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return points[a].x != points[b].x ? points[a].x > points[b].x : points[a].y < points[b].y;
    });
    std::vector<ParetoPlace> places(points.size());
    std::optional<std::size_t> best;  // the cheapest point among those at least as fast
    for (const std::size_t i : order) {
        const bool equal = best && points[*best].x == points[i].x && points[*best].y == points[i].y;
        if (!best || points[i].y < points[*best].y)
            best = i;
        else if (!equal)
            places[i].dominated_by = best;
        places[i].on_front = !places[i].dominated_by;
    }
    return places;
}

}  // namespace paretoken::reports
