#include "reports/analysis/micro/micro_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace paretoken::reports {
namespace {

constexpr std::size_t kLeastPoints = 3;
constexpr double kLeastSpan = 4;  // least ratio of the largest to the smallest size

/// Axes of a row's name that state how much is read, not how it is read.
constexpr std::array<std::string_view, 10> kSizeAxes{"bytes", "kib", "mib", "gib",    "size",
                                                     "rows",  "op",  "k",   "preset", "tp"};

bool is_size(std::string_view part) {
    const auto colon = part.find(':');
    return colon != std::string_view::npos &&
           std::ranges::find(kSizeAxes, part.substr(0, colon)) != kSizeAxes.end();
}

std::optional<SizedTime> sized_time(const MicroRow& row) {
    if (!row.valid || !row.median_s || !row.bytes_per_s) return {};
    const double bytes = *row.bytes_per_s * *row.median_s;
    return SizedTime{bytes, bytes / std::max(*row.bytes_per_s, row.best_bytes_per_s.value_or(0))};
}

/// The fixed part in seconds, and the slope in seconds per byte.
struct Line {
    double fixed = 0;
    double slope = 0;
};

/// The line that minimises Σ ((fixed + slope · V) ÷ T − 1)².
Line relative_least_squares(std::span<const SizedTime> points) {
    double ones = 0;   // Σ 1/T²
    double mixed = 0;  // Σ V/T²
    double sizes = 0;  // Σ V²/T²
    double one = 0;    // Σ 1/T
    double size = 0;   // Σ V/T
    for (const auto& [bytes, seconds] : points) {
        ones += 1 / (seconds * seconds);
        mixed += bytes / (seconds * seconds);
        sizes += bytes * bytes / (seconds * seconds);
        one += 1 / seconds;
        size += bytes / seconds;
    }
    const double determinant = ones * sizes - mixed * mixed;
    const Line line{(one * sizes - size * mixed) / determinant, (ones * size - mixed * one) / determinant};
    return line.fixed >= 0 ? line : Line{0, size / sizes};
}

}  // namespace

std::optional<SizeFit> size_fit(std::span<const SizedTime> points) {
    if (points.size() < kLeastPoints) return {};
    const auto [least, most] =
        std::minmax_element(points.begin(), points.end(),
                            [](const SizedTime& a, const SizedTime& b) { return a.bytes < b.bytes; });
    if (!(most->bytes >= kLeastSpan * least->bytes)) return {};
    const Line line = relative_least_squares(points);
    if (!std::isfinite(line.fixed) || !(line.slope > 0)) return {};
    SizeFit fit{.fixed_s = line.fixed,
                .bytes_per_s = 1 / line.slope,
                .points = points.size(),
                .least_bytes = least->bytes,
                .most_bytes = most->bytes};
    for (const auto& [bytes, seconds] : points)
        fit.worst_residual = std::max(fit.worst_residual, std::abs(seconds_of(fit, bytes) / seconds - 1));
    return fit;
}

double seconds_of(const SizeFit& fit, double bytes) {
    return fit.fixed_s + bytes / fit.bytes_per_s;
}

std::string kernel_of(std::string_view name) {
    std::string kernel;
    while (!name.empty()) {
        const auto slash = name.find('/');
        const std::string_view part = name.substr(0, slash);
        name = slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1);
        if (is_size(part)) continue;
        kernel += (kernel.empty() ? "" : "/") + std::string(part);
    }
    return kernel;
}

std::vector<SizeFit> size_fits(std::span<const MicroRow> rows) {
    struct Kernel {
        std::string device;
        std::string name;
        std::vector<SizedTime> points;
    };
    std::vector<Kernel> kernels;
    for (const MicroRow& row : rows) {
        if (parse_row_name(row.name).family == "ceiling/cached_read") continue;
        const auto point = sized_time(row);
        if (!point) continue;
        const std::string kernel = kernel_of(row.name);
        auto found = std::ranges::find_if(
            kernels, [&](const Kernel& one) { return one.device == row.device && one.name == kernel; });
        if (found == kernels.end()) found = kernels.insert(kernels.end(), {row.device, kernel, {}});
        found->points.push_back(*point);
    }
    std::vector<SizeFit> fits;
    for (const Kernel& kernel : kernels) {
        auto fit = size_fit(kernel.points);
        if (!fit) continue;
        fit->kernel = kernel.name;
        fit->device = kernel.device;
        fits.push_back(std::move(*fit));
    }
    return fits;
}

}  // namespace paretoken::reports
