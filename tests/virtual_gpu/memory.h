#pragma once
// Device memory of the virtual GPU. Device memory is host memory, and a device address is its host address,
// so that a copy to the device is a memcpy. Each access of a kernel is checked against the allocations and
// against the bytes that were written, as the tools memcheck and initcheck of compute-sanitizer do.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace paretoken::virtual_gpu {

inline constexpr std::size_t kSector = 32;  ///< bytes: the smallest unit in which device memory is read

/// One allocation, with three bitmaps: one bit per byte that was written, one bit per 32-byte sector that the
/// launch in progress has read, and one bit per sector that it has written. Each bitmap is allocated when it
/// is first used.
class Allocation {
  public:
    explicit Allocation(std::size_t bytes);

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    /// Returns whether all bytes of [at, at + bytes) lie in this allocation.
    bool holds(std::uintptr_t at, std::size_t bytes) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(data_);
        return at >= begin && at - begin <= bytes_ && bytes <= bytes_ - (at - begin);
    }

    /// Marks bytes as written. Offsets count from the first byte of the allocation.
    void mark_written(std::size_t offset, std::size_t bytes);
    /// Returns whether all of these bytes were written.
    bool is_written(std::size_t offset, std::size_t bytes) const {
        if (wholly_written_) return true;
        if (written_.empty() || offset % 64 + bytes > 64 || bytes >= 64)
            return bits_are_written(offset, bytes);
        const std::uint64_t mask = ((1ULL << bytes) - 1) << (offset % 64);
        return (written_[offset / 64] & mask) == mask;
    }
    bool is_wholly_written() const { return wholly_written_; }
    /// Marks a sector as read or as written by the current launch. Returns true if it was not marked before.
    /// `sector` counts from the beginning of the allocation.
    bool touch_sector(std::size_t sector, bool write) {
        std::vector<std::uint64_t>& touched = write ? sectors_written_ : sectors_read_;
        if (touched.empty()) touched.resize(bytes_ / kSector / 64 + 1);
        std::uint64_t& word = touched[sector / 64];
        const std::uint64_t bit = 1ULL << (sector % 64);
        if ((word & bit) != 0) return false;
        word |= bit;
        return true;
    }
    /// Removes all marks of sectors, because another launch begins.
    void forget_touched();

  private:
    bool bits_are_written(std::size_t offset, std::size_t bytes) const;

    std::unique_ptr<std::byte[]> storage_;
    /// Aligned to 256 bytes. A new allocation of at most 64 MiB is filled with the byte 0xa5.
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    bool wholly_written_ = false;  ///< one call of mark_written covered the whole allocation
    std::vector<std::uint64_t> written_;
    std::vector<std::uint64_t> sectors_read_;
    std::vector<std::uint64_t> sectors_written_;
};

/// All device memory of one virtual GPU.
class Memory {
  public:
    /// `capacity` is the size of the memory in bytes.
    explicit Memory(std::size_t capacity) : capacity_(capacity) {}

    /// Returns null if the free capacity is too small. The memory is not initialised: a read before a write
    /// is a fault.
    std::byte* allocate(std::size_t bytes);
    /// Returns false if no allocation begins at this address.
    bool free(const void* at);
    /// The allocation that contains all of [at, at + bytes); null if there is none.
    Allocation* find(std::uintptr_t at, std::size_t bytes) {
        return last_ != nullptr && last_->holds(at, bytes) ? last_ : searched(at, bytes);
    }
    /// The allocation that is nearest to an address, for messages; null if there are no allocations.
    const Allocation* nearest(std::uintptr_t at) const;
    /// Marks bytes that the host copies to the device or sets. Returns false if no single allocation contains
    /// all of them.
    bool mark_written(const void* at, std::size_t bytes);
    /// Calls Allocation::forget_touched for all allocations.
    void forget_touched();

    std::size_t capacity() const { return capacity_; }  ///< bytes
    std::size_t used() const { return used_; }          ///< bytes of all allocations

  private:
    Allocation* searched(std::uintptr_t at, std::size_t bytes);

    std::map<std::uintptr_t, Allocation> allocations_;  ///< key: first address
    Allocation* last_ = nullptr;                        ///< result of the last successful find()
    std::size_t capacity_;
    std::size_t used_ = 0;
};

}  // namespace paretoken::virtual_gpu
