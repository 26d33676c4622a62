#pragma once
// Device memory of the virtual GPU: host memory at host addresses, so that copying to it is copying. What a
// kernel touches is held against what was allocated and written, as compute-sanitizer's memcheck and
// initcheck do.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace paretoken::virtual_gpu {

inline constexpr std::size_t kSector = 32;  ///< bytes: the least that is read of device memory

/// One allocation. Shadows exist from the first use on: a bit per byte that was written, a bit per sector of
/// 32 bytes that the launch in progress read or wrote.
class Allocation {
  public:
    explicit Allocation(std::size_t bytes);

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    bool holds(std::uintptr_t at, std::size_t bytes) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(data_);
        return at >= begin && at - begin <= bytes_ && bytes <= bytes_ - (at - begin);
    }

    void mark_written(std::size_t offset, std::size_t bytes);
    bool is_written(std::size_t offset, std::size_t bytes) const {
        if (wholly_written_) return true;
        if (written_.empty() || offset % 64 + bytes > 64 || bytes >= 64)
            return bits_are_written(offset, bytes);
        const std::uint64_t mask = ((1ULL << bytes) - 1) << (offset % 64);
        return (written_[offset / 64] & mask) == mask;
    }
    bool is_wholly_written() const { return wholly_written_; }
    /// True for sectors that this launch had not touched.
    bool touch_sector(std::size_t sector, bool write) {
        std::vector<std::uint64_t>& touched = write ? sectors_written_ : sectors_read_;
        if (touched.empty()) touched.resize(bytes_ / kSector / 64 + 1);
        std::uint64_t& word = touched[sector / 64];
        const std::uint64_t bit = 1ULL << (sector % 64);
        if ((word & bit) != 0) return false;
        word |= bit;
        return true;
    }
    void forget_touched();

  private:
    bool bits_are_written(std::size_t offset, std::size_t bytes) const;

    std::unique_ptr<std::byte[]> storage_;
    std::byte* data_ = nullptr;  ///< aligned to 256 bytes, poisoned
    std::size_t bytes_ = 0;
    bool wholly_written_ = false;  ///< at once
    std::vector<std::uint64_t> written_;
    std::vector<std::uint64_t> sectors_read_;
    std::vector<std::uint64_t> sectors_written_;
};

class Memory {
  public:
    explicit Memory(std::size_t capacity) : capacity_(capacity) {}

    /// Null when the capacity does not hold it. Not initialised: reading it before writing is a fault.
    std::byte* allocate(std::size_t bytes);
    /// False: nothing was allocated there.
    bool free(const void* at);
    /// The allocation in which [at, at + bytes) lies whole; null when there is none.
    Allocation* find(std::uintptr_t at, std::size_t bytes) {
        return last_ != nullptr && last_->holds(at, bytes) ? last_ : searched(at, bytes);
    }
    /// The allocation to which an address is closest, for messages; null when there is none.
    const Allocation* nearest(std::uintptr_t at) const;
    /// For what the host copies or sets. False when it lies in no allocation.
    bool mark_written(const void* at, std::size_t bytes);
    void forget_touched();

    std::size_t capacity() const { return capacity_; }
    std::size_t used() const { return used_; }

  private:
    Allocation* searched(std::uintptr_t at, std::size_t bytes);

    std::map<std::uintptr_t, Allocation> allocations_;  ///< by first address
    Allocation* last_ = nullptr;
    std::size_t capacity_;
    std::size_t used_ = 0;
};

}  // namespace paretoken::virtual_gpu
