#include "reports/micro_bound.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace paretoken::reports {
namespace {

/// Which arithmetic multiplies numbers of a stored type (rows' `w` or `kv`) on a CPU.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kKinds{{{"bf16", "bf16_dot"},
                                                                               {"f16", "f32_fma"},
                                                                               {"q8_0", "int8_dot"},
                                                                               {"q4_0", "int8_dot"},
                                                                               {"q4_1", "int8_dot"},
                                                                               {"q4_k", "int8_dot"},
                                                                               {"q6_k", "int8_dot"}}};

std::string_view kind_of(std::string_view type) {
    const auto found =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& kind) { return kind.first == type; });
    return found == kKinds.end() ? std::string_view() : found->second;
}

/// Which numbers a GPU multiplies for a row, as its ceilings name them (`w`): a library those that are
/// stored, our own kernels 16 bits, whatever is stored.
std::string product_type(const RowName& name) {
    const bool library = name.family == "gemm_lib" || name.family == "prefill/gemm";
    return library ? name.axis("w") : "bf16";
}

/// Whether a ceiling of the same backend is one of the row's own arithmetic.
bool is_of_kind(const RowName& ceiling, const RowName& name, std::string_view type) {
    if (name.axis("backend") == "gpu") return ceiling.axis("w") == product_type(name);
    return !ceiling.axis("kind").empty() && ceiling.axis("kind") == kind_of(type);
}

/// The best ceiling of the row's backend and threads, of the kind its numbers want where that kind was
/// measured.
std::optional<double> arithmetic_ceiling(std::span<const MicroRow> rows, const RowName& name) {
    const std::string type = name.axis("w").empty() ? name.axis("kv") : name.axis("w");
    std::optional<double> best;
    std::optional<double> best_of_kind;
    for (const MicroRow& row : rows) {
        const RowName ceiling = parse_row_name(row.name);
        if (!ceiling.family.starts_with("ceiling/flops") || !row.valid || !row.flops_per_s) continue;
        if (ceiling.axis("backend") != name.axis("backend") ||
            ceiling.axis("threads") != name.axis("threads"))
            continue;
        best = std::max(best.value_or(0), *row.flops_per_s);
        if (is_of_kind(ceiling, name, type))
            best_of_kind = std::max(best_of_kind.value_or(0), *row.flops_per_s);
    }
    return best_of_kind ? best_of_kind : kind_of(type).empty() ? best : std::nullopt;
}

}  // namespace

std::string_view name_of(Bound bound) {
    switch (bound) {
        case Bound::memory:
            return "memory";
        case Bound::compute:
            return "compute";
        default:
            return "neither";
    }
}

std::optional<Bound> bound_by(std::optional<double> of_memory, std::optional<double> of_compute) {
    const bool near_memory = of_memory && *of_memory >= kNearMemory;
    const bool near_compute = of_compute && *of_compute >= kNearCompute;
    if (near_memory && near_compute) return *of_compute > *of_memory ? Bound::compute : Bound::memory;
    if (near_memory) return Bound::memory;
    if (near_compute) return Bound::compute;
    if (!of_memory || !of_compute) return {};
    return Bound::neither;
}

std::vector<std::optional<Bound>> bounds_of(std::span<const MicroRow> rows) {
    std::vector<std::optional<Bound>> bounds;
    for (const MicroRow& row : rows) {
        const RowName name = parse_row_name(row.name);
        if (row.error || !row.valid || name.family.starts_with("ceiling") || !row.of_ceiling) {
            bounds.emplace_back();
            continue;
        }
        const auto ceiling = arithmetic_ceiling(rows, name);
        std::optional<double> of_compute;
        if (ceiling && row.flops_per_s) of_compute = *row.flops_per_s / *ceiling;
        bounds.push_back(bound_by(row.of_ceiling, of_compute));
    }
    return bounds;
}

}  // namespace paretoken::reports
