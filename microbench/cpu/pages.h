#pragma once
// A ring's memory as pages in random order: the same permutation for whoever fills it, computes on it or only
// reads it. Page tables of real servers look like this after a while.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/cpu/ring.h"
#include "microbench/kernel.h"

namespace paretoken::microbench {

class PageOrder {
  public:
    PageOrder() = default;
    /// Of all whole pages of the ring; deterministic for a seed.
    PageOrder(const Ring& ring, std::size_t page_size, std::uint64_t seed);

    bool empty() const { return pages_.empty(); }
    /// Where slot `i` of the order in which pages are used lies, in pages from the start of the ring.
    std::span<const std::uint32_t> pages() const { return pages_; }
    /// The slots that belong to a stretch of `size` bytes at `offset` of the ring.
    std::span<const std::uint32_t> of(std::size_t offset, std::size_t size) const;
    /// The window as it looks in this order.
    Window permuted(const Window& window, const std::byte* begin) const;

  private:
    std::size_t page_size_ = 0;
    std::vector<std::uint32_t> pages_;
};

}  // namespace paretoken::microbench
