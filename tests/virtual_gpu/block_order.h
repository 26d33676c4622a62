#pragma once
// What thread blocks of one launch may see of each other's writes to device memory. Here they run one after
// another and see all; on a GPU a write reaches others for sure only once its thread, or one that met it at a
// barrier, has executed a fence, and a load finds it for sure only past L1.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace paretoken::virtual_gpu {

class BlockOrder {
  public:
    /// By the block that runs; `rounds` are the barriers of the block that it has passed.
    void stored(int warp, std::uint32_t rounds, std::uintptr_t at, std::size_t bytes);
    /// A fence of the device by a thread of this warp: its warp's writes, and those from before the last
    /// barrier, may be seen by all.
    void fenced(int warp, std::uint32_t rounds);
    void end_block();

    /// Null: what is loaded was not written by another block, or may be seen; else why not.
    const char* trouble(std::uintptr_t at, std::size_t bytes, bool past_l1) const;
    /// False: no byte of these was written by another block.
    bool concerns(std::uintptr_t at, std::size_t bytes) const;

  private:
    struct Store {
        int warp = 0;
        std::uint32_t rounds = 0;
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        bool fenced = false;
    };
    /// Of earlier blocks, by first address; no two overlap.
    struct Written {
        std::uintptr_t end = 0;
        bool fenced = false;
    };
    using Ranges = std::map<std::uintptr_t, Written>;
    Ranges::const_iterator first_in(std::uintptr_t at, std::size_t bytes) const;
    void cut_out(std::uintptr_t begin, std::uintptr_t end);
    void add(const Store& store);

    std::vector<Store> stores_;  ///< of the block that runs
    Ranges earlier_;
};

}  // namespace paretoken::virtual_gpu
