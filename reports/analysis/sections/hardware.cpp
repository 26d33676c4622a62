#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/stable_sort.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

/// The groups of a layer's operations in the order of the legend, and the colour of each.
struct OperationGroup {
    std::string_view name;
    std::size_t colour = 0;
};
constexpr std::array kGroups{OperationGroup{"attention's matrices", 1},
                             OperationGroup{"attention", 5},
                             OperationGroup{"feed-forward", 6},
                             OperationGroup{"experts", 7},
                             OperationGroup{"norms and other small kernels", 4},
                             OperationGroup{"gaps between kernels", 0}};

std::size_t rank_of(std::string_view group) {
    const auto found = std::ranges::find(kGroups, group, &OperationGroup::name);
    return static_cast<std::size_t>(found - kGroups.begin());
}

const LayerOperation* operation_of(const LayerStack& layer, const std::string& name) {
    const auto found = std::ranges::find(layer.operations, name, &LayerOperation::name);
    return found == layer.operations.end() ? nullptr : &*found;
}

/// One part per operation that at least one layer has, in the order of the forward pass.
std::vector<BarPart> parts_of(const std::vector<LayerStack>& layers) {
    std::vector<BarPart> parts;
    for (const LayerStack& layer : layers)
        for (const LayerOperation& operation : layer.operations) {
            const auto same_name = [&](const BarPart& part) { return part.name == operation.name; };
            if (std::ranges::any_of(parts, same_name)) continue;
            const std::size_t rank = rank_of(operation.group);
            parts.push_back({.name = operation.name,
                             .group = operation.group,
                             .colour = rank < kGroups.size() ? kGroups[rank].colour : 0});
        }
    for (BarPart& part : parts)
        for (const LayerStack& layer : layers) {
            const LayerOperation* const operation = operation_of(layer, part.name);
            part.lengths.push_back(operation == nullptr ? std::nullopt
                                                        : std::optional(operation->seconds * 1e6));
        }
    return parts;
}

BarChart layers_of(const std::vector<LayerStack>& layers, const std::string& id) {
    BarChart chart{.id = id,
                   .bars = {.title = "A decoder layer by its operations, µs",
                            .what = "A decoder layer by its operations, µs",
                            .unit = "µs",
                            .x_title = "µs of one step",
                            .parts = parts_of(layers)},
                   .table = {{{"Layer", Align::left}, {"whole"}}, {}}};
    for (const BarPart& part : chart.bars.parts) chart.table.columns.push_back({part.name});
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const LayerStack& layer = layers[i];
        const double whole_us = layer.seconds * 1e6;
        chart.bars.bars.push_back({layer.name + (layer.valid ? "" : " (not valid)"), layer.name, whole_us});
        std::vector<std::string> row{layer.name, marked(whole_us, layer.valid)};
        for (const BarPart& part : chart.bars.parts)
            row.push_back(part.lengths[i] ? significant(*part.lengths[i]) : "");
        chart.table.rows.push_back(std::move(row));
    }
    sort_stably(chart.bars.parts,
                [](const BarPart& a, const BarPart& b) { return rank_of(a.group) < rank_of(b.group); });
    return chart;
}

Table table_of(const std::vector<CeilingRow>& ceilings) {
    Table table{{{"Ceiling", Align::left}, {"Value"}, {"Unit", Align::left}, {"Remark", Align::left}}, {}};
    for (const CeilingRow& ceiling : ceilings)
        table.rows.push_back(
            {ceiling.name, marked(ceiling.value, ceiling.valid), ceiling.unit, ceiling.note});
    return table;
}

bool has_invalid(const DevicePicture& device) {
    const auto point_is_not = [](const PicturePoint& point) { return !point.valid; };
    for (const Picture& picture : device.pictures)
        for (const PictureSeries& series : picture.series)
            if (std::ranges::any_of(series.points, point_is_not)) return true;
    return std::ranges::any_of(device.ceilings, [](const CeilingRow& ceiling) { return !ceiling.valid; }) ||
           std::ranges::any_of(device.layers, [](const LayerStack& layer) { return !layer.valid; });
}

Part device_part(const DevicePicture& device, std::size_t index) {
    Part part{.title = device.title, .ruled = true, .blocks = {}};
    if (!device.facts.empty()) part.blocks.push_back({Facts{device.facts}});
    Charts charts;
    for (const Picture& picture : device.pictures)
        charts.items.push_back({fmt::format("device-{}-{}", index, picture.id), picture});
    if (!charts.items.empty()) part.blocks.push_back({std::move(charts)});
    if (!device.layers.empty())
        part.blocks.push_back({layers_of(device.layers, fmt::format("device-{}-layers", index))});
    if (!device.ceilings.empty())
        part.blocks.push_back({Folded{"Every ceiling", {{table_of(device.ceilings)}}}});
    return part;
}

}  // namespace

std::vector<Section> hardware_sections(const ReportModel& model) {
    if (model.devices.empty()) return {};
    std::string lead =
        "Speeds of our own kernels as paretoken micro measured them, each checked against a reference before "
        "it was timed, beside the ceilings of the same device.";
    if (std::ranges::any_of(model.devices, has_invalid))
        lead +=
            " Hollow markers and figures with an asterisk are of rows that are not valid: they must not be "
            "used.";
    Section section{"hardware", "What the hardware can do", {{Paragraph{std::move(lead)}}}};
    for (std::size_t i = 0; i < model.devices.size(); ++i)
        section.blocks.push_back({device_part(model.devices[i], i)});
    return {std::move(section)};
}

}  // namespace paretoken::reports
