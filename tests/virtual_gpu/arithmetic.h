#pragma once
// Instructions that only read and write registers: the functions that execute them and the sizes of their
// operands.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/instruction.h"

namespace paretoken::virtual_gpu {

/// An instruction that only computes.
struct Arithmetic {
    Execute execute = nullptr;  ///< computes the result for all active lanes of a warp
    Cell to = Cell::narrow;     ///< size of the result's register
    std::vector<Cell> from;     ///< size of each operand's register
};

/// Finds an instruction by the parts of its mnemonic ("add", "s32"). Returns nothing if the instruction is
/// not supported or does not only compute.
std::optional<Arithmetic> arithmetic_of(std::span<const std::string> mnemonic);

/// These functions pack two registers into one register of twice the size, or unpack one into two. Words have
/// 32 bits and halves 16. The first of the two registers is the low half of the large one. When unpacking, a
/// result whose slot is kNoSlot is not stored.
void pack_two_words(const Instruction& i, Lanes& lanes);
void unpack_two_words(const Instruction& i, Lanes& lanes);
void pack_two_halves(const Instruction& i, Lanes& lanes);
void unpack_two_halves(const Instruction& i, Lanes& lanes);

/// shfl.sync: each lane receives a 32-bit value of another lane. to[0] receives the value; to[1] is a
/// predicate register for whether the source lane was in range, or kNoSlot. from[0] is the value that the
/// lane gives. from[1] is the lane offset (up, down), lane mask (butterfly) or lane index (index), and
/// from[2] the clamp value and the segment mask, as in PTX.
enum class Shuffle : std::uint8_t { up, down, butterfly, index };
Execute shuffle(Shuffle which);
/// vote.sync, for the names "any" and "all", which write a predicate register, and "ballot", which writes a
/// 32-bit register. Returns null for other names.
Execute vote(std::string_view which);
/// mma.m16n8k16, a product of matrices of 16-bit numbers (bf16, or fp16 if `bf16` is false) that is added to
/// fp32 sums: `to` holds 4 registers; `from` holds 4 registers of A, 2 of B and 4 of C. `capability` is the
/// compute capability × 10; it selects how sums are truncated (tensor_core.h).
Execute matrix_multiply(bool bf16, int capability);

/// Return the number with these bits in fp16, or in bf16.
float float_of_half(std::uint16_t bits);
float float_of_bf16(std::uint16_t bits);

}  // namespace paretoken::virtual_gpu
