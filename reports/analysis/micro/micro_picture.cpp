#include "reports/analysis/micro/micro_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "core/formats.h"
#include "core/stable_sort.h"
#include "core/text/natural_order.h"
#include "reports/analysis/micro/micro_bound.h"
#include "reports/analysis/micro/micro_results.h"

namespace paretoken::reports {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

std::string format_of(const RowName& name, const std::string& axis) {
    return std::string(format_name(name.axis(axis)));
}

bool has_any(const RowName& name, std::initializer_list<const char*> axes) {
    return std::ranges::any_of(axes, [&](const char* axis) { return name.axes.contains(axis); });
}

/// The series and the x of a row in a chart, and its amount of bytes or FLOP.
struct Placed {
    std::string series;
    double x = 0;
    double amount = 0;
};

/// The sum of the rows of one point of a chart.
struct PointSum {
    Placed at;
    double seconds = 0;
    bool valid = true;
    std::string note;
};

bool is_better(const PicturePoint& candidate, const PicturePoint& held) {
    return candidate.valid != held.valid ? candidate.valid : candidate.y > held.y;
}

std::string note_of(const MicroRow& row) {
    const std::string why = held_back_by(row);
    return row.label + (row.label.empty() || why.empty() ? "" : "; ") + why;
}

/// The series of a chart: the best kernel of each series at each x, summed over the operations of a layer.
template <class Place>
std::vector<PictureSeries> series_of(const MicroResults& micro, double unit, Place place) {
    std::map<std::string, PointSum> sums;
    for (const MicroRow& row : micro.rows) {
        if (row.error || !row.median_s) continue;
        const RowName name = parse_row_name(row.name);
        const std::optional<Placed> at = place(row, name);
        if (!at || !(at->amount > 0)) continue;
        PointSum& sum = sums[over_all_ops(row.name, name)];
        sum.at.series = at->series;
        sum.at.x = at->x;
        sum.at.amount += at->amount;
        sum.seconds += *row.median_s;
        sum.valid = sum.valid && row.valid;
        if (sum.note.empty()) sum.note = note_of(row);
    }
    std::map<std::string, std::map<double, PicturePoint>, NaturalLess> best;
    for (const auto& [name, sum] : sums) {
        const PicturePoint point{sum.at.x, sum.at.amount / sum.seconds / unit, sum.valid, name, sum.note};
        const auto [held, added] = best[sum.at.series].try_emplace(sum.at.x, point);
        if (!added && is_better(point, held->second)) held->second = point;
    }
    std::vector<PictureSeries> series;
    for (const auto& [name, points] : best) {
        series.push_back({name, {}});
        for (const auto& [x, point] : points) series.back().points.push_back(point);
    }
    return series;
}

void add_read_ceiling(Picture& picture, const MicroResults& micro) {
    if (micro.read_bytes_per_s)
        picture.lines.push_back({"read ceiling", micro.read_bytes_per_s->value / kGiga});
}

/// Adds the arithmetic ceilings in the unit of the chart.
void add_flops_ceilings(Picture& picture, const MicroResults& micro, double unit) {
    for (const auto& [kind, figure] : micro.flops_per_s) picture.lines.push_back({kind, figure.value / unit});
    for (const auto& [format, figure] : micro.library_flops_per_s)
        picture.lines.push_back({format + " library", figure.value / unit});
    for (const auto& [format, figure] : micro.instruction_flops_per_s)
        picture.lines.push_back({format + " mma.sync", figure.value / unit});
}

Picture weights_of(const MicroResults& micro) {
    Picture picture{"weights", "Weight bandwidth by batch", "Batch", "GB/s", {}, {}};
    picture.series =
        series_of(micro, kGiga, [](const MicroRow& row, const RowName& name) -> std::optional<Placed> {
            const bool library = name.family == "gemm_lib";
            const auto batch = name.number("batch");
            if ((name.family != "weights" && !library) || !batch || has_any(name, {"decode"})) return {};
            return Placed{format_of(name, "w") + (library ? ", library" : ""), *batch, row.bytes()};
        });
    add_read_ceiling(picture, micro);
    return picture;
}

Picture attention_of(const MicroResults& micro) {
    Picture picture{"attention", "KV attention by context", "Context, tokens", "GB/s", {}, {}};
    picture.series =
        series_of(micro, kGiga, [](const MicroRow& row, const RowName& name) -> std::optional<Placed> {
            const bool latent = name.family == "mla";
            const auto context = name.number("ctx");
            if ((name.family != "attention" && !latent) || !context ||
                has_any(name, {"window", "q_len", "sinks", "pool"}))
                return {};
            std::string series = (latent ? "latent " : "") + format_of(name, "kv");
            if (const auto batch = name.number("batch")) series += fmt::format(", batch {:g}", *batch);
            return Placed{series, *context, row.bytes()};
        });
    add_read_ceiling(picture, micro);
    return picture;
}

/// The chart of prefill. A CPU has no rows for prompts, so it shows the arithmetic of its largest batches.
Picture prefill_of(const MicroResults& micro) {
    Picture picture{"prefill", "Prefill arithmetic by prompt length", "Tokens", "TFLOP/s", {}, {}};
    double unit = kTera;
    picture.series =
        series_of(micro, unit, [](const MicroRow& row, const RowName& name) -> std::optional<Placed> {
            const auto tokens = name.number("tokens");
            if (!tokens) return {};
            if (name.family == "prefill/gemm") return Placed{format_of(name, "w"), *tokens, row.flops()};
            if (name.family == "prefill/attention")
                return Placed{"attention " + format_of(name, "kv"), *tokens, row.flops()};
            return {};
        });
    if (picture.series.empty() && micro.device.backend == MicroBackend::cpu) {
        picture.title = "Arithmetic of products by batch";
        picture.x_title = "Batch";
        picture.y_title = "GFLOP/s";
        unit = kGiga;
        picture.series =
            series_of(micro, unit, [](const MicroRow& row, const RowName& name) -> std::optional<Placed> {
                const auto batch = name.number("batch");
                if (name.family != "weights" || !batch) return {};
                return Placed{format_of(name, "w"), *batch, row.flops()};
            });
    }
    add_flops_ceilings(picture, micro, unit);
    return picture;
}

// --- layers

struct KnownOperation {
    std::string_view name;
    std::string_view group;
};
/// The groups of operations, and the known operations in the order of a forward pass.
constexpr std::string_view kSmall = "norms and other small kernels";
constexpr std::string_view kProjections = "attention's matrices";
constexpr std::string_view kAttention = "attention";
constexpr std::string_view kFeedForward = "feed-forward";
constexpr std::string_view kExperts = "experts";
constexpr std::string_view kGaps = "gaps between kernels";
constexpr std::array kOperations{
    KnownOperation{"norm", kSmall},          KnownOperation{"qkv", kProjections},
    KnownOperation{"rope", kSmall},          KnownOperation{"q_a", kProjections},
    KnownOperation{"q_norm", kSmall},        KnownOperation{"q_b", kProjections},
    KnownOperation{"kv_a", kProjections},    KnownOperation{"latent_rope", kSmall},
    KnownOperation{"absorb", kProjections},  KnownOperation{"narrow_q", kSmall},
    KnownOperation{"attention", kAttention}, KnownOperation{"latent_attention", kAttention},
    KnownOperation{"narrow_latent", kSmall}, KnownOperation{"expand", kProjections},
    KnownOperation{"narrow_values", kSmall}, KnownOperation{"o", kProjections},
    KnownOperation{"ffn_norm", kSmall},      KnownOperation{"gate_up", kFeedForward},
    KnownOperation{"silu", kSmall},          KnownOperation{"down", kFeedForward},
    KnownOperation{"router", kExperts},      KnownOperation{"route", kExperts},
    KnownOperation{"gather", kExperts},      KnownOperation{"expert_gate_up", kExperts},
    KnownOperation{"expert_silu", kSmall},   KnownOperation{"expert_down", kExperts},
    KnownOperation{"mix", kExperts}};

std::vector<LayerOperation> operations_of(const MicroRow& row) {
    std::vector<LayerOperation> operations;
    for (const KnownOperation& known : kOperations)
        if (const auto part = row.part_s.find(std::string(known.name)); part != row.part_s.end())
            operations.push_back({part->first, std::string(known.group), part->second});
    for (const auto& part : row.part_s) {
        const bool shown = std::ranges::any_of(
            operations, [&](const LayerOperation& one) { return one.name == part.first; });
        if (!shown) operations.push_back({part.first, std::string(kSmall), part.second});
    }
    if (row.gap_s.value_or(0) > 0) operations.push_back({"gaps", std::string(kGaps), *row.gap_s});
    return operations;
}

std::vector<LayerStack> layers_of(const MicroResults& micro) {
    std::vector<LayerStack> layers;
    for (const MicroRow& row : micro.rows) {
        const RowName name = parse_row_name(row.name);
        if (name.family != "layer" || row.error || !row.median_s || row.part_s.empty()) continue;
        std::string title =
            fmt::format("{} {}, KV {}, batch {}, {} tokens", name.axis("preset"), format_of(name, "w"),
                        format_of(name, "kv"), name.axis("batch"), name.axis("ctx"));
        if (const std::string tp = name.axis("tp"); !tp.empty()) title += ", 1 of " + tp + " GPUs";
        layers.push_back({std::move(title), operations_of(row), *row.median_s, row.valid});
    }
    return layers;
}

// --- ceilings

/// The name of a ceiling for people: "ceiling/read/mib:1024/access:staged/backend:gpu/mode:ring" → "read,
/// 1024 MiB, staged"
std::string ceiling_name(const RowName& name) {
    std::string text = name.family.starts_with("ceiling/") ? name.family.substr(8) : name.family;
    std::ranges::replace(text, '/', ' ');
    std::ranges::replace(text, '_', ' ');
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kUnits{
        {{"kib", " KiB"},
         {"mib", " MiB"},
         {"gib", " GiB"},
         {"piece", " bytes a piece"},
         {"threads", " threads"}}};
    for (const auto& axis : name.axes) {
        if (axis.first == "backend" || axis.first == "mode") continue;
        const auto* const unit =
            std::ranges::find_if(kUnits, [&](const auto& one) { return one.first == axis.first; });
        text += fmt::format(", {}{}", axis.second, unit == kUnits.end() ? "" : unit->second);
        if (axis.first == "threads" && axis.second == "1") text.pop_back();
    }
    return text;
}

bool is_better(const CeilingRow& candidate, const CeilingRow& held) {
    if (candidate.valid != held.valid) return candidate.valid;
    return candidate.unit == "µs" ? candidate.value < held.value : candidate.value > held.value;
}

std::vector<CeilingRow> ceilings_of(const MicroResults& micro) {
    std::vector<CeilingRow> ceilings;
    for (const MicroRow& row : micro.rows) {
        const RowName name = parse_row_name(row.name);
        const bool shown = name.family.starts_with("ceiling/") || name.family.starts_with("copy/") ||
                           name.family.starts_with("launch/");
        if (!shown || row.error) continue;
        CeilingRow ceiling{ceiling_name(name), 0, "", row.valid, row.label};
        if (row.bytes_per_s) {
            ceiling.value = *row.bytes_per_s / kGiga;
            ceiling.unit = "GB/s";
        } else if (row.flops_per_s) {
            const bool cpu = micro.device.backend == MicroBackend::cpu;
            ceiling.value = *row.flops_per_s / (cpu ? kGiga : kTera);
            ceiling.unit = cpu ? "GFLOP/s" : "TFLOP/s";
        } else if (row.median_s) {
            ceiling.value = *row.median_s * 1e6;
            ceiling.unit = "µs";
        }
        if (!(ceiling.value > 0)) continue;
        const auto held = std::ranges::find(ceilings, ceiling.name, &CeilingRow::name);
        if (held == ceilings.end())
            ceilings.push_back(std::move(ceiling));
        else if (is_better(ceiling, *held))  // the same ceiling may be in several files
            *held = std::move(ceiling);
    }
    return ceilings;
}

std::vector<std::pair<std::string, std::string>> facts_of(const MicroResults& micro) {
    const MicroDevice& device = micro.device;
    std::vector<std::pair<std::string, std::string>> facts;
    const auto add = [&](const char* name, const std::optional<std::string>& value) {
        if (value && !value->empty()) facts.emplace_back(name, *value);
    };
    const auto scaled = [](const std::optional<double>& value, double unit, const char* name) {
        return value ? std::optional(fmt::format("{:.4g} {}", *value / unit, name)) : std::nullopt;
    };
    add("Measured", micro.date.substr(0, 10));
    if (device.backend == MicroBackend::gpu)
        add("Datasheet card", device.card.value_or("none: its limit is what was measured here"));
    add("Memory", scaled(device.memory_bytes, kGiga, "GB"));
    add("Bandwidth by its clock", scaled(device.peak_bytes_per_s, kGiga, "GB/s"));
    add("Core clock, highest", scaled(device.sm_clock_hz, 1e6, "MHz"));
    add("Memory clock, highest", scaled(device.memory_clock_hz, 1e6, "MHz"));
    add("Power limit", scaled(device.power_limit_w, 1, "W"));
    add("Driver", device.driver);
    if (device.mig.value_or(false)) add("MIG", std::string("on"));
    if (micro.invalid_rows > 0) add("Rows that are not valid", fmt::format("{}", micro.invalid_rows));
    return facts;
}

std::string device_title(const MicroDevice& device) {
    return device.backend == MicroBackend::gpu ? fmt::format("{} ({})", device.name, device.id)
                                               : title_of(device);
}

void add_from(Picture& to, const Picture& from, std::string_view which) {
    for (PictureSeries series : from.series) {
        series.name += fmt::format(", {}", which);
        to.series.push_back(std::move(series));
    }
    for (PictureLine line : from.lines) {
        line.name += fmt::format(", {}", which);
        to.lines.push_back(std::move(line));
    }
}

}  // namespace

