#pragma once
// Compute ceilings: multiply-adds on registers alone, at the highest rate any instruction of this CPU allows.
// They bound what an inference engine can compute, so when faster hardware is present and not driven here, it
// is said.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace paretoken::microbench {

enum class FlopsKind { f32_fma, bf16_dot, int8_dot };
std::string_view name_of(FlopsKind kind);

/// Repeats a block of independent instructions; the result depends on all of them.
using Burn = std::uint64_t (*)(std::uint64_t repeats);

struct FlopsVariant {
    FlopsKind kind = FlopsKind::f32_fma;
    std::string_view name;
    double flops_per_repeat = 0;  ///< 2 per multiply-add; int8 operations likewise
    bool (*supported)() = nullptr;
    Burn burn = nullptr;
};

/// All that this build knows, supported or not.
std::span<const FlopsVariant> flops_variants();

/// Why the best variant is no upper bound on this CPU; empty when it is one.
std::string faster_hardware_unused(FlopsKind kind);

}  // namespace paretoken::microbench
