#pragma once
// Instruction sets that kernels are written for, chosen at run time: the build itself targets plain x86-64.
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#define PARETOKEN_X86 1
#define PARETOKEN_AVX2 "avx2,fma,f16c"
#define PARETOKEN_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c"
#endif

namespace paretoken::microbench {

/// Each instruction set includes the ones before it. avx2 is AVX2, FMA and F16C together. avx512 is F, BW,
/// DQ, VL, VNNI and BF16 together (since Zen 4 and Cooper Lake). amx is the tile registers with their
/// products of bf16 and of bytes (since Sapphire Rapids).
enum class Isa { scalar, avx2, avx512, amx };

std::string_view name_of(Isa isa);
/// Throws UsageError on an unknown name and on one that this CPU lacks.
Isa isa_named(std::string_view name);

/// Returns whether this process can use the set; asks Linux for the permission to use amx.
bool available(Isa isa);
Isa best_isa();
/// Returns all instruction sets of this CPU, the simplest first.
std::vector<Isa> available_isas();

/// Returns whether the CPU has tile registers with products of bf16, or of bytes.
bool has_bf16_tiles();
bool has_byte_tiles();
/// Asks Linux for the permission to use tile registers, which it grants a process only on request. Returns
/// whether it was granted. Threads inherit the permission.
bool may_use_tiles();

}  // namespace paretoken::microbench
