#include "reports/document/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

namespace paretoken::reports {
namespace {

const PicturePoint* point_at(const PictureSeries& series, double x) {
    const auto found = std::ranges::find(series.points, x, &PicturePoint::x);
    return found == series.points.end() ? nullptr : &*found;
}

/// The text of an x: "4,096", or "0.25" if x is not a whole number.
std::string place_text(double x) {
    return x == std::floor(x) ? grouped(static_cast<std::uint64_t>(x)) : fmt::format("{:g}", x);
}

/// The cell of a point: "412 (401 to 420)", with an asterisk if the marker is hollow.
std::string cell_of(const PicturePoint& point) {
    std::string text = marked(point.y, point.valid);
    if (point.interval)
        text +=
            fmt::format(" ({} to {})", significant(point.interval->low), significant(point.interval->high));
    return text;
}

}  // namespace

std::string marked(double value, bool valid) {
    return significant(value) + (valid ? "" : "*");
}

std::string lines_of(const Picture& picture) {
    std::string text;
    for (const PictureLine& line : picture.lines)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", line.name, significant(line.y));
    for (const PictureMark& mark : picture.marks)
        text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", mark.name, place_text(mark.x));
    return text;
}

Table table_of(const Picture& picture) {
    Table table{{{picture.x_title}}, {}};
    std::set<double> places;
    for (const PictureSeries& series : picture.series) {
        table.columns.push_back({series.name});
        for (const PicturePoint& point : series.points) places.insert(point.x);
    }
    for (const double x : places) {
        std::vector<std::string> row{place_text(x)};
        for (const PictureSeries& series : picture.series) {
            const PicturePoint* const point = point_at(series, x);
            row.push_back(point == nullptr ? "" : cell_of(*point));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace paretoken::reports
