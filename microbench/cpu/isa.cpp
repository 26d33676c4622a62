#include "microbench/cpu/isa.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

#if defined(PARETOKEN_X86)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace paretoken::microbench {
namespace {
constexpr Isa kIsas[] = {Isa::scalar, Isa::avx2, Isa::avx512, Isa::amx};

#if defined(PARETOKEN_X86)
/// The bits of CPUID leaf 7, EDX: Intel 64 and IA-32 Software Developer's Manual, volume 2, CPUID.
constexpr unsigned kBf16Tiles = 1U << 22;
constexpr unsigned kTileRegisters = 1U << 24;
constexpr unsigned kByteTiles = 1U << 25;

/// CPUID leaf 1, ECX bit 29.
bool has_f16c() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
}

bool has_tiles(unsigned product_bit) {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTileRegisters) != 0 &&
           (d & product_bit) != 0;
}
#endif

}  // namespace

std::string_view name_of(Isa isa) {
    switch (isa) {
        case Isa::scalar:
            return "scalar";
        case Isa::avx2:
            return "avx2";
        case Isa::avx512:
            return "avx512";
        case Isa::amx:
            return "amx";
    }
    return "";
}

Isa isa_named(std::string_view name) {
    for (const Isa isa : kIsas) {
        if (name_of(isa) != name) continue;
        if (!available(isa)) throw UsageError(fmt::format("this CPU cannot run --isa={}", name));
        return isa;
    }
    throw UsageError(fmt::format("unknown --isa={}: use scalar, avx2, avx512 or amx", name));
}

bool available([[maybe_unused]] Isa isa) {
    if (isa == Isa::scalar) return true;
#if defined(PARETOKEN_X86)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    if (isa == Isa::avx2) return avx2;
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
    if (isa == Isa::avx512) return avx512;
    return avx512 && has_bf16_tiles() && has_byte_tiles() && may_use_tiles();
#else
    return false;
#endif
}

std::vector<Isa> available_isas() {
    std::vector<Isa> isas;
    std::copy_if(std::begin(kIsas), std::end(kIsas), std::back_inserter(isas), available);
    return isas;
}

Isa best_isa() {
    return available_isas().back();
}

#if defined(PARETOKEN_X86)
bool has_bf16_tiles() {
    return has_tiles(kBf16Tiles);
}
bool has_byte_tiles() {
    return has_tiles(kByteTiles);
}
bool may_use_tiles() {
    constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
    static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return granted;
}
#else
bool has_bf16_tiles() {
    return false;
}
bool has_byte_tiles() {
    return false;
}
bool may_use_tiles() {
    return false;
}
#endif

}  // namespace paretoken::microbench
