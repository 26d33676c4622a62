#include "reports/analysis/micro/micro_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cards/presets.h"
#include "core/formats.h"

namespace paretoken::reports {
namespace {

struct NamedRow {
    const MicroRow* row = nullptr;
    RowName name;
};

/// The number of GPUs that share the layer of a row; 1 if the row does not state it.
double share_of(const RowName& name) {
    return name.number("tp").value_or(1);
}

bool is_of_model(const RowName& name, const cards::ModelCard& model) {
    const std::string preset = name.axis("preset");
    return !preset.empty() && cards::card_of_preset(preset) == model.name;
}

/// The valid rows of a family and format, without variants that servers do not run.
std::vector<NamedRow> rows_of(const MicroResults& micro, std::string_view family, const std::string& axis,
                              std::string_view format) {
    constexpr std::string_view kVariants[] = {"decode", "window", "sinks", "q_len", "pool"};
    std::vector<NamedRow> rows;
    for (const MicroRow& row : micro.rows) {
        if (!row.valid || row.error || !row.median_s) continue;
        RowName name = parse_row_name(row.name);
        if (name.family != family || format_name(name.axis(axis)) != format_name(format)) continue;
        const bool variant = std::ranges::any_of(
            kVariants, [&](std::string_view key) { return name.axes.contains(std::string(key)); });
        if (!variant) rows.push_back({&row, std::move(name)});
    }
    return rows;
}

/// The rows of the model and of its share of a layer. If there are none, rows of the whole layer are used; if
/// the model has no rows, rows of any model.
std::vector<NamedRow> nearest_to_model(std::vector<NamedRow> rows, const cards::ModelCard& model,
                                       double ranks) {
    const auto narrowed = [](const std::vector<NamedRow>& from, auto keep) {
        std::vector<NamedRow> kept;
        std::copy_if(from.begin(), from.end(), std::back_inserter(kept), keep);
        return kept.empty() ? from : kept;
    };
    rows = narrowed(rows, [&](const NamedRow& one) { return is_of_model(one.name, model); });
    const auto share = [&](double wanted) {
        return [wanted](const NamedRow& one) { return share_of(one.name) == wanted; };
    };
    if (std::ranges::any_of(rows, share(ranks))) return narrowed(rows, share(ranks));
    return narrowed(rows, share(1));
}

/// The sum over a forward pass of rows of one kernel that differ only in their operation.
struct Sum {
    double amount = 0;
    double seconds = 0;
    double batch = 1;
    double tokens = 0;
};

/// The speeds of rows summed over a forward pass. `amount` gives the bytes or FLOP of a row; the output head
/// counts once, other operations once per layer.
template <class Amount>
std::vector<SpeedAt> summed(const std::vector<NamedRow>& rows, const cards::ModelCard& model,
                            const std::string& tokens_axis, Amount amount) {
    std::map<std::string, Sum> sums;
    for (const auto& [row, name] : rows) {
        const double done = amount(*row);
        if (!(done > 0)) continue;
        const double times = name.axis("op") == "lm_head" ? 1 : static_cast<double>(model.layers);
        Sum& sum = sums[over_all_ops(row->name, name)];
        sum.amount += times * done;
        sum.seconds += times * *row->median_s;
        sum.batch = name.number("batch").value_or(1);
        sum.tokens = tokens_axis.empty() ? 0 : name.number(tokens_axis).value_or(0);
    }
    std::map<std::pair<double, double>, SpeedAt> best;  // the fastest kernel by batch and tokens
    for (const auto& [name, sum] : sums) {
        SpeedAt& speed = best[{sum.batch, sum.tokens}];
        if (sum.amount / sum.seconds > speed.per_s)
            speed = {sum.batch, sum.tokens, sum.amount / sum.seconds, name};
    }
    std::vector<SpeedAt> speeds;
    for (auto& [at, speed] : best) speeds.push_back(std::move(speed));
    return speeds;
}

double bytes_of(const MicroRow& row) {
    return row.bytes();
}
double flops_of(const MicroRow& row) {
    return row.flops();
}

/// The speeds of the weights' products in decoding, by our own kernels and, for large batches, by the
/// library.
std::vector<SpeedAt> weight_speeds(const MicroResults& micro, const cards::ModelCard& model, double ranks) {
    auto rows = nearest_to_model(rows_of(micro, "weights", "w", model.weight_dtype), model, ranks);
    const auto library = nearest_to_model(rows_of(micro, "gemm_lib", "w", model.weight_dtype), model, ranks);
    rows.insert(rows.end(), library.begin(), library.end());
    return summed(rows, model, "", bytes_of);
}

std::vector<SpeedAt> attention_speeds(const MicroResults& micro, const cards::ModelCard& model,
                                      double ranks) {
    auto rows = rows_of(micro, model.mla ? "mla" : "attention", "kv", model.kv_dtype);
    std::erase_if(rows, [](const NamedRow& one) { return !one.name.number("ctx"); });
    return summed(nearest_to_model(std::move(rows), model, ranks), model, "ctx", bytes_of);
}

/// The speeds in the format of the weights if it was measured, else in bf16, because weights are unpacked
/// once per prompt.
std::vector<SpeedAt> prefill_speeds(const MicroResults& micro, const cards::ModelCard& model) {
    auto rows = rows_of(micro, "prefill/gemm", "w", model.weight_dtype);
    if (rows.empty()) rows = rows_of(micro, "prefill/gemm", "w", "bf16");
    return summed(nearest_to_model(std::move(rows), model, 1), model, "tokens", flops_of);
}

std::vector<SpeedAt> prefill_attention_speeds(const MicroResults& micro, const cards::ModelCard& model) {
    auto rows = rows_of(micro, "prefill/attention", "kv", model.kv_dtype);
    if (rows.empty()) rows = rows_of(micro, "prefill/attention", "kv", "bf16");
    std::vector<SpeedAt> speeds =
        summed(nearest_to_model(std::move(rows), model, 1), model, "tokens", flops_of);
    for (SpeedAt& speed : speeds) speed.batch = 1;
    return speeds;
}

std::vector<LayerTime> layer_times(const MicroResults& micro, const cards::ModelCard& model, double ranks) {
    std::vector<LayerTime> layers;
    for (const auto& [row, name] : rows_of(micro, "layer", "w", model.weight_dtype)) {
        const auto batch = name.number("batch");
        const auto context = name.number("ctx");
        if (!batch || !context || !is_of_model(name, model) || share_of(name) != ranks ||
            format_name(name.axis("kv")) != format_name(model.kv_dtype))
            continue;
        layers.push_back({*batch, *context, *row->median_s, row->name});
    }
    return layers;
}

std::optional<MeasuredFigure> launch_of(const MicroResults& micro) {
    for (const MicroRow& row : micro.rows)
        if (row.valid && row.median_s && parse_row_name(row.name).family == "launch/graph_node")
            return MeasuredFigure{*row.median_s, row.name};
    return {};
}

double distance(double a, double b, double c, double d) {
    const double x = std::log(std::max(1.0, a) / std::max(1.0, b));
    const double y = std::log(std::max(1.0, c) / std::max(1.0, d));
    return x * x + y * y;
}

}  // namespace

// Prefill uses bf16 rows if there are none with the model's formats. Rows of the model's own matrices are
// used if there are any, else rows of other models. For `weights` and `attention`, rows that were measured
// for this share of a layer are preferred; prefill uses rows of the whole layer.
KernelSpeeds kernel_speeds(const MicroResults& micro, const cards::ModelCard& model, std::uint32_t ranks) {
    return {.weights = weight_speeds(micro, model, ranks),
            .attention = attention_speeds(micro, model, ranks),
            .prefill = prefill_speeds(micro, model),
            .prefill_attention = prefill_attention_speeds(micro, model),
            .layers = layer_times(micro, model, ranks),
            .launch_s = launch_of(micro)};
}

std::optional<double> weight_speed_at(const KernelSpeeds& kernels, double batch) {
    const auto& speeds = kernels.weights;  // ascending batch
    if (speeds.empty()) return {};
    const auto above =
        std::ranges::find_if(speeds, [&](const SpeedAt& speed) { return speed.batch >= batch; });
    if (above == speeds.end()) return speeds.back().per_s;
    if (above == speeds.begin() || above->batch == batch) return above->per_s;
    const SpeedAt& below = *std::prev(above);
    const double share = std::log(batch / below.batch) / std::log(above->batch / below.batch);
    return 1 / ((1 - share) / below.per_s + share / above->per_s);
}

const SpeedAt* nearest_speed(const std::vector<SpeedAt>& speeds, double batch, double tokens) {
    const auto best = std::ranges::min_element(speeds, [&](const SpeedAt& a, const SpeedAt& b) {
        return distance(a.batch, batch, a.tokens, tokens) < distance(b.batch, batch, b.tokens, tokens);
    });
    return best == speeds.end() ? nullptr : &*best;
}

const LayerTime* nearest_layer(const std::vector<LayerTime>& layers, double batch, double context) {
    const auto best = std::ranges::min_element(layers, [&](const LayerTime& a, const LayerTime& b) {
        return distance(a.batch, batch, a.context, context) < distance(b.batch, batch, b.context, context);
    });
    return best == layers.end() ? nullptr : &*best;
}

}  // namespace paretoken::reports
