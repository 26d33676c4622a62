#include "core/record/event_pass.h"

#include <algorithm>
#include <numeric>

namespace paretoken {

EventPass::EventPass(const RequestTable& requests, const EventSource& events)
    : requests_(requests), events_(events) {}

std::size_t EventPass::row_of(const RequestKey& key, std::size_t likely,
                              std::vector<std::uint32_t>& by_key) const {
    if (likely < requests_.size() && requests_.key(likely) == key) return likely;
    if (by_key.empty()) {
        by_key.resize(requests_.size());
        std::iota(by_key.begin(), by_key.end(), 0U);
        std::ranges::sort(
            by_key, [&](std::uint32_t a, std::uint32_t b) { return requests_.key(a) < requests_.key(b); });
    }
    const auto found = std::lower_bound(
        by_key.begin(), by_key.end(), key,
        [&](std::uint32_t row, const RequestKey& wanted) { return requests_.key(row) < wanted; });
    if (found == by_key.end() || requests_.key(*found) != key) return requests_.size();
    return *found;
}

}  // namespace paretoken
