#include "simulator/engine/prefix_cache.h"

#include <cassert>

namespace paretoken::sim {

std::optional<std::uint64_t> BlockHasher::add(std::uint64_t token) {
    // The finalizer of splitmix64: every bit of state and token reaches every bit of the result.
    std::uint64_t x = (state_ ^ token) + 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    state_ = x ^ (x >> 31U);
    if (++filled_ < block_tokens_) return std::nullopt;
    filled_ = 0;
    return state_;
}

PrefixCache::PrefixCache(std::int64_t blocks) : entries_(static_cast<std::size_t>(blocks) + 1) {
    for (std::int64_t block = 1; block <= blocks; ++block) enqueue(static_cast<Block>(block));
}

std::size_t PrefixCache::contiguous_hit(std::span<const std::uint64_t> names) const {
    std::size_t hit = 0;
    while (hit < names.size() && named_.contains(names[hit])) ++hit;
    return hit;
}

bool PrefixCache::allocate(std::span<const std::uint64_t> hit, std::int64_t fresh, std::vector<Block>& held,
                           std::vector<std::uint64_t>* displaced) {
    const std::size_t before = held.size();
    std::int64_t woken = 0;
    for (const std::uint64_t name : hit) {
        const Block block = named_.find(name)->second.oldest;
        woken += entries_[static_cast<std::size_t>(block)].uses == 0 ? 1 : 0;
        held.push_back(block);
    }
    if (woken + fresh > idle_) {
        held.resize(before);
        return false;
    }
    for (std::size_t i = before; i < held.size(); ++i) {
        Entry& entry = entries_[static_cast<std::size_t>(held[i])];
        if (entry.uses++ == 0) dequeue(held[i]);
    }
    for (std::int64_t i = 0; i < fresh; ++i) {
        const Block block = entries_[0].after;
        dequeue(block);
        Entry& entry = entries_[static_cast<std::size_t>(block)];
        const bool only = entry.named && entry.same_before == 0 && entry.same_after == 0;
        if (only && displaced != nullptr) displaced->push_back(entry.name);
        unname(block);
        entry.uses = 1;
        held.push_back(block);
    }
    return true;
}

void PrefixCache::name(Block block, std::uint64_t name) {
    Entry& entry = entries_[static_cast<std::size_t>(block)];
    assert(entry.uses > 0);
    unname(block);
    entry.named = true;
    entry.name = name;
    Ends& ends = named_[name];
    if (ends.youngest == 0) {
        ends.oldest = block;
    } else {
        entries_[static_cast<std::size_t>(ends.youngest)].same_after = block;
        entry.same_before = ends.youngest;
    }
    ends.youngest = block;
}

void PrefixCache::release(std::vector<Block>& held) {
    for (auto block = held.rbegin(); block != held.rend(); ++block) {
        Entry& entry = entries_[static_cast<std::size_t>(*block)];
        assert(entry.uses > 0);
        if (--entry.uses == 0) enqueue(*block);
    }
    held.clear();
}

bool PrefixCache::forget() {
    if (idle_ != blocks()) return false;
    named_.clear();
    for (Entry& entry : entries_) {
        entry.named = false;
        entry.same_before = entry.same_after = 0;
    }
    return true;
}

void PrefixCache::enqueue(Block block) {
    Entry& head = entries_[0];
    Entry& entry = entries_[static_cast<std::size_t>(block)];
    entry.before = head.before;
    entry.after = 0;
    entries_[static_cast<std::size_t>(head.before)].after = block;
    head.before = block;
    ++idle_;
}

void PrefixCache::dequeue(Block block) {
    const Entry& entry = entries_[static_cast<std::size_t>(block)];
    entries_[static_cast<std::size_t>(entry.before)].after = entry.after;
    entries_[static_cast<std::size_t>(entry.after)].before = entry.before;
    --idle_;
}

void PrefixCache::unname(Block block) {
    Entry& entry = entries_[static_cast<std::size_t>(block)];
    if (!entry.named) return;
    const auto found = named_.find(entry.name);
    Ends& ends = found->second;
    if (entry.same_before != 0) {
        entries_[static_cast<std::size_t>(entry.same_before)].same_after = entry.same_after;
    } else {
        ends.oldest = entry.same_after;
    }
    if (entry.same_after != 0) {
        entries_[static_cast<std::size_t>(entry.same_after)].same_before = entry.same_before;
    } else {
        ends.youngest = entry.same_before;
    }
    if (ends.oldest == 0) named_.erase(found);
    entry.named = false;
    entry.same_before = entry.same_after = 0;
}

}  // namespace paretoken::sim
