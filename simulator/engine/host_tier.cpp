#include "simulator/engine/host_tier.h"

namespace paretoken::sim {

void HostTier::keep(std::uint64_t name) {
    if (blocks_ == 0 || wanted(std::span(&name, 1)) == 1) return;
    if (found_.size() == blocks_) {
        found_.erase(order_.front());
        order_.pop_front();
    }
    found_[name] = order_.insert(order_.end(), name);
}

std::size_t HostTier::wanted(std::span<const std::uint64_t> names) {
    std::size_t count = 0;
    for (const std::uint64_t name : names) {
        const auto found = found_.find(name);
        if (found == found_.end()) break;
        order_.splice(order_.end(), order_, found->second);
        ++count;
    }
    return count;
}

void HostTier::forget() {
    order_.clear();
    found_.clear();
}

}  // namespace paretoken::sim
