#pragma once
// Large memory in huge pages, if the kernel grants them: reading 1 GiB in 4 KiB pages would measure the TLB.
// Memory that is given back is kept, because providing 1 GiB takes the kernel up to a second.
#include <cstddef>
#include <optional>
#include <span>

namespace paretoken::microbench {

class HugeMemory {
  public:
    HugeMemory() = default;
    /// Allocates `size` bytes aligned to 2 MiB, whose content is not defined. Must be called on the pinned
    /// thread that will use the memory. Throws RuntimeError when the system refuses the allocation.
    explicit HugeMemory(std::size_t size);
    ~HugeMemory();
    HugeMemory(HugeMemory&& other) noexcept;
    HugeMemory& operator=(HugeMemory&& other) noexcept;

    std::byte* data() { return data_; }
    const std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::span<std::byte> bytes() { return {data_, size_}; }

  private:
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    int cpu_ = -1;  ///< the CPU that allocated it; -1 if unknown
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Returns the share of this process's anonymous memory in huge pages; nothing if the kernel does not tell.
std::optional<double> huge_page_share();

}  // namespace paretoken::microbench
