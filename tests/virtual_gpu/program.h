#pragma once
// A kernel as it is run: statements turned into instructions whose operands are slots. Numbers that stand in
// an instruction are registers that are set before the first one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/lanes.h"
#include "tests/virtual_gpu/launch.h"
#include "tests/virtual_gpu/ptx.h"

namespace paretoken::virtual_gpu {

/// Where shared memory stands among generic addresses. Its low half is not zero, so that an address that was
/// cut to 32 bits instead of being converted lies nowhere.
inline constexpr std::uint64_t kSharedWindow = 0x01'00'00'00'7e'00'00'00;

/// What a register occupies.
enum class Cell : std::uint8_t { predicate, narrow, wide };

struct Instruction;
using Execute = void (*)(const Instruction&, Lanes&);

enum class Kind : std::uint8_t {
    compute,  ///< registers only, each lane for itself: Instruction::execute
    special,  ///< of the thread's place: Instruction::special
    load,
    store,
    atomic,
    branch,
    leave,
    block_barrier,
    warp_barrier,
    exchange,  ///< between the lanes of a warp: Instruction::execute, once all its lanes are there
    load_matrices,
    copy_async,
    commit_copies,
    wait_for_copies,
    fence,    ///< of the device: what was written before may be seen by other blocks
    nothing,  ///< hints, and fences of a block: its memory is seen in the order of the program
};

enum class Space : std::uint8_t { generic, global, shared, parameter };
enum class Special : std::uint8_t { tid, ntid, ctaid, nctaid, laneid };
enum class Atomic : std::uint8_t { add, and_, or_, xor_, min, max, exchange, add_float };

struct Instruction {
    Kind kind = Kind::compute;
    Execute execute = nullptr;
    Slot guard = kNoSlot;
    bool guard_inverted = false;
    Slot to[4] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
    Slot members = kNoSlot;  ///< lanes that an exchange or a warp's barrier is for; none: `named`
    std::uint32_t named = kAllLanes;
    Slot from[10] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot,
                     kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot};
    Space space = Space::generic;
    std::uint8_t parts = 1;  ///< of a vector access; matrices of ldmatrix
    std::uint8_t bytes = 0;  ///< of a part in memory
    bool is_signed = false;
    bool past_l1 = false;      ///< a load that L1 cannot answer
    bool wide = false;         ///< an address of 8 bytes
    bool same_place = false;   ///< the address is one of the program's numbers
    bool wide_values = false;  ///< registers of 8 bytes, whatever is moved
    bool transposed = false;
    bool multiplies = false;   ///< an mma.m16n8k16
    bool whole_warp = false;   ///< no lane may be missing, not even one that has left
    bool open_copies = false;  ///< a wait that commits before
    Special special = Special::tid;
    std::uint8_t axis = 0;
    Atomic atomic = Atomic::add;
    std::int64_t displacement = 0;  ///< of an address; pending groups of a wait
    std::int32_t target = 0;        ///< of a branch
    std::int32_t line = 0;
};

/// A register that holds a number of the program.
struct Constant {
    Slot slot = kNoSlot;
    Cell cell = Cell::narrow;
    std::uint64_t value = 0;
};

struct Kernel {
    std::string file;
    std::string name;
    int line = 0;
    int capability = 0;
    int max_threads = 0;
    std::vector<Parameter> parameters;
    std::size_t parameter_bytes = 0;
    std::size_t static_shared = 0;
    std::size_t cells = 0;  ///< of 4 bytes
    std::size_t predicates = 0;
    std::vector<Constant> constants;
    std::vector<Instruction> instructions;
    std::vector<std::string> texts;    ///< of the instructions, for messages
    std::vector<std::string> sources;  ///< "weights.cuh:12"; empty where the PTX does not tell
};

/// RuntimeError names the file, the line and the instruction that is not known.
Kernel assembled(const ModuleText& module, const KernelText& text);

}  // namespace paretoken::virtual_gpu
