#include "tests/virtual_gpu/memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace paretoken::virtual_gpu {
namespace {

constexpr std::size_t kAlignment = 256;
/// Largest allocation, in bytes, that is filled with kPoison. Larger ones are not, to save time: the bitmap
/// of written bytes is enough to find reads of memory that is not initialised.
constexpr std::size_t kMostPoisoned = 64U << 20;
constexpr int kPoison = 0xa5;

/// Calls act(index of a 64-bit word, mask) for all words of a bitmap that hold bits of [first, first +
/// count).
template <class Act>
void for_words(std::size_t first, std::size_t count, Act act) {
    while (count > 0) {
        const std::size_t bit = first % 64;
        const std::size_t here = std::min<std::size_t>(64 - bit, count);
        const std::uint64_t mask = (here == 64 ? ~0ULL : (1ULL << here) - 1) << bit;
        act(first / 64, mask);
        first += here;
        count -= here;
    }
}

}  // namespace

Allocation::Allocation(std::size_t bytes) : storage_(new std::byte[bytes + kAlignment]), bytes_(bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.get());
    data_ = storage_.get() + (kAlignment - at % kAlignment) % kAlignment;
    if (bytes <= kMostPoisoned) std::memset(data_, kPoison, bytes);
}

void Allocation::mark_written(std::size_t offset, std::size_t bytes) {
    if (wholly_written_) return;
    wholly_written_ = offset == 0 && bytes == bytes_;
    if (wholly_written_) return;
    if (written_.empty()) written_.resize(bytes_ / 64 + 1);
    for_words(offset, bytes, [&](std::size_t word, std::uint64_t mask) { written_[word] |= mask; });
}

bool Allocation::bits_are_written(std::size_t offset, std::size_t bytes) const {
    if (written_.empty()) return bytes == 0;
    bool all = true;
    for_words(offset, bytes,
              [&](std::size_t word, std::uint64_t mask) { all &= (written_[word] & mask) == mask; });
    return all;
}

void Allocation::forget_touched() {
    std::fill(sectors_read_.begin(), sectors_read_.end(), 0);
    std::fill(sectors_written_.begin(), sectors_written_.end(), 0);
}

std::byte* Memory::allocate(std::size_t bytes) {
    if (bytes > capacity_ - used_) return nullptr;
    Allocation allocation(bytes);
    std::byte* const at = allocation.data();
    allocations_.emplace(reinterpret_cast<std::uintptr_t>(at), std::move(allocation));
    used_ += bytes;
    return at;
}

bool Memory::free(const void* at) {
    const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(at));
    if (found == allocations_.end()) return false;
    used_ -= found->second.bytes();
    last_ = nullptr;
    allocations_.erase(found);
    return true;
}

Allocation* Memory::searched(std::uintptr_t at, std::size_t bytes) {
    auto found = allocations_.upper_bound(at);
    if (found == allocations_.begin()) return nullptr;
    --found;
    if (!found->second.holds(at, bytes)) return nullptr;
    last_ = &found->second;
    return last_;
}

const Allocation* Memory::nearest(std::uintptr_t at) const {
    const auto after = allocations_.upper_bound(at);
    if (after == allocations_.begin()) return after == allocations_.end() ? nullptr : &after->second;
    const Allocation& before = std::prev(after)->second;
    if (after == allocations_.end()) return &before;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(before.data()) + before.bytes();
    return at < end || at - end <= after->first - at ? &before : &after->second;
}

bool Memory::mark_written(const void* at, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    Allocation* const allocation = find(address, bytes);
    if (allocation == nullptr) return false;
    allocation->mark_written(address - reinterpret_cast<std::uintptr_t>(allocation->data()), bytes);
    return true;
}

void Memory::forget_touched() {
    for (auto& [at, allocation] : allocations_) allocation.forget_touched();
}

}  // namespace paretoken::virtual_gpu
