#include "tests/virtual_gpu/block_order.h"

#include <iterator>

namespace paretoken::virtual_gpu {

void BlockOrder::stored(int warp, std::uint32_t rounds, std::uintptr_t at, std::size_t bytes) {
    if (concerns(at, bytes)) cut_out(at, at + bytes);  // later loads see the write of this block
    if (!stores_.empty()) {
        Store& last = stores_.back();
        const bool same = last.warp == warp && last.rounds == rounds && !last.fenced;
        if (same && last.end == at) {
            last.end += bytes;
            return;
        }
    }
    stores_.push_back({warp, rounds, at, at + bytes});
}

void BlockOrder::fenced(int warp, std::uint32_t rounds) {
    for (Store& store : stores_) store.fenced |= store.warp == warp || store.rounds < rounds;
}

void BlockOrder::end_block() {
    for (const Store& store : stores_) add(store);
    stores_.clear();
}

BlockOrder::Ranges::const_iterator BlockOrder::first_in(std::uintptr_t at, std::size_t bytes) const {
    auto range = earlier_.upper_bound(at);
    if (range != earlier_.begin() && std::prev(range)->second.end > at) --range;
    return range != earlier_.end() && range->first < at + bytes ? range : earlier_.end();
}

bool BlockOrder::concerns(std::uintptr_t at, std::size_t bytes) const {
    return !earlier_.empty() && first_in(at, bytes) != earlier_.end();
}

const char* BlockOrder::trouble(std::uintptr_t at, std::size_t bytes, bool past_l1) const {
    for (auto range = first_in(at, bytes); range != earlier_.end() && range->first < at + bytes; ++range) {
        if (!range->second.fenced)
            return "another thread block of this launch wrote it without a fence afterwards";
        if (!past_l1)
            return "another thread block of this launch wrote it, and this load may find an older value in "
                   "L1";
    }
    return nullptr;
}

void BlockOrder::cut_out(std::uintptr_t begin, std::uintptr_t end) {
    for (auto found = first_in(begin, end - begin); found != earlier_.end();
         found = first_in(begin, end - begin)) {
        const std::uintptr_t first = found->first;
        const Written range = found->second;
        earlier_.erase(found);
        if (first < begin) earlier_[first] = {begin, range.fenced};
        if (range.end > end) earlier_[end] = {range.end, range.fenced};
    }
}

void BlockOrder::add(const Store& store) {
    cut_out(store.begin, store.end);
    auto at = earlier_.insert_or_assign(store.begin, Written{store.end, store.fenced}).first;
    const auto join = [&](Ranges::iterator one, Ranges::iterator next) {
        if (one->second.end != next->first || one->second.fenced != next->second.fenced) return false;
        one->second.end = next->second.end;
        earlier_.erase(next);
        return true;
    };
    if (std::next(at) != earlier_.end()) join(at, std::next(at));
    if (at != earlier_.begin()) join(std::prev(at), at);
}

}  // namespace paretoken::virtual_gpu
