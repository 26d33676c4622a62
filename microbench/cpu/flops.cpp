#include "microbench/cpu/flops.h"

#include "microbench/cpu/isa.h"
#include "microbench/cpu/tiles.h"

#if defined(PARETOKEN_X86)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace paretoken::microbench {
namespace {

// Twelve chains hide a latency of 4 to 6 cycles at two instructions per cycle. Every operand stays in a
// register: the asm keeps the compiler from copying accumulators or folding the loop.
constexpr double kChains = 12;

bool always() {
    return true;
}

std::uint64_t fma_portable(std::uint64_t repeats) {
    float chain[12];
    for (int i = 0; i < 12; ++i) chain[i] = static_cast<float>(i) * .01F;
    const float factor = .999F;
    for (std::uint64_t r = 0; r < repeats; ++r) {
        for (float& value : chain) value = value * factor + .001F;
    }
    float sum = 0;
    for (const float value : chain) sum += value;
    return static_cast<std::uint64_t>(sum * 1024);
}

#if defined(PARETOKEN_X86)

#define PARETOKEN_CHAINS(instruction, r)                                                                    \
    instruction " %%" r "13, %%" r "12, %%" r "0\n\t" instruction " %%" r "13, %%" r "12, %%" r             \
                "1\n\t" instruction " %%" r "13, %%" r "12, %%" r "2\n\t" instruction " %%" r "13, %%" r    \
                "12, %%" r "3\n\t" instruction " %%" r "13, %%" r "12, %%" r "4\n\t" instruction " %%" r    \
                "13, %%" r "12, %%" r "5\n\t" instruction " %%" r "13, %%" r "12, %%" r "6\n\t" instruction \
                " %%" r "13, %%" r "12, %%" r "7\n\t" instruction " %%" r "13, %%" r "12, %%" r             \
                "8\n\t" instruction " %%" r "13, %%" r "12, %%" r "9\n\t" instruction " %%" r "13, %%" r    \
                "12, %%" r "10\n\t" instruction " %%" r "13, %%" r "12, %%" r "11\n\t"

// Registers hold zeros: no denormals, no overflow, and x86 vector units take the same time for any normal
// value.
#define PARETOKEN_BURN(function, instruction, r)                                                                   \
    std::uint64_t function(std::uint64_t repeats) {                                                                \
        asm volatile("vzeroall\n\t"                                                                              \
                     "1:\n\t" PARETOKEN_CHAINS(instruction, r) "dec %0\n\t"                                      \
                     "jnz 1b\n\t"                                                                                \
                     "vzeroall"                                                                                  \
                     : "+r"(repeats)                                                                             \
                     :                                                                                           \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",     \
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"); \
        return repeats;                                                                                            \
    }

PARETOKEN_BURN(fma_ymm, "vfmadd231ps", "ymm")
PARETOKEN_BURN(fma_zmm, "vfmadd231ps", "zmm")
PARETOKEN_BURN(bf16_ymm, "vdpbf16ps", "ymm")
PARETOKEN_BURN(bf16_zmm, "vdpbf16ps", "zmm")
PARETOKEN_BURN(int8_ymm, "vpdpbusd", "ymm")
PARETOKEN_BURN(int8_zmm, "vpdpbusd", "zmm")
PARETOKEN_BURN(int8_vex, "%{vex%} vpdpbusd", "ymm")
PARETOKEN_BURN(int8_madd, "vpmaddubsw", "ymm")

bool has_fma() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}
bool has_bf16() {
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}
bool has_vnni() {
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
bool has_vex_vnni() {
    constexpr unsigned kAvxVnni = 1U << 4;  // CPUID leaf 7, subleaf 1, EAX
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
           (a & kAvxVnni) != 0;
}

bool has_amx_bf16() {
    return has_bf16_tiles() && may_use_tiles();
}
bool has_amx_int8() {
    return has_byte_tiles() && may_use_tiles();
}

/// Eight tiles of 16 rows of 64 bytes.
constexpr TileConfiguration kWholeTiles = [] {
    TileConfiguration tiles;
    for (int tile = 0; tile < kTiles; ++tile) tiles.set(tile, 16, 64);
    return tiles;
}();

// Six accumulators of 16 cycles each hide a latency of 52. A product multiplies 16 rows by 16 columns over 64
// bytes of each.
constexpr double kTileProducts = 6;
constexpr double kTileFlopsPerValue = 2.0 * 16 * 16;

#define PARETOKEN_TILE_BURN(function, instruction)                                              \
    std::uint64_t function(std::uint64_t repeats) {                                             \
        asm volatile(                                                                           \
            "ldtilecfg %1\n\t"                                                                  \
            "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"                         \
            "tilezero %%tmm3\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\t"                         \
            "tilezero %%tmm6\n\ttilezero %%tmm7\n\t"                                            \
            "1:\n\t" instruction " %%tmm7, %%tmm6, %%tmm0\n\t" instruction                      \
            " %%tmm7, %%tmm6, %%tmm1\n\t" instruction " %%tmm7, %%tmm6, %%tmm2\n\t" instruction \
            " %%tmm7, %%tmm6, %%tmm3\n\t" instruction " %%tmm7, %%tmm6, %%tmm4\n\t" instruction \
            " %%tmm7, %%tmm6, %%tmm5\n\t"                                                       \
            "dec %0\n\t"                                                                        \
            "jnz 1b\n\t"                                                                        \
            "tilerelease"                                                                       \
            : "+r"(repeats)                                                                     \
            : "m"(kWholeTiles)                                                                  \
            : "cc");                                                                            \
        return repeats;                                                                         \
    }

PARETOKEN_TILE_BURN(bf16_tiles, "tdpbf16ps")
PARETOKEN_TILE_BURN(int8_tiles, "tdpbssd")
#endif

// A CPU without instructions for a kind uses those of a wider kind, so a kind also has rows of wider
// ones.
constexpr FlopsVariant kVariants[] = {
    {FlopsKind::f32_fma, "portable", kChains * 2, always, fma_portable},
    {FlopsKind::bf16_dot, "portable", kChains * 2, always, fma_portable},
    {FlopsKind::int8_dot, "portable", kChains * 2, always, fma_portable},
#if defined(PARETOKEN_X86)
    {FlopsKind::f32_fma, "fma ymm", kChains * 8 * 2, has_fma, fma_ymm},
    {FlopsKind::f32_fma, "fma zmm", kChains * 16 * 2, has_avx512, fma_zmm},
    {FlopsKind::bf16_dot, "fma ymm", kChains * 8 * 2, has_fma, fma_ymm},
    {FlopsKind::bf16_dot, "fma zmm", kChains * 16 * 2, has_avx512, fma_zmm},
    {FlopsKind::bf16_dot, "dpbf16 ymm", kChains * 16 * 2, has_bf16, bf16_ymm},
    {FlopsKind::bf16_dot, "dpbf16 zmm", kChains * 32 * 2, has_bf16, bf16_zmm},
    {FlopsKind::int8_dot, "maddubs ymm", kChains * 32 * 2, has_fma, int8_madd},
    {FlopsKind::int8_dot, "dpbusd ymm", kChains * 32 * 2, has_vnni, int8_ymm},
    {FlopsKind::int8_dot, "dpbusd zmm", kChains * 64 * 2, has_vnni, int8_zmm},
    {FlopsKind::int8_dot, "dpbusd vex", kChains * 32 * 2, has_vex_vnni, int8_vex},
    {FlopsKind::bf16_dot, "amx bf16", kTileProducts* kTileFlopsPerValue * 32, has_amx_bf16, bf16_tiles},
    {FlopsKind::int8_dot, "amx int8", kTileProducts* kTileFlopsPerValue * 64, has_amx_int8, int8_tiles},
#endif
};

}  // namespace

std::string_view name_of(FlopsKind kind) {
    switch (kind) {
        case FlopsKind::f32_fma:
            return "f32_fma";
        case FlopsKind::bf16_dot:
            return "bf16_dot";
        case FlopsKind::int8_dot:
            return "int8_dot";
    }
    return "";
}

std::span<const FlopsVariant> flops_variants() {
    return kVariants;
}

std::string faster_hardware_unused(FlopsKind kind) {
#if defined(PARETOKEN_X86)
    if (!has_fma()) return "no upper bound: written for AVX2 at least";
    const bool has_tiles = kind == FlopsKind::bf16_dot   ? has_bf16_tiles()
                           : kind == FlopsKind::int8_dot ? has_byte_tiles()
                                                         : false;
    if (has_tiles && !may_use_tiles()) return "no upper bound: the system gives this process no AMX tiles";
    return {};
#else
    static_cast<void>(kind);
    return "no upper bound: portable code, no vector instructions of this CPU";
#endif
}

}  // namespace paretoken::microbench
