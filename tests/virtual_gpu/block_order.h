#pragma once
// Finds loads from device memory that, on a GPU, might not see the write of another thread block of the same
// launch. Here the blocks run one after another and see all earlier writes. On a GPU, a write is certain to
// be visible to other blocks only after its thread, or a thread that passed a barrier of the block after the
// write, has executed a fence; and a load is certain to see the write only if the load bypasses L1. Two
// things are simpler here: a fence by one lane counts as a fence by all lanes of its warp, and atomic
// accesses are not examined.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace paretoken::virtual_gpu {

/// The writes of the blocks of one launch. All addresses are addresses in device memory.
class BlockOrder {
  public:
    /// Records a store by a warp of the running block to the bytes [at, at + bytes). `rounds` is the number
    /// of barriers that the block has passed.
    void stored(int warp, std::uint32_t rounds, std::uintptr_t at, std::size_t bytes);
    /// Records a fence by a thread of this warp that orders writes for the whole device. It makes the earlier
    /// writes of this warp, and those of the whole block from before its last barrier, visible to all blocks.
    void fenced(int warp, std::uint32_t rounds);
    /// Ends the running block. From now on, its writes are those of another block.
    void end_block();

    /// Checks a load by the running block; `past_l1` tells that it bypasses L1. Returns null if no other
    /// block wrote the bytes [at, at + bytes), if the running block has overwritten them, or if the writes
    /// are visible. Otherwise returns the reason why they might not be.
    const char* trouble(std::uintptr_t at, std::size_t bytes, bool past_l1) const;
    /// Returns whether another block wrote any of these bytes and the running block has not overwritten them.
    bool concerns(std::uintptr_t at, std::size_t bytes) const;

  private:
    /// One store of the running block, or several that continue each other: [begin, end).
    struct Store {
        int warp = 0;
        std::uint32_t rounds = 0;
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        bool fenced = false;
    };
    struct Written {
        std::uintptr_t end = 0;  ///< address after the last byte
        bool fenced = false;     ///< a fence followed, so that a load that bypasses L1 sees the write
    };
    /// Ranges of bytes. The key is the first address; no two ranges overlap.
    using Ranges = std::map<std::uintptr_t, Written>;
    /// Returns the first range that overlaps [at, at + bytes), or the end.
    Ranges::const_iterator first_in(std::uintptr_t at, std::size_t bytes) const;
    /// Removes the bytes [begin, end) from the ranges.
    void cut_out(std::uintptr_t begin, std::uintptr_t end);
    void add(const Store& store);

    std::vector<Store> stores_;  ///< of the running block
    Ranges earlier_;  ///< bytes that earlier blocks wrote and the running block has not overwritten
};

}  // namespace paretoken::virtual_gpu
