#include "core/stable_sort.h"

#include <algorithm>
#include <numeric>

namespace paretoken {

std::vector<std::size_t> stable_order(std::size_t count,
                                      const std::function<bool(std::size_t, std::size_t)>& is_less) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return is_less(a, b); });
    return order;
}

}  // namespace paretoken
