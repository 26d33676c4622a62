#include "reports/pages/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "reports/pages/html.h"
#include "reports/pages/markdown.h"

namespace paretoken::reports {
namespace {

const PicturePoint* point_at(const PictureSeries& series, double x) {
    const auto found = std::find_if(series.points.begin(), series.points.end(),
                                    [x](const PicturePoint& point) { return point.x == x; });
    return found == series.points.end() ? nullptr : &*found;
}

/// The text of an x: "4,096", or "0.25" if x is not a whole number.
std::string place_text(double x) {
    return x == std::floor(x) ? grouped(static_cast<std::uint64_t>(x)) : fmt::format("{:g}", x);
}

/// The lines and marks of a picture in words: "read ceiling 4,400, misses at 128"
std::string lines_of(const Picture& picture) {
    std::string text;
    for (const PictureLine& line : picture.lines)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", line.name, significant(line.y));
    for (const PictureMark& mark : picture.marks)
        text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", mark.name, place_text(mark.x));
    return text;
}

/// The cell of a point: "412 (401 to 420)", with an asterisk if the marker is hollow.
std::string cell_of(const PicturePoint& point) {
    std::string text = marked(point.y, point.valid);
    if (point.interval)
        text +=
            fmt::format(" ({} to {})", significant(point.interval->low), significant(point.interval->high));
    return text;
}

/// The element for a chart with its legend, and the table below it.
std::string figure_with(const std::string& id, const std::string& title, const std::string& lines,
                        const std::string& table) {
    return fmt::format(
        "<figure>\n<h3>{0}</h3>\n<ul class=\"legend\" id=\"{1}-legend\"></ul>\n<div class=\"canvas\"><canvas "
        "id=\"{1}\" role=\"img\" aria-label=\"{0}. The same numbers are in the table "
        "below.\"></canvas></div>\n<p "
        "class=\"nothing\" hidden>Nothing was measured.</p>\n{2}{3}</figure>\n",
        html_escaped(title), id,
        lines.empty() ? "" : fmt::format("<figcaption>Dashed: {}.</figcaption>\n", html_escaped(lines)),
        folded_html("The same in numbers", table));
}

}  // namespace

std::string marked(double value, bool valid) {
    return significant(value) + (valid ? "" : "*");
}

Sheet sheet_of(const Picture& picture) {
    Sheet sheet{{picture.x_title}, {}};
    std::set<double> places;
    for (const PictureSeries& series : picture.series) {
        sheet.head.push_back(series.name);
        for (const PicturePoint& point : series.points) places.insert(point.x);
    }
    for (const double x : places) {
        std::vector<std::string> row{place_text(x)};
        for (const PictureSeries& series : picture.series) {
            const PicturePoint* const point = point_at(series, x);
            row.push_back(point == nullptr ? "" : cell_of(*point));
        }
        sheet.rows.push_back(std::move(row));
    }
    return sheet;
}

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

std::string html_of(const Table& table) {
    const auto class_of = [&table](std::size_t column) {
        return table.columns[column].align == Align::left ? " class=\"text\"" : "";
    };
    std::string html = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        html += fmt::format("<th{} scope=\"col\">{}", class_of(i), html_escaped(table.columns[i].title));
    html += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
        html += fmt::format("<tr><th{} scope=\"row\">{}", class_of(0), html_escaped(row[0]));
        for (std::size_t i = 1; i < row.size(); ++i)
            html += fmt::format("<td{}>{}", class_of(i), html_escaped(row[i]));
        html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string folded_html(std::string_view summary, const std::string& html) {
    return fmt::format("<details><summary>{}</summary>\n<div>{}</div></details>\n", summary, html);
}

std::string figure_html(const std::string& id, const std::string& title, const std::string& lines,
                        const Sheet& sheet) {
    return figure_with(id, title, lines, html_of(sheet));
}

std::string figure_html(const std::string& id, const std::string& title, const std::string& lines,
                        const Table& table) {
    return figure_with(id, title, lines, html_of(table));
}

std::string picture_html(const std::string& id, const Picture& picture) {
    return figure_html(id, fmt::format("{}, {}", picture.title, picture.y_title), lines_of(picture),
                       sheet_of(picture));
}

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

std::string markdown_of(const Table& table) {
    std::string text = "|";
    for (const TableColumn& column : table.columns) text += " " + column.title + " |";
    text += "\n|";
    for (const TableColumn& column : table.columns) text += column.align == Align::left ? "---|" : "---:|";
    for (const auto& row : table.rows) {
        text += "\n|";
        for (const std::string& cell : row) text += " " + markdown_escaped(cell) + " |";
    }
    return text + "\n";
}

std::string titled_markdown(const std::string& title, const Sheet& sheet) {
    return fmt::format("**{}**\n\n{}", markdown_escaped(title), markdown_of(sheet));
}

std::string picture_markdown(const Picture& picture) {
    std::string title = fmt::format("{}, {}", picture.title, picture.y_title);
    if (const std::string lines = lines_of(picture); !lines.empty()) title += fmt::format(" ({})", lines);
    return titled_markdown(title, sheet_of(picture));
}

}  // namespace paretoken::reports
