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

/// Fits by least squares of relative errors, so that small sizes count as much as large ones. The fixed part
/// is never negative. Nothing for fewer than three points, if the largest size is less than four times the
/// smallest, or if the times do not grow with the size. `kernel` and `device` of the result are empty.
std::optional<SizeFit> size_fit(std::span<const SizedTime> points);

/// The time in seconds that the fit predicts for this size.
double seconds_of(const SizeFit& fit, double bytes);

/// The name of a row without the parts that state how much is read (bytes, kib, mib, gib, size, rows, op,
/// k, preset, tp): "ceiling/read/kib:128/backend:cpu/threads:2" → "ceiling/read/backend:cpu/threads:2".
std::string kernel_of(std::string_view name);

/// One fit for each kernel and device with enough rows (see size_fit()), in the order of the rows. It uses
/// valid rows, with the 90th percentile of their speeds if that is known, because the fit is used for an
/// upper bound and noise only makes rows slower. Rows of ceiling/cached_read are left out: their working sets
/// are partly in caches, so that T = a + V ÷ b does not hold.
std::vector<SizeFit> size_fits(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
