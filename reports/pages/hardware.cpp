#include "reports/pages/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "reports/pages/table.h"

namespace paretoken::reports {
namespace {

/// One table in words: what both forms of a page are written from.
struct Sheet {
    std::vector<std::string> head;  ///< the first is the rows' title
    std::vector<std::vector<std::string>> rows;
};

std::string cell_of(double value, bool valid) {
    return significant(value) + (valid ? "" : "*");
}

const PicturePoint* point_at(const PictureSeries& series, double x) {
    const auto found = std::find_if(series.points.begin(), series.points.end(),
                                    [x](const PicturePoint& point) { return point.x == x; });
    return found == series.points.end() ? nullptr : &*found;
}

/// A row per x, a column per series, and the ceilings below.
Sheet sheet_of(const Picture& picture) {
    Sheet sheet{{picture.x_title}, {}};
    std::set<double> places;
    for (const PictureSeries& series : picture.series) {
        sheet.head.push_back(series.name);
        for (const PicturePoint& point : series.points) places.insert(point.x);
    }
    for (const double x : places) {
        std::vector<std::string> row{grouped(static_cast<std::uint64_t>(x))};
        for (const PictureSeries& series : picture.series) {
            const PicturePoint* const point = point_at(series, x);
            row.push_back(point == nullptr ? "" : cell_of(point->y, point->valid));
        }
        sheet.rows.push_back(std::move(row));
    }
    return sheet;
}

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
        std::vector<std::string> row{layer.name, cell_of(layer.seconds * 1e6, layer.valid)};
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
            {ceiling.name, cell_of(ceiling.value, ceiling.valid), ceiling.unit, ceiling.note});
    return sheet;
}

/// "read ceiling 4,400"
std::string lines_of(const Picture& picture) {
    std::string text;
    for (const PictureLine& line : picture.lines)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", line.name, significant(line.y));
    return text;
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

// --- HTML

std::string html_of(const Sheet& sheet) {
    std::string html = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>";
    const auto is_text = [](const std::string& title) {
        return title == "Ceiling" || title == "Layer" || title == "Unit" || title == "Remark";
    };
    for (const std::string& title : sheet.head)
        html += fmt::format("<th{} scope=\"col\">{}", is_text(title) ? " class=\"text\"" : "",
                            html_escaped(title));
    html += "</tr></thead>\n<tbody>\n";
    for (const auto& row : sheet.rows) {
        html += fmt::format("<tr><th{} scope=\"row\">{}", is_text(sheet.head[0]) ? " class=\"text\"" : "",
                            html_escaped(row[0]));
        for (std::size_t i = 1; i < row.size(); ++i)
            html += fmt::format("<td{}>{}", is_text(sheet.head[i]) ? " class=\"text\"" : "",
                                html_escaped(row[i]));
        html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string folded(std::string_view summary, const std::string& html) {
    return fmt::format("<details><summary>{}</summary>\n<div>{}</div></details>\n", summary, html);
}

/// A place for a chart and, folded below it, its table.
std::string figure_of(const std::string& id, const std::string& title, const std::string& ceilings,
                      const Sheet& sheet) {
    return fmt::format(
        "<figure>\n<h3>{0}</h3>\n<ul class=\"legend\" id=\"{1}-legend\"></ul>\n<div class=\"canvas\"><canvas "
        "id=\"{1}\" role=\"img\" aria-label=\"{0}. The same numbers are in the table "
        "below.\"></canvas></div>\n<p "
        "class=\"nothing\" hidden>Nothing was measured.</p>\n{2}{3}</figure>\n",
        html_escaped(title), id,
        ceilings.empty() ? "" : fmt::format("<figcaption>Dashed: {}.</figcaption>\n", html_escaped(ceilings)),
        folded("The same in numbers", html_of(sheet)));
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
        html += figure_of(fmt::format("{}-{}", id, picture.id),
                          fmt::format("{}, {}", picture.title, picture.y_title), lines_of(picture),
                          sheet_of(picture));
    html += "</div>\n";
    if (!device.layers.empty())
        html +=
            "<div class=\"layers\">\n" +
            figure_of(id + "-layers", "A decoder layer by its operations, µs", "", sheet_of(device.layers)) +
            "</div>\n";
    if (!device.ceilings.empty()) html += folded("Every ceiling", html_of(sheet_of(device.ceilings)));
    return html + "</div>\n";
}

// --- Markdown

std::string markdown_of(const Sheet& sheet) {
    std::string text = "|";
    std::string rule = "|";
    for (std::size_t i = 0; i < sheet.head.size(); ++i) {
        text += fmt::format(" {} |", markdown_escaped(sheet.head[i]));
        rule += i == 0 ? ":--|" : "--:|";
    }
    text += "\n" + rule + "\n";
    for (const auto& row : sheet.rows) {
        text += "|";
        for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format(" {} |", markdown_escaped(row[i]));
        text += "\n";
    }
    return text + "\n";
}

std::string titled(const std::string& title, const std::string& table) {
    return fmt::format("**{}**\n\n{}", markdown_escaped(title), table);
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
            " Hollow markers and figures with an asterisk are of rows that are not valid: they prove "
            "nothing.";
    html += "</p>\n";
    for (std::size_t i = 0; i < devices.size(); ++i) html += device_html(devices[i], i);
    return html + "</section>\n";
}

std::string hardware_markdown(const std::vector<DevicePicture>& devices) {
    if (devices.empty()) return "";
    std::string text = "## What the hardware can do\n\n";
    for (const DevicePicture& device : devices) {
        text += fmt::format("### {}\n\n", markdown_escaped(device.title));
        for (const Picture& picture : device.pictures) {
            std::string title = fmt::format("{}, {}", picture.title, picture.y_title);
            if (const std::string lines = lines_of(picture); !lines.empty())
                title += fmt::format(" ({})", lines);
            text += titled(title, markdown_of(sheet_of(picture)));
        }
        if (!device.layers.empty())
            text += titled("A decoder layer by its operations, µs", markdown_of(sheet_of(device.layers)));
        if (!device.ceilings.empty())
            text += fmt::format("<details><summary>Every ceiling</summary>\n\n{}</details>\n\n",
                                markdown_of(sheet_of(device.ceilings)));
        if (has_invalid(device)) text += "\\* This row is not valid: it proves nothing.\n\n";
    }
    return text;
}

}  // namespace paretoken::reports
