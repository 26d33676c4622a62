#pragma once
// The bound of a kernel is what limited its speed: memory, arithmetic or neither. It follows from the
// kernel's read bandwidth and arithmetic rate, as shares of the highest ones that probes measured on the
// device (the read ceiling and the arithmetic ceiling). Pure.
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

/// The share of the kernel's own speed with its operand in cache from which arithmetic is the bound. The
/// speed in cache includes the time of all of the kernel's instructions; the arithmetic ceiling does not.
inline constexpr double kNearCached = 0.8;

/// The bound from the shares of the two ceilings. `near_compute` is the share from which arithmetic is the
/// bound. If both shares are large enough, the larger one decides. Nothing if a share is absent and the other
/// one does not decide.
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

/// The bound of each row, in the order of `rows`. It is absent for ceilings, for rows that are not valid or
/// have no share of the read ceiling, and if bound_by() returns nothing. A row is compared with its kernel's
/// own speed in cache if it has one. Otherwise it is compared with the fastest arithmetic ceiling
/// (ceiling/flops/…) of its number format, device and number of threads. If there is no such ceiling, the
/// fastest one of any format is used on a GPU, and on a CPU for formats without a ceiling of their own.
std::vector<std::optional<RowBound>> bounds_of(std::span<const MicroRow> rows);

/// The share of the read ceiling below which held_back_by() gives a reason.
inline constexpr double kHeldBack = 0.9;

/// Returns what keeps a kernel of a CPU from the read ceiling, as a sentence without a full stop: page walks,
/// arithmetic, arithmetic that does not overlap with reading, or its way of reading. Empty for rows of a GPU,
/// for ceilings, for rows that are not valid or reach kHeldBack, and for rows without the necessary figures.
std::string held_back_by(const MicroRow& row);

}  // namespace paretoken::reports
