#pragma once
// Stable sorting of values of any type by one function, which keeps the program small.
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace paretoken {

/// Returns the places from 0 to `count` - 1 in the order of `is_less`, which compares the values at two
/// places. Places of equal values keep their order.
std::vector<std::size_t> stable_order(std::size_t count,
                                      const std::function<bool(std::size_t, std::size_t)>& is_less);

/// Sorts as std::ranges::stable_sort() does.
template <class T, class Less = std::ranges::less, class Projection = std::identity>
void sort_stably(std::vector<T>& values, Less less = {}, Projection projection = {}) {
    std::vector<T> sorted;
    sorted.reserve(values.size());
    for (const std::size_t place : stable_order(values.size(), [&](std::size_t a, std::size_t b) {
             return std::invoke(less, std::invoke(projection, values[a]), std::invoke(projection, values[b]));
         }))
        sorted.push_back(std::move(values[place]));
    values = std::move(sorted);
}

}  // namespace paretoken
