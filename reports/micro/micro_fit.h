#pragma once
// What an operation costs by its size: a fixed part and a bandwidth, T = a + V ÷ b, from rows of one kernel
// that differ in size alone. An asymptotic bandwidth promises small matrices what nobody can deliver. Pure.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/micro/micro_rows.h"

namespace paretoken::reports {

struct SizedTime {
    double bytes = 0;
    double seconds = 0;

    bool operator==(const SizedTime&) const = default;
};

/// Least squares of relative errors, so that small sizes count as much as large ones; the fixed part is never
/// negative. Nothing for fewer than three sizes, sizes within a factor of four, or times that do not grow.
std::optional<SizeFit> size_fit(std::span<const SizedTime> points);

double seconds_of(const SizeFit& fit, double bytes);

/// The name without what tells sizes apart: "ceiling/read/kib:128/backend:cpu/threads:2" →
/// "ceiling/read/backend:cpu/threads:2".
std::string kernel_of(std::string_view name);

/// One fit per kernel with rows enough, in the order of the rows. Valid rows, at their fastest decile where
/// that is known: a limit is made of them, and noise only ever slows. Sets that caches hold a part of have no
/// such law.
std::vector<SizeFit> size_fits(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
