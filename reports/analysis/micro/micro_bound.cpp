#include "reports/analysis/micro/micro_bound.h"

#include <fmt/format.h>

#include "core/formats.h"

namespace paretoken::reports {
namespace {

/// The kind of arithmetic that multiplies numbers of a stored format (a row's `w` or `kv`) on a CPU; empty if
/// no ceiling has this kind.
std::string_view kind_of(std::string_view type) {
    const NumberFormat* const format = find_format(type);
    if (format == nullptr) return {};
    switch (format->arithmetic) {
        case Arithmetic::bf16:
            return "bf16_dot";
        case Arithmetic::f16:
            return "f32_fma";
        case Arithmetic::int8:
            return "int8_dot";
        case Arithmetic::f64:
        case Arithmetic::f32:
        case Arithmetic::fp8:
        case Arithmetic::fp4:
            return {};
    }
    return {};
}

/// The number format that a GPU multiplies for a row, as in the names of its ceilings (`w`). A library
/// multiplies the stored format; our own kernels always multiply 16-bit numbers.
std::string product_type(const RowName& name) {
    const bool library = name.family == "gemm_lib" || name.family == "prefill/gemm";
    return library ? std::string(format_name(name.axis("w"))) : "bf16";
}

/// Whether a ceiling of the same backend has the same arithmetic as the row.
bool is_of_kind(const RowName& ceiling, const RowName& name, std::string_view type) {
    if (name.axis("backend") == "gpu") return format_name(ceiling.axis("w")) == product_type(name);
    return !ceiling.axis("kind").empty() && ceiling.axis("kind") == kind_of(type);
}

struct Arithmetic {
    std::string name;
    double flops_per_s = 0;
};

/// The best ceiling of the row's device and threads with the row's kind of arithmetic. If there is none, the
/// best ceiling of any kind for a GPU and for formats without a kind, otherwise nothing.
std::optional<Arithmetic> arithmetic_ceiling(std::span<const MicroRow> rows, const MicroRow& of,
                                             const RowName& name) {
    const std::string type = name.axis("w").empty() ? name.axis("kv") : name.axis("w");
    std::optional<Arithmetic> best;
    std::optional<Arithmetic> best_of_kind;
    const auto raise = [](std::optional<Arithmetic>& to, const Arithmetic& ceiling) {
        if (!to || to->flops_per_s < ceiling.flops_per_s) to = ceiling;
    };
    for (const MicroRow& row : rows) {
        if (row.device != of.device) continue;
        const RowName ceiling = parse_row_name(row.name);
        if (!ceiling.family.starts_with("ceiling/flops") || !row.valid || !row.flops_per_s) continue;
        if (ceiling.axis("backend") != name.axis("backend") ||
            ceiling.axis("threads") != name.axis("threads"))
            continue;
        const std::string kind = ceiling.axis("kind");
        const Arithmetic arithmetic{
            kind.empty() ? ceiling.family.substr(ceiling.family.rfind('/') + 1) : kind, *row.flops_per_s};
        raise(best, arithmetic);
        if (is_of_kind(ceiling, name, type)) raise(best_of_kind, arithmetic);
    }
    const bool any_will_do = name.axis("backend") == "gpu" || kind_of(type).empty();
    return best_of_kind ? best_of_kind : any_will_do ? best : std::nullopt;
}

/// The share of the kernel's own speed in cache that a row reaches.
std::optional<double> share_of_cached(const MicroRow& row) {
    if (!row.flops_per_s || !row.cached_flops_per_s) return std::nullopt;
    return *row.flops_per_s / *row.cached_flops_per_s;
}

}  // namespace

std::string_view name_of(Bound bound) {
    switch (bound) {
        case Bound::memory:
            return "memory";
        case Bound::compute:
            return "compute";
        case Bound::neither:
            return "neither";
    }
    return "";
}

std::optional<Bound> bound_by(std::optional<double> of_memory, std::optional<double> of_compute,
                              double near) {
    const bool near_memory = of_memory && *of_memory >= kNearMemory;
    const bool near_compute = of_compute && *of_compute >= near;
    if (near_memory && near_compute) return *of_compute > *of_memory ? Bound::compute : Bound::memory;
    if (near_memory) return Bound::memory;
    if (near_compute) return Bound::compute;
    if (!of_memory || !of_compute) return {};
    return Bound::neither;
}

std::string text_of(const RowBound& bound) {
    std::string shares;
    if (bound.of_cached) shares = fmt::format("{:.0f} % of its speed in cache", *bound.of_cached * 100);
    if (bound.of_arithmetic)
        shares += fmt::format("{}{:.0f} % of {}", shares.empty() ? "" : ", ", *bound.of_arithmetic * 100,
                              bound.arithmetic);
    if (bound.by == Bound::memory || shares.empty()) return std::string(name_of(bound.by));
    return fmt::format("{} ({})", name_of(bound.by), shares);
}

std::string held_back_by(const MicroRow& row) {
    constexpr double kMostlyHuge = 0.9;
    const RowName name = parse_row_name(row.name);
    if (row.error || !row.valid || name.axis("backend") != "cpu" || name.family.starts_with("ceiling") ||
        !row.of_ceiling || *row.of_ceiling >= kHeldBack)
        return {};
    if (row.huge_page_share && *row.huge_page_share < kMostlyHuge)
        return fmt::format("page walks slow its reads: {:.0f} % of the memory is in huge pages",
                           *row.huge_page_share * 100);
    const std::optional<double> share = share_of_cached(row);
    if (!share) return {};
    const double of_cached = *share;
    std::string arithmetic = fmt::format("its instructions alone take {:.0f} % of the time", of_cached * 100);
    if (of_cached >= kNearCached) return arithmetic;
    if (of_cached + *row.of_ceiling >= 1) return arithmetic + " and overlap with its reads only in part";
    return arithmetic + ", so its order of reading is slower than the ceiling's";
}

// A row is compared with its kernel's own speed in cache if it has one. Otherwise it is compared with the
// fastest arithmetic ceiling (ceiling/flops/…) of its device and number of threads, for the number format in
// which the kernel multiplies. This is the row's own format for the products of the GPU library, and bf16 for
// our own GPU kernels. If there is no ceiling for the format, a row of a GPU is compared with the fastest
// ceiling of any format. So is a row of a CPU if its format is one for which no ceiling is ever measured;
// other rows of a CPU then have no share of an arithmetic ceiling.
std::vector<std::optional<RowBound>> bounds_of(std::span<const MicroRow> rows) {
    std::vector<std::optional<RowBound>> bounds;
    for (const MicroRow& row : rows) {
        const RowName name = parse_row_name(row.name);
        bounds.emplace_back();
        if (row.error || !row.valid || name.family.starts_with("ceiling") || !row.of_ceiling) continue;
        RowBound bound;
        bound.of_cached = share_of_cached(row);
        if (const auto ceiling = arithmetic_ceiling(rows, row, name); ceiling && row.flops_per_s) {
            bound.of_arithmetic = *row.flops_per_s / ceiling->flops_per_s;
            bound.arithmetic = ceiling->name;
        }
        const auto by = bound.of_cached ? bound_by(row.of_ceiling, bound.of_cached, kNearCached)
                                        : bound_by(row.of_ceiling, bound.of_arithmetic);
        if (!by) continue;
        bound.by = *by;
        bounds.back() = bound;
    }
    return bounds;
}

}  // namespace paretoken::reports
