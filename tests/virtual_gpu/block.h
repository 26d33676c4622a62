#pragma once
// Executes thread blocks: their warps, their shared memory and their accesses to device memory. The warps of
// a block run one after another, each up to the next barrier of the block. The lanes of a warp run together
// while they are at the same instruction; if they are at different instructions, the lanes that are furthest
// behind in the program run first.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/virtual_gpu/block_order.h"
#include "tests/virtual_gpu/launch_types.h"
#include "tests/virtual_gpu/memory.h"
#include "tests/virtual_gpu/program.h"
#include "tests/virtual_gpu/shared_memory.h"

namespace paretoken::virtual_gpu {

/// Thrown when a kernel does something that is not allowed, such as an access out of bounds. It ends the
/// launch.
struct FaultFound {
    Fault fault;
};

/// Runs the blocks of one launch, one after another. The arguments of the constructor must stay valid as long
/// as this object.
class Block {
  public:
    /// `parameters` are the parameters of the kernel as bytes. Costs are added to `report`.
    Block(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
          Memory& memory, const LaunchSettings& settings, LaunchReport& report);

    /// Runs all threads of the block with this position in the grid (x, y, z) to their end. Throws
    /// FaultFound.
    void run(std::array<unsigned, 3> at);

  private:
    /// Lanes of a warp that are at the same instruction.
    struct Group {
        std::int32_t at = 0;       ///< index of the instruction that the lanes execute next
        std::uint32_t lanes = 0;   ///< one bit per lane
        std::uint32_t awaits = 0;  ///< lanes that must arrive at this instruction before the group continues
    };
    /// An asynchronous copy (cp.async) from device memory to shared memory.
    struct Copy {
        std::uint32_t shared = 0;  ///< address of the destination
        std::uint64_t global = 0;  ///< address of the source
        std::uint8_t bytes = 0;    ///< size of the destination
        std::uint8_t read = 0;     ///< bytes that are read from the source; the others become zero
    };
    /// The asynchronous copies of one thread, oldest first. A copy arrives when its data is written to shared
    /// memory. The list is cleared when all copies have arrived.
    struct Copies {
        std::vector<Copy> issued = {};
        std::size_t arrived = 0;             ///< number of copies that have arrived
        std::vector<std::size_t> ends = {};  ///< end of each committed group, as an index into `issued`
        std::size_t ended = 0;               ///< number of groups whose copies have arrived

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
        std::vector<Group> groups = {};  ///< the first group runs next
        std::uint32_t live = 0;          ///< lanes that have not exited, one bit per lane
        int first_thread = 0;            ///< index in the block of the thread in lane 0
        int index = 0;                   ///< index of the warp in the block
        std::uint32_t epoch = 0;         ///< barriers passed (of the warp or the block) and blocks begun
        bool at_barrier = false;         ///< the warp has arrived at a barrier of the block
        std::array<Copies, kLanes> copies = {};                        ///< per lane
        std::array<std::array<std::uint32_t, kLanes>, 3> places = {};  ///< %tid: [axis][lane]
    };
    /// The memory that the lanes of a warp access with one instruction.
    struct Places {
        std::array<std::byte*, kLanes> at;          ///< per active lane: the memory on the host
        std::array<std::uint64_t, kLanes> address;  ///< per lane: the address that the instruction computes
        std::array<std::uint64_t, kLanes> global;   ///< accessed addresses in device memory
        std::array<std::uint64_t, kLanes> shared;   ///< accessed addresses in shared memory
        std::size_t globals = 0;                    ///< number of addresses in `global`
        std::size_t shareds = 0;                    ///< number of addresses in `shared`
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
    std::array<unsigned, 3> at_{};  ///< position of the running block in the grid
    std::vector<Warp> warps_;
    SharedMemory shared_;
    BlockOrder order_;
    std::uint32_t rounds_ = 0;              ///< number of barriers that the running block has passed
    const Instruction* current_ = nullptr;  ///< the instruction that is executed, for messages
    Places places_;
    std::vector<std::uint64_t> sectors_;  ///< used by count_global; kept so that it is not allocated again
};

}  // namespace paretoken::virtual_gpu
