#pragma once
// The time of an operation by its size: a fixed part and a bandwidth, T = a + V ÷ b, from rows of one kernel
// that differ only in size. The asymptotic bandwidth alone would promise a speed that small matrices cannot
// reach. Pure.
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

/// Fits by least squares of relative errors, so that small sizes count as much as large ones. The fixed part
/// is never negative. Nothing for fewer than three sizes, sizes within a factor of four, or times that do not
/// grow.
std::optional<SizeFit> size_fit(std::span<const SizedTime> points);

double seconds_of(const SizeFit& fit, double bytes);

/// The name of a row without the parts that state its size: "ceiling/read/kib:128/backend:cpu/threads:2" →
/// "ceiling/read/backend:cpu/threads:2".
std::string kernel_of(std::string_view name);

/// One fit for each kernel and device with enough rows (see size_fit()), in the order of the rows. It uses
/// valid rows, with the speed of their fastest decile if that is known, because the fit is used for a limit
/// and noise only makes rows slower. Rows of ceiling/cached_read are left out: their working sets are partly
/// in caches, so that T = a + V ÷ b does not hold.
std::vector<SizeFit> size_fits(std::span<const MicroRow> rows);

}  // namespace paretoken::reports
