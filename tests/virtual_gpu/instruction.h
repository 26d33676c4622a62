#pragma once
// One instruction in the form in which it is executed. Its operands are slots of registers (lanes.h).
#include <cstdint>

#include "tests/virtual_gpu/lanes.h"

namespace paretoken::virtual_gpu {

/// The size of a register per lane: one bit, a cell of 4 bytes, or a cell of 8 bytes.
enum class Cell : std::uint8_t { predicate, narrow, wide };

struct Instruction;
/// Executes an instruction that uses registers only, for the active lanes.
using Execute = void (*)(const Instruction&, Lanes&);

enum class Kind : std::uint8_t {
    compute,  ///< uses registers only, each lane on its own: Instruction::execute
    special,  ///< reads a special register such as %tid: Instruction::special
    load,
    store,
    atomic,
    branch,
    leave,  ///< ends the active threads
    block_barrier,
    warp_barrier,
    exchange,         ///< between lanes, once all lanes of its mask have arrived: Instruction::execute
    load_matrices,    ///< ldmatrix
    copy_async,       ///< cp.async: starts a copy from device memory to shared memory
    commit_copies,    ///< cp.async.commit_group: the copies since the last one form a group
    wait_for_copies,  ///< cp.async.wait_group and cp.async.wait_all
    fence,            ///< for the whole device: earlier writes become visible to other blocks
    nothing,  ///< hints, and fences within a block, whose memory accesses happen in program order anyway
};

/// The state space of an address in PTX.
enum class Space : std::uint8_t { generic, global, shared, parameter };
enum class Special : std::uint8_t { tid, ntid, ctaid, nctaid, laneid };
enum class Atomic : std::uint8_t { add, and_, or_, xor_, min, max, exchange, add_float };

/// One instruction. Members that its kind does not use keep their initial values.
struct Instruction {
    Kind kind = Kind::compute;
    Execute execute = nullptr;
    /// A predicate register: only the lanes in which it is true execute the instruction. kNoSlot: all do.
    Slot guard = kNoSlot;
    bool guard_inverted = false;  ///< the lanes in which `guard` is false execute the instruction instead
    Slot to[4] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};  ///< registers of the results
    Slot members = kNoSlot;           ///< register with the lanes of an exchange or a warp barrier, as a mask
    std::uint32_t named = kAllLanes;  ///< that mask, if `members` is kNoSlot
    /// Registers of the operands. For an access to memory, from[0] is the address, and the values to store
    /// follow; for cp.async, from[1] is the address in shared memory and from[2] the number of bytes to read.
    Slot from[10] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot,
                     kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot};
    Space space = Space::generic;
    std::uint8_t parts = 1;    ///< number of elements of a vector access, or of matrices of ldmatrix
    std::uint8_t bytes = 0;    ///< size of one part in memory
    bool is_signed = false;    ///< the values are signed integers
    bool past_l1 = false;      ///< the load bypasses L1
    bool wide = false;         ///< the address has 8 bytes, not 4
    bool same_place = false;   ///< the address is a constant, which is equal in all lanes
    bool wide_values = false;  ///< the value registers have 8 bytes, whatever the size in memory
    bool transposed = false;   ///< ldmatrix.trans
    bool multiplies = false;   ///< the instruction is an mma.m16n8k16
    bool whole_warp = false;   ///< all 32 lanes must take part; it is a fault if one of them has exited
    bool open_copies = false;  ///< cp.async.wait_all: copies that are not committed are waited for, too
    Special special = Special::tid;
    std::uint8_t axis = 0;  ///< of a special register: 0 for x, 1 for y, 2 for z
    Atomic atomic = Atomic::add;
    /// The number of bytes that is added to an address. For a wait, the number of groups that may stay
    /// pending.
    std::int64_t displacement = 0;
    std::int32_t target = 0;  ///< for a branch: index of the next instruction
    std::int32_t line = 0;    ///< line of the PTX
};

}  // namespace paretoken::virtual_gpu
