#include "microbench/cpu/pages.h"

#include <numeric>
#include <utility>

#include "core/random.h"

namespace paretoken::microbench {

PageOrder::PageOrder(const Ring& ring, std::size_t page_size, std::uint64_t seed)
    : page_size_(page_size), pages_(ring.size() / page_size) {
    std::iota(pages_.begin(), pages_.end(), 0U);
    Random random(seed);
    for (std::size_t i = pages_.size(); i > 1; --i) std::swap(pages_[i - 1], pages_[random() % i]);
}

std::span<const std::uint32_t> PageOrder::of(std::size_t offset, std::size_t size) const {
    return std::span(pages_).subspan(offset / page_size_, size / page_size_);
}

Window PageOrder::permuted(const Window& window, const std::byte* begin) const {
    Window result = window;
    result.data = begin;
    result.pages = of(static_cast<std::size_t>(window.data - begin), window.size);
    result.page_size = page_size_;
    return result;
}

}  // namespace paretoken::microbench
