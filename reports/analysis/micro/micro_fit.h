#pragma once
// Fits T = a + V ÷ b to rows of one kernel that differ only in size: T seconds, V bytes read, a fixed time a
// and a bandwidth b. A bandwidth alone would predict a speed that small matrices cannot reach.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::reports {

struct SizedTime {
    double bytes = 0;
    double seconds = 0;

    bool operator==(const SizedTime&) const = default;
};

/// Fits by least squares of relative errors, with a fixed part of at least 0. Nothing for fewer than three
/// points, sizes within a factor of four, or times that do not grow. `kernel` and `device` stay empty.
std::optional<SizeFit> size_fit(std::span<const SizedTime> points);

/// The time in seconds that the fit predicts for this size.
double seconds_of(const SizeFit& fit, double bytes);

/// The name of a row without the parts that state how much is read (bytes, kib, mib, gib, size, rows, op,
/// k, preset, tp): "ceiling/read/kib:128/backend:cpu/threads:2" → "ceiling/read/backend:cpu/threads:2".
std::string kernel_of(std::string_view name);

/// One fit for each kernel and device with enough valid rows, in their order, by the 90th percentile of speed
/// if known, because noise only slows. Rows of ceiling/cached_read are left out.
std::vector<SizeFit> size_fits(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
