#pragma once
// Finds whether memory, arithmetic or neither limited a kernel, from its read bandwidth and arithmetic rate
// as shares of the ceilings that were measured on the device.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::reports {

enum class Bound { memory, compute, neither };
std::string_view name_of(Bound bound);

inline constexpr double kNearMemory = 0.8;  ///< share of the read ceiling from which memory is the bound
/// The share of the arithmetic ceiling from which arithmetic is the bound. It is this low because a kernel
/// also needs instructions to unpack and scale its weights, of which the ceiling has few or none.
inline constexpr double kNearCompute = 0.5;

/// The share of the kernel's speed in the caches from which arithmetic is the bound. It is higher than
/// kNearCompute, because that speed includes all instructions of the kernel.
inline constexpr double kNearCached = 0.8;

/// The bound from the shares of the two ceilings; `near_compute` is that from which arithmetic is one. The
/// larger decides if both suffice; nothing if one is absent and the other undecided.
std::optional<Bound> bound_by(std::optional<double> of_memory, std::optional<double> of_compute,
                              double near_compute = kNearCompute);

struct RowBound {
    Bound by = Bound::neither;
    std::optional<double> of_cached = {};  ///< share of the kernel's own speed with its operand in the caches
    std::optional<double> of_arithmetic = {};  ///< share of the arithmetic ceiling
    std::string arithmetic = {};               ///< name of that ceiling: "int8_dot"

    bool operator==(const RowBound&) const = default;
};

/// "memory", or with the figures: "compute (95 % of its speed in cache, 71 % of bf16_dot)".
std::string text_of(const RowBound& bound);

/// The bound of each row, in the order of `rows`. It is absent for ceilings, for rows that are not valid or
/// have no share of the read ceiling, and if bound_by() returns nothing.
std::vector<std::optional<RowBound>> bounds_of(std::span<const MicroRow> rows);

/// The share of the read ceiling below which held_back_by() gives a reason.
inline constexpr double kHeldBack = 0.9;

/// Returns why a CPU kernel does not reach the read ceiling: page walks, arithmetic, arithmetic that does not
/// overlap with reading, or its order of reading. Empty for all other rows.
std::string held_back_by(const MicroRow& row);

}  // namespace paretoken::reports