DevicePicture picture_of(const MicroResults& micro) {
    DevicePicture device{.title = device_title(micro.device),
                         .facts = facts_of(micro),
                         .layers = layers_of(micro),
                         .ceilings = ceilings_of(micro)};
    for (Picture picture : {weights_of(micro), attention_of(micro), prefill_of(micro)})
        if (!picture.series.empty()) device.pictures.push_back(std::move(picture));
    return device;
}

DevicePicture picture_of_both(const MicroResults& first, const MicroResults& second) {
    const DevicePicture a = picture_of(first);
    const DevicePicture b = picture_of(second);
    DevicePicture both{.title = fmt::format("{}, first, beside {}, second", a.title, b.title)};
    const auto add = [&](const DevicePicture& from, std::string_view which) {
        for (const auto& [name, value] : from.facts)
            both.facts.emplace_back(fmt::format("{}, {}", name, which), value);
        for (const Picture& picture : from.pictures) {
            auto held = std::ranges::find(both.pictures, picture.id, &Picture::id);
            if (held == both.pictures.end())
                held = both.pictures.insert(
                    held, {picture.id, picture.title, picture.x_title, picture.y_title, {}, {}});
            add_from(*held, picture, which);
        }
        for (LayerStack layer : from.layers) {
            layer.name += fmt::format(", {}", which);
            both.layers.push_back(std::move(layer));
        }
        for (CeilingRow ceiling : from.ceilings) {
            ceiling.name += fmt::format(", {}", which);
            both.ceilings.push_back(std::move(ceiling));
        }
    };
    add(a, "first");
    add(b, "second");
    for (Picture& picture : both.pictures) sort_stably(picture.series, NaturalLess(), &PictureSeries::name);
    return both;
}

}  // namespace paretoken::reports
