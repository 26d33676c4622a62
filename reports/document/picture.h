#pragma once
// A chart as a value: points in series with horizontal lines and vertical marks (Picture), or stacks of parts
// (Bars). Every page draws the same value: HTML by its script, Markdown as a table. The functions are pure.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "reports/document/table.h"

namespace paretoken::reports {

struct PicturePoint {
    double x = 0;
    double y = 0;
    bool valid = true;                      ///< whether the point is valid; if not, its marker is hollow
    std::string row = {};                   ///< row or run that the point comes from
    std::string note = {};                  ///< reason why it is not valid, or another note of its row
    std::optional<Interval> interval = {};  ///< 95 % interval of y

    bool operator==(const PicturePoint&) const = default;
};

struct PictureSeries {
    std::string name;                       ///< "bf16"
    std::vector<PicturePoint> points = {};  ///< ascending x
    std::string style = {};  ///< "line" (no markers), "points" (no line), "fit" (a dashed line), or empty (a
                             ///< line with markers)

    bool operator==(const PictureSeries&) const = default;
};

/// A horizontal line, such as a ceiling.
struct PictureLine {
    std::string name;
    double y = 0;

    bool operator==(const PictureLine&) const = default;
};

/// A vertical line, such as the beginning of the measured window.
struct PictureMark {
    std::string name;
    double x = 0;

    bool operator==(const PictureMark&) const = default;
};

struct Picture {
    std::string id;       ///< "weights", "attention", "prefill"
    std::string title;    ///< "Weight bandwidth by batch"
    std::string x_title;  ///< "Batch"
    std::string y_title;  ///< title with the unit: "GB/s"
    std::vector<PictureSeries> series = {};
    std::vector<PictureLine> lines = {};
    std::vector<PictureMark> marks = {};
    bool linear_x = false;  ///< whether x is linear from zero; otherwise x is logarithmic

    bool operator==(const Picture&) const = default;
};

/// One horizontal bar, which is a stack of the parts of a Bars.
struct Bar {
    std::string name;   ///< "c=8"
    std::string title;  ///< heading of the bar's tooltip; may be longer than the name
    double total = 0;   ///< length of the bar, in the unit of the chart
};

struct BarPart {
    std::string name;
    std::string group;       ///< name in the legend; parts of a group are switched on and off together
    std::size_t colour = 0;  ///< index of one of the ten colours of the page's script, BAR_COLOURS
    std::vector<std::optional<double>> lengths =
        {};  ///< one per bar; absent if the bar does not have the part
};

struct Bars {
    std::string title;  ///< may be empty if a heading says the same
    std::string what;   ///< chart in words, for readers who do not see it
    std::string unit;   ///< "ms"
    std::string x_title;
    std::vector<Bar> bars = {};
    std::vector<BarPart> parts = {};
};

/// The value with three significant digits, and with an asterisk if it is not valid (its marker is hollow).
std::string marked(double value, bool valid);

/// The points of a picture, with one row per x and one column per series.
Table table_of(const Picture& picture);

/// The lines and marks of a picture in words: "read ceiling 4,400, misses at 128"; empty if there are none.
std::string lines_of(const Picture& picture);

}  // namespace paretoken::reports
