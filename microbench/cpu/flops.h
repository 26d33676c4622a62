#pragma once
// Compute ceilings: the rates of multiply-adds on registers only, as upper bounds for an inference engine. If
// the CPU has faster instructions than this build uses, faster_hardware_unused() says so.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace paretoken::microbench {

enum class FlopsKind { f32_fma, bf16_dot, int8_dot };
std::string_view name_of(FlopsKind kind);

/// Repeats a block of independent instructions, which the compiler cannot remove. The result has no meaning.
using Burn = std::uint64_t (*)(std::uint64_t repeats);

struct FlopsVariant {
    FlopsKind kind = FlopsKind::f32_fma;
    std::string_view name;
    double flops_per_repeat = 0;  ///< 2 per multiply-add, also for int8
    bool (*supported)() = nullptr;
    Burn burn = nullptr;
};

/// Returns all variants of this build, supported or not.
std::span<const FlopsVariant> flops_variants();

/// Returns why the best variant is no upper bound on this CPU; empty when it is one.
std::string faster_hardware_unused(FlopsKind kind);

}  // namespace paretoken::microbench
