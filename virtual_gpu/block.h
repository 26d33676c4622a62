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

#include "virtual_gpu/launch.h"
#include "virtual_gpu/program.h"

namespace paretoken::virtual_gpu {

/// Ends a launch.
struct FaultFound {
    Fault fault;
};

/// Who touched a byte of shared memory last. Two accesses are ordered when a barrier of the block lies
/// between them, or one of the warp for lanes of the same.
struct SharedByte {
    static constexpr std::int16_t kNobody = -1;
    static constexpr std::int16_t kSeveral = -2;
    struct Access {
        std::int16_t thread = kNobody;
        std::int16_t warp = kNobody;
        std::uint32_t block_epoch = 0;
        std::uint32_t warp_epoch = 0;
    };
    Access write;
    Access read;
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
        bool waits = false;  ///< for lanes that are elsewhere
    };
    struct Copy {
        std::uint32_t shared = 0;
        std::uint64_t global = 0;
        std::uint8_t bytes = 0;
        std::uint8_t read = 0;
    };
    /// Of one thread: copies not yet waited for, oldest first; `open` have not been committed.
    struct Copies {
        std::vector<std::vector<Copy>> groups = {};
        std::vector<Copy> open = {};
    };
    struct Warp {
        explicit Warp(const Kernel& kernel);
        Lanes lanes;
        std::vector<Group> groups = {};
        std::uint32_t live = 0;
        int first_thread = 0;
        int index = 0;
        std::uint32_t epoch = 0;  ///< barriers of the warp passed
        bool at_barrier = false;
        std::array<Copies, kLanes> copies = {};
    };

    void start(Warp& warp);
    void run(Warp& warp);
    bool choose(Warp& warp);
    void merge(Warp& warp);
    bool step(Warp& warp);
    void branch(Warp& warp, const Instruction& instruction, std::uint32_t taken);
    std::uint32_t guarded(const Warp& warp, const Instruction& instruction) const;

    void set_special(Warp& warp, const Instruction& instruction) const;
    void load(Warp& warp, const Instruction& instruction);
    void store(Warp& warp, const Instruction& instruction);
    void atomic(Warp& warp, const Instruction& instruction);
    void load_matrices(Warp& warp, const Instruction& instruction);
    void copy_async(Warp& warp, const Instruction& instruction);
    void finish_copies(Warp& warp, int lane, std::size_t pending);

    std::uint64_t address(const Warp& warp, const Instruction& instruction, int lane) const;
    std::byte* global_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes, bool write);
    std::byte* shared_at(Warp& warp, int lane, std::uint64_t address, std::size_t bytes, bool write);
    void require_aligned(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes) const;
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
    std::vector<std::byte> shared_;
    std::vector<SharedByte> shadow_;
    std::uint32_t epoch_ = 0;  ///< barriers of the block passed
    const Instruction* current_ = nullptr;
    std::vector<std::uint64_t> addresses_;  ///< of the warp-wide access in progress
    std::vector<std::uint64_t> sectors_;
};

}  // namespace paretoken::virtual_gpu
