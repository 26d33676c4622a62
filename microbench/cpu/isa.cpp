#include "microbench/cpu/isa.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace paretoken::microbench {
namespace {
constexpr Isa kIsas[] = {Isa::scalar, Isa::avx2, Isa::avx512};
}

std::string_view name_of(Isa isa) {
    switch (isa) {
        case Isa::scalar:
            return "scalar";
        case Isa::avx2:
            return "avx2";
        case Isa::avx512:
            return "avx512";
    }
    return "";
}

Isa isa_named(std::string_view name) {
    for (const Isa isa : kIsas) {
        if (name_of(isa) != name) continue;
        if (!available(isa)) throw UsageError(fmt::format("this CPU cannot run --isa={}", name));
        return isa;
    }
    throw UsageError(fmt::format("unknown --isa={}: use scalar, avx2 or avx512", name));
}

bool available([[maybe_unused]] Isa isa) {
    if (isa == Isa::scalar) return true;
#if defined(PARETOKEN_X86)
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (isa == Isa::avx2) return avx2;
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
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

}  // namespace paretoken::microbench
