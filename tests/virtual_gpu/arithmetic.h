#pragma once
// Instructions that only read and write registers: what they compute, and what their operands are.
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

/// By the mnemonic's parts ("add", "s32"); nothing for what is not arithmetic.
std::optional<Arithmetic> arithmetic_of(std::span<const std::string> mnemonic);

/// Low register first.
void pack_two_words(const Instruction& i, Lanes& lanes);
void unpack_two_words(const Instruction& i, Lanes& lanes);
void pack_two_halves(const Instruction& i, Lanes& lanes);
void unpack_two_halves(const Instruction& i, Lanes& lanes);

/// Between lanes: to[0] the value, to[1] whether its source was in range (a predicate, or none); from: value,
/// offset, clamp and segment as in PTX.
enum class Shuffle : std::uint8_t { up, down, butterfly, index };
Execute shuffle(Shuffle which);
/// "any", "all" (predicates) or "ballot" (a register); null for others.
Execute vote(std::string_view which);
/// m16n8k16: to 4 registers, from 4 of A, 2 of B, 4 of C; capability chooses how sums lose bits.
Execute matrix_multiply(bool bf16, int capability);

float float_of_half(std::uint16_t bits);
float float_of_bf16(std::uint16_t bits);

}  // namespace paretoken::virtual_gpu
