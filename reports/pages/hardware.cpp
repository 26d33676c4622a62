#include "reports/pages/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "reports/document/table.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "reports/pages/picture.h"

namespace paretoken::reports {
namespace {

Sheet sheet_of(const std::vector<LayerStack>& layers) {
    Sheet sheet{{"Layer"}, {}};
    std::vector<std::string> names;
    for (const LayerStack& layer : layers)
        for (const LayerOperation& operation : layer.operations)
            if (std::find(names.begin(), names.end(), operation.name) == names.end())
                names.push_back(operation.name);
    sheet.head.emplace_back("whole");
    sheet.head.insert(sheet.head.end(), names.begin(), names.end());
    for (const LayerStack& layer : layers) {
        std::vector<std::string> row{layer.name, marked(layer.seconds * 1e6, layer.valid)};
        for (const std::string& name : names) {
            const auto found = std::find_if(layer.operations.begin(), layer.operations.end(),
                                            [&](const LayerOperation& one) { return one.name == name; });
            row.push_back(found == layer.operations.end() ? "" : significant(found->seconds * 1e6));
        }
        sheet.rows.push_back(std::move(row));
    }
    return sheet;
}

Sheet sheet_of(const std::vector<CeilingRow>& ceilings) {
    Sheet sheet{{"Ceiling", "Value", "Unit", "Remark"}, {}};
    for (const CeilingRow& ceiling : ceilings)
        sheet.rows.push_back(
            {ceiling.name, marked(ceiling.value, ceiling.valid), ceiling.unit, ceiling.note});
    return sheet;
}

bool has_invalid(const DevicePicture& device) {
    const auto point_is_not = [](const PicturePoint& point) { return !point.valid; };
    for (const Picture& picture : device.pictures)
        for (const PictureSeries& series : picture.series)
            if (std::any_of(series.points.begin(), series.points.end(), point_is_not)) return true;
    return std::any_of(device.ceilings.begin(), device.ceilings.end(),
                       [](const CeilingRow& ceiling) { return !ceiling.valid; }) ||
           std::any_of(device.layers.begin(), device.layers.end(),
                       [](const LayerStack& layer) { return !layer.valid; });
}

std::string device_html(const DevicePicture& device, std::size_t index) {
    const std::string id = fmt::format("device-{}", index);
    std::string html = fmt::format("<div class=\"part device\"><h3>{}</h3>\n", html_escaped(device.title));
    std::string facts;
    for (const auto& [name, value] : device.facts)
        facts += fmt::format("<dt>{}<dd>{}\n", html_escaped(name), html_escaped(value));
    if (!facts.empty()) html += fmt::format("<dl class=\"facts\">\n{}</dl>\n", facts);
    html += "<div class=\"pair\">\n";
    for (const Picture& picture : device.pictures)
        html += picture_html(fmt::format("{}-{}", id, picture.id), picture);
    html += "</div>\n";
    if (!device.layers.empty())
        html += "<div class=\"layers\">\n" +
                figure_html(id + "-layers", "A decoder layer by its operations, µs", "",
                            sheet_of(device.layers)) +
                "</div>\n";
    if (!device.ceilings.empty()) html += folded_html("Every ceiling", html_of(sheet_of(device.ceilings)));
    return html + "</div>\n";
}

}  // namespace

std::string hardware_section(const std::vector<DevicePicture>& devices) {
    if (devices.empty()) return "";
    std::string html =
        "<section aria-labelledby=\"hardware-title\">\n<h2 id=\"hardware-title\">What the hardware can "
        "do</h2>\n<p "
        "class=\"lead\">Speeds of our own kernels as <code>paretoken micro</code> measured them, each "
        "checked "
        "against a reference before it was timed, beside the ceilings of the same device.";
    if (std::any_of(devices.begin(), devices.end(), has_invalid))
        html +=
            " Hollow markers and figures with an asterisk are of rows that are not valid: they must "
            "not be used.";
    html += "</p>\n";
    for (std::size_t i = 0; i < devices.size(); ++i) html += device_html(devices[i], i);
    return html + "</section>\n";
}

std::string hardware_markdown(const std::vector<DevicePicture>& devices) {
    if (devices.empty()) return "";
    std::string text = "## What the hardware can do\n\n";
    for (const DevicePicture& device : devices) {
        text += fmt::format("### {}\n\n", markdown_escaped(device.title));
        for (const Picture& picture : device.pictures) text += picture_markdown(picture);
        if (!device.layers.empty())
            text += titled_markdown("A decoder layer by its operations, µs", sheet_of(device.layers));
        if (!device.ceilings.empty())
            text += fmt::format("<details><summary>Every ceiling</summary>\n\n{}</details>\n\n",
                                markdown_of(sheet_of(device.ceilings)));
        if (has_invalid(device)) text += "\\* This row is not valid: it must not be used.\n\n";
    }
    return text;
}

}  // namespace paretoken::reports
