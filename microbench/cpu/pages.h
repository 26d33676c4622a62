#pragma once
// Puts the pages of a ring's memory (microbench/cpu/ring.h) into a random order, as in a server's page table.
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
    /// Orders all whole pages of the ring; deterministic for a seed.
    PageOrder(const Ring& ring, std::size_t page_size, std::uint64_t seed);

    bool empty() const { return pages_.empty(); }
    /// Returns the pages in the order of use, as numbers counted from the start of the ring.
    std::span<const std::uint32_t> pages() const { return pages_; }
    /// Returns the pages that are used in place of the `size` bytes at byte `offset` of the ring, numbered
    /// as in pages(). Both must be multiples of the page size. Must not be called for an empty order.
    std::span<const std::uint32_t> of(std::size_t offset, std::size_t size) const;
    /// Returns the window with the pages that are used in its place: a copy of equal sizes whose `data` is
    /// `begin`, the start of the ring's memory, and whose `pages` are counted from there. The window must
    /// begin and end at multiples of the page size. Must not be called for an empty order.
    Window permuted(const Window& window, const std::byte* begin) const;

  private:
    std::size_t page_size_ = 0;
    std::vector<std::uint32_t> pages_;
};

}  // namespace paretoken::microbench
