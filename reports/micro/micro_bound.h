#pragma once
// What a kernel was limited by: its share of the read ceiling beside its share of the arithmetic ceiling.
// Pure.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/micro/micro_rows.h"

namespace paretoken::reports {

enum class Bound { memory, compute, neither };
std::string_view name_of(Bound bound);

inline constexpr double kNearMemory = 0.8;  ///< of the read ceiling
/// Of the arithmetic ceiling, which is bare multiply-adds: unpacking and scaling want instructions too.
inline constexpr double kNearCompute = 0.5;

/// Of what the kernel itself computes while caches hold its operand: that holds all its instructions.
inline constexpr double kNearCached = 0.8;

/// Shares of the two ceilings, and from where on the second is near; nothing when too little is known to
/// tell.
std::optional<Bound> bound_by(std::optional<double> of_memory, std::optional<double> of_compute,
                              double near_compute = kNearCompute);

struct RowBound {
    Bound by = Bound::neither;
    std::optional<double> of_cached = {};      ///< share of the same kernel's speed in cache
    std::optional<double> of_arithmetic = {};  ///< share of the arithmetic ceiling
    std::string arithmetic = {};               ///< of which: "int8_dot"

    bool operator==(const RowBound&) const = default;
};

/// "memory", or with what shows why: "compute (95 % of its speed in cache, 71 % of bf16_dot)".
std::string text_of(const RowBound& bound);

/// For each valid row: the `weights` and `attention` ones against their kernel's own speed in cache where
/// they tell it, and else the arithmetic ceiling of their own numbers, backend and threads
/// (ceiling/flops/kind:…) where the file has it.
std::vector<std::optional<RowBound>> bounds_of(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
