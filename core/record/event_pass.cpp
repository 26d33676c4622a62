#include "core/record/event_pass.h"

#include <algorithm>
#include <numeric>

namespace paretoken {

EventPass::EventPass(const RequestTable& requests, const EventSource& events)
    : requests_(requests), events_(events), by_key_(requests.size()) {
    std::iota(by_key_.begin(), by_key_.end(), 0U);
    std::sort(by_key_.begin(), by_key_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return requests_.key(a) < requests_.key(b); });
}

std::size_t EventPass::row_of(const RequestKey& key, std::size_t likely) const {
    if (likely < requests_.size() && requests_.key(likely) == key) return likely;
    const auto found = std::lower_bound(
        by_key_.begin(), by_key_.end(), key,
        [&](std::uint32_t row, const RequestKey& wanted) { return requests_.key(row) < wanted; });
    if (found == by_key_.end() || requests_.key(*found) != key) return requests_.size();
    return *found;
}

}  // namespace paretoken
