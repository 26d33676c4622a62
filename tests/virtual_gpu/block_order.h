#pragma once
// Finds loads from device memory that, on a GPU, might not see the write of another thread block of the same
// launch. Here the blocks run one after another and see all earlier writes. On a GPU, a write is certain to
// be visible to other blocks only after its thread, or a thread that passed a barrier of the block after the
// write, has executed a fence; and a load is certain to see the write only if the load bypasses L1.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace paretoken::virtual_gpu {

class BlockOrder {
  public:
    /// Records a store of the running block. `rounds` is the number of barriers that the block has passed.
    void stored(int warp, std::uint32_t rounds, std::uintptr_t at, std::size_t bytes);
    /// Records a fence of the device by a thread of this warp. It makes the earlier writes of this warp, and
    /// those of the whole block from before its last barrier, visible to all blocks.
    void fenced(int warp, std::uint32_t rounds);
    void end_block();

    /// Checks a load. Returns null if no other block wrote its bytes or if their writes are visible;
    /// otherwise returns the reason why they might not be.
    const char* trouble(std::uintptr_t at, std::size_t bytes, bool past_l1) const;
    /// Returns false if no other block wrote any of these bytes.
    bool concerns(std::uintptr_t at, std::size_t bytes) const;

  private:
    struct Store {
        int warp = 0;
        std::uint32_t rounds = 0;
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        bool fenced = false;
    };
    struct Written {
        std::uintptr_t end = 0;
        bool fenced = false;
    };
    /// Ranges that earlier blocks wrote. The key is the first address; no two ranges overlap.
    using Ranges = std::map<std::uintptr_t, Written>;
    Ranges::const_iterator first_in(std::uintptr_t at, std::size_t bytes) const;
    void cut_out(std::uintptr_t begin, std::uintptr_t end);
    void add(const Store& store);

    std::vector<Store> stores_;  ///< of the running block
    Ranges earlier_;
};

}  // namespace paretoken::virtual_gpu
