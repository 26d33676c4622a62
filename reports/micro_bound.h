#pragma once
// What a kernel was limited by: its share of the read ceiling beside its share of the arithmetic ceiling.
// Pure.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reports/micro_rows.h"

namespace paretoken::reports {

enum class Bound { memory, compute, neither };
std::string_view name_of(Bound bound);

inline constexpr double kNearMemory = 0.8;  ///< of the read ceiling
/// Of the arithmetic ceiling, which is bare multiply-adds: unpacking and scaling want instructions too.
inline constexpr double kNearCompute = 0.5;

/// Shares of the two ceilings; nothing when too little is known to tell.
std::optional<Bound> bound_by(std::optional<double> of_memory, std::optional<double> of_compute);

/// For each valid row: the `weights` and `attention` ones against the arithmetic ceiling of their own
/// numbers, backend and threads (ceiling/flops/kind:…) where the file has it.
std::vector<std::optional<Bound>> bounds_of(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
