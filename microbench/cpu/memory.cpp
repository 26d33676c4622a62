#include "microbench/cpu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace paretoken::microbench {
namespace {
constexpr std::size_t kHugePage = 2 << 20;
}

HugeMemory::HugeMemory(std::size_t size) : mapped_(size + kHugePage), size_(size) {
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) {
        mapping_ = nullptr;
        throw RuntimeError(fmt::format("cannot map {} MiB of memory ({}): use a smaller --working-set",
                                       size >> 20, std::strerror(errno)));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    data_ = static_cast<std::byte*>(mapping_) + (kHugePage - address % kHugePage) % kHugePage;
    madvise(data_, size_, MADV_HUGEPAGE);  // may be refused: slower, but still right
}

HugeMemory::~HugeMemory() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

HugeMemory::HugeMemory(HugeMemory&& other) noexcept {
    *this = std::move(other);
}

HugeMemory& HugeMemory::operator=(HugeMemory&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

}  // namespace paretoken::microbench
