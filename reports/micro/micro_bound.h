#pragma once
// The bound of a kernel: whether memory or arithmetic limited it, by its shares of the read ceiling and of
// the arithmetic ceiling. Pure.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/micro/micro_rows.h"

namespace paretoken::reports {

enum class Bound { memory, compute, neither };
std::string_view name_of(Bound bound);

inline constexpr double kNearMemory = 0.8;  ///< share of the read ceiling from which memory is the bound
/// The share of the arithmetic ceiling from which arithmetic is the bound. The ceiling consists of
/// multiply-adds only, but unpacking and scaling need instructions too.
inline constexpr double kNearCompute = 0.5;

/// The share of the kernel's own speed in cache from which arithmetic is the bound. That speed includes all
/// its instructions.
inline constexpr double kNearCached = 0.8;

/// The bound from the shares of the two ceilings. `near_compute` is the share from which arithmetic is the
/// bound. Nothing when too little is known.
std::optional<Bound> bound_by(std::optional<double> of_memory, std::optional<double> of_compute,
                              double near_compute = kNearCompute);

struct RowBound {
    Bound by = Bound::neither;
    std::optional<double> of_cached = {};      ///< share of the same kernel's speed in cache
    std::optional<double> of_arithmetic = {};  ///< share of the arithmetic ceiling
    std::string arithmetic = {};               ///< name of that ceiling: "int8_dot"

    bool operator==(const RowBound&) const = default;
};

/// The bound as text: "memory", or with the figures that show it: "compute (95 % of its speed in cache, 71 %
/// of bf16_dot)".
std::string text_of(const RowBound& bound);

/// The bound of each valid row. Rows of `weights` and `attention` are compared with their kernel's own speed
/// in cache if they have one. Otherwise a row is compared with the arithmetic ceiling of its number format,
/// backend and threads (ceiling/flops/kind:…), if the file has one.
std::vector<std::optional<RowBound>> bounds_of(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
