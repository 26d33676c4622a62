#pragma once
// Instruction sets that kernels are written for, chosen at run time: the build itself targets plain x86-64.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#define PARETOKEN_X86 1
#define PARETOKEN_AVX2 "avx2,fma,f16c"
#define PARETOKEN_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c"
#endif

namespace paretoken::microbench {

enum class Isa {
    scalar,
    avx2,
    avx512
};  ///< avx512 = F, BW, DQ, VL, VNNI and BF16 together (Zen 4, Cooper Lake on)

std::string_view name_of(Isa isa);
/// Throws UsageError on an unknown name and on one that this CPU lacks.
Isa isa_named(std::string_view name);

bool available(Isa isa);
Isa best_isa();
/// Returns all instruction sets of this CPU, the simplest first.
std::vector<Isa> available_isas();

}  // namespace paretoken::microbench
