#include "core/stable_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"

namespace paretoken {
namespace {

struct Item {
    std::uint64_t key = 0;
    std::string name = {};

    bool operator==(const Item&) const = default;
};

TEST(StableSort, orders_as_the_standard_library_does) {
    Random random(1);
    for (const std::size_t count : {0U, 1U, 2U, 17U, 500U}) {
        std::vector<Item> items;
        for (std::size_t i = 0; i < count; ++i) items.push_back({random.below(9), std::to_string(i)});
        std::vector<Item> expected = items;
        std::ranges::stable_sort(expected, {}, &Item::key);
        std::vector<Item> sorted = items;
        sort_stably(sorted, {}, &Item::key);
        EXPECT_EQ(sorted, expected);
        std::ranges::stable_sort(expected, std::ranges::greater{}, &Item::key);
        sort_stably(sorted, std::ranges::greater{}, &Item::key);
        EXPECT_EQ(sorted, expected);
    }
}

TEST(StableSort, moves_values_that_cannot_be_copied) {
    std::vector<std::unique_ptr<int>> values;
    for (const int value : {3, 1, 2}) values.push_back(std::make_unique<int>(value));
    sort_stably(values, {}, [](const auto& value) { return *value; });
    EXPECT_EQ(*values.front(), 1);
    EXPECT_EQ(*values.back(), 3);
}

}  // namespace
}  // namespace paretoken
