#pragma once
// A kernel in the form in which it is executed: each statement of the PTX becomes an instruction whose
// operands are slots of registers (lanes.h). A number or the name of a variable in an instruction becomes a
// register that is set before the first instruction runs.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/virtual_gpu/instruction.h"
#include "tests/virtual_gpu/launch_types.h"
#include "tests/virtual_gpu/ptx.h"

namespace paretoken::virtual_gpu {

/// The generic address of the first byte of shared memory. An instruction that names no state space takes
/// generic addresses, with which it reaches both shared and device memory. The low 32 bits are not zero, so
/// that a generic address that a kernel cuts to 32 bits, instead of converting it, lies outside of shared
/// memory.
inline constexpr std::uint64_t kSharedWindow = 0x01'00'00'00'7e'00'00'00;

/// A register that holds a constant of the program.
struct Constant {
    Slot slot = kNoSlot;
    Cell cell = Cell::narrow;
    std::uint64_t value = 0;
};

struct Kernel {
    std::string file;     ///< name of the PTX file
    std::string name;     ///< mangled
    int line = 0;         ///< line of the PTX in which the kernel begins
    int capability = 0;   ///< compute capability × 10
    int max_threads = 0;  ///< threads per block, from .maxntid; 0: not stated
    std::vector<Parameter> parameters;
    std::size_t parameter_bytes = 0;
    std::size_t static_shared = 0;  ///< bytes of the shared memory that the kernel itself declares
    std::size_t cells = 0;          ///< number of 4-byte cells of a warp
    std::size_t predicates = 0;     ///< number of predicate registers
    std::vector<Constant> constants;
    std::vector<Instruction> instructions;
    std::vector<std::string> texts;    ///< text of each instruction, for messages
    std::vector<std::string> sources;  ///< per instruction: "weights.cuh:12"; empty if the PTX does not say
};

/// Makes a kernel from its parsed text. Throws a RuntimeError that names the file, the line and the
/// instruction if an instruction is not supported.
Kernel assembled(const ModuleText& module, const KernelText& text);

}  // namespace paretoken::virtual_gpu
