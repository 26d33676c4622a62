#pragma once
// One thread block: its warps, its shared memory, and what it does to device memory. Warps run one after
// another from barrier to barrier; the lanes of a warp run together while they stand at the same instruction,
// those that are behind first.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/virtual_gpu/block_order.h"
#include "tests/virtual_gpu/launch.h"
#include "tests/virtual_gpu/program.h"
#include "tests/virtual_gpu/shared_memory.h"

namespace paretoken::virtual_gpu {

/// Ends a launch.
struct FaultFound {
    Fault fault;
};

class Block {
  public:
    Block(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
          Memory& memory, const LaunchSettings& settings, LaunchReport& report);

    /// Runs all threads to their end. Throws FaultFound.
    void run(std::array<unsigned, 3> at);

  private:
    /// Lanes at one instruction.
    struct Group {
        std::int32_t at = 0;
        std::uint32_t lanes = 0;
        std::uint32_t awaits = 0;  ///< lanes that must come here before it may go on
    };
    struct Copy {
        std::uint32_t shared = 0;
        std::uint64_t global = 0;
        std::uint8_t bytes = 0;
        std::uint8_t read = 0;
    };
    /// Of one thread: copies not yet waited for, oldest first.
    struct Copies {
        std::vector<Copy> issued = {};
        std::size_t arrived = 0;  ///< of those issued
        std::vector<std::size_t> ends =
            {};                 ///< of groups among those issued; what comes after is not committed
        std::size_t ended = 0;  ///< groups that have arrived

        void commit() { ends.push_back(issued.size()); }
        void clear() {
            issued.clear();
            ends.clear();
            arrived = ended = 0;
        }
    };
    struct Warp {
        explicit Warp(const Kernel& kernel);
        Lanes lanes;
        std::vector<Group> groups = {};
        std::uint32_t live = 0;
        int first_thread = 0;
        int index = 0;
        std::uint32_t epoch = 0;  ///< barriers passed, of the warp and of the block, in all blocks
        bool at_barrier = false;
        std::array<Copies, kLanes> copies = {};
        std::array<std::array<std::uint32_t, kLanes>, 3> places = {};  ///< %tid
    };
    /// A warp-wide access: what its active lanes touch.
    struct Places {
        std::array<std::byte*, kLanes> at;
        std::array<std::uint64_t, kLanes> address;
        std::array<std::uint64_t, kLanes> global;  ///< addresses, of the first `globals`
        std::array<std::uint64_t, kLanes> shared;
        std::size_t globals = 0;
        std::size_t shareds = 0;
    };

    void start(Warp& warp);
    void run(Warp& warp);
    void choose(Warp& warp);
    bool step(Warp& warp);
    void branch(Warp& warp, const Instruction& instruction, std::uint32_t taken);
    void leave(Warp& warp, std::uint32_t lanes);
    bool exchange(Warp& warp, const Instruction& instruction, std::uint32_t active);
    void exchange_among(Warp& warp, const Instruction& instruction, std::uint32_t lanes);
    std::uint32_t guarded(const Warp& warp, const Instruction& instruction) const;

    void set_special(Warp& warp, const Instruction& instruction) const;
    void load(Warp& warp, const Instruction& instruction);
    void store(Warp& warp, const Instruction& instruction);
    void atomic(Warp& warp, const Instruction& instruction);
    void load_matrices(Warp& warp, const Instruction& instruction);
    void copy_async(Warp& warp, const Instruction& instruction);
    void finish_copies(Warp& warp, int lane, std::size_t pending);

    std::uint64_t address(const Warp& warp, const Instruction& instruction, int lane) const;
    void find_places(Warp& warp, const Instruction& instruction, std::size_t bytes, Touch how);
    void take_addresses(const Warp& warp, const Instruction& instruction);
    bool find_in_one_allocation(const Warp& warp, const Instruction& instruction, std::size_t bytes,
                                Touch how);
    std::byte* global_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes, bool write);
    std::byte* shared_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes, Touch how);
    const std::byte* parameter_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes) const;
    void require_aligned(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes) const;
    void require_order(const Warp& warp, std::size_t bytes, Touch how, bool past_l1);
    void count_global(std::span<const std::uint64_t> addresses, std::size_t bytes, bool write);
    void count_shared(std::span<const std::uint64_t> addresses, std::size_t bytes);

    [[noreturn]] void fail(FaultKind kind, const Warp& warp, int lane, const std::string& what) const;

    const Kernel& kernel_;
    const LaunchShape& shape_;
    std::span<const std::byte> parameters_;
    Memory& memory_;
    const LaunchSettings& settings_;
    LaunchReport& report_;
    std::array<unsigned, 3> at_{};
    std::vector<Warp> warps_;
    SharedMemory shared_;
    BlockOrder order_;
    std::uint32_t rounds_ = 0;  ///< barriers of the block passed
    const Instruction* current_ = nullptr;
    Places places_;
    std::vector<std::uint64_t> sectors_;
};

}  // namespace paretoken::virtual_gpu
