#pragma once
// Large memory in huge pages, if the kernel grants them: a ring of 1 GiB in 4 KiB pages would measure the
// TLB. Pages are bound to the thread that touches them first.
#include <cstddef>
#include <span>

namespace paretoken::microbench {

class HugeMemory {
  public:
    HugeMemory() = default;
    /// Allocates memory aligned to 2 MiB, zero-filled on first touch. Throws RuntimeError when there is not
    /// enough.
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
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace paretoken::microbench
