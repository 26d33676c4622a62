#pragma once
// Instructions that only read and write registers: the functions that execute them and the sizes of their
// operands.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/virtual_gpu/program.h"

namespace paretoken::virtual_gpu {

struct Arithmetic {
    Execute execute = nullptr;
    Cell to = Cell::narrow;
    std::vector<Cell> from;
};

/// Finds an instruction by the parts of its mnemonic ("add", "s32"). Returns nothing if it is not one of the
/// arithmetic instructions that are supported.
std::optional<Arithmetic> arithmetic_of(std::span<const std::string> mnemonic);

/// These functions pack two registers into one, or unpack one into two. The first of the two registers is the
/// low half.
void pack_two_words(const Instruction& i, Lanes& lanes);
void unpack_two_words(const Instruction& i, Lanes& lanes);
void pack_two_halves(const Instruction& i, Lanes& lanes);
void unpack_two_halves(const Instruction& i, Lanes& lanes);

/// shfl.sync, an exchange of values between lanes. to[0] receives the value; to[1] is a predicate register,
/// or kNoSlot, for whether the source lane was in range. from[0] is the value, from[1] the lane offset, lane
/// mask or lane index, and from[2] the clamp value and the segment mask, as in PTX.
enum class Shuffle : std::uint8_t { up, down, butterfly, index };
Execute shuffle(Shuffle which);
/// vote.sync: "any" and "all" write a predicate register, "ballot" writes a 32-bit register. Returns null for
/// other names.
Execute vote(std::string_view which);
/// mma.m16n8k16: `to` holds 4 registers; `from` holds 4 registers of A, 2 of B and 4 of C. `capability`
/// selects how sums are truncated (tensor_core.h).
Execute matrix_multiply(bool bf16, int capability);

float float_of_half(std::uint16_t bits);
float float_of_bf16(std::uint16_t bits);

}  // namespace paretoken::virtual_gpu
