#pragma once
// A chart as a value: points in series, horizontal lines and vertical marks. Every page draws the same value:
// HTML by its script, Markdown as a table. Pure.
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken::reports {

struct PicturePoint {
    double x = 0;
    double y = 0;
    bool valid = true;                      ///< whether the point is valid; if not, its marker is hollow
    std::string row;                        ///< row or run that the point comes from
    std::string note;                       ///< reason why it is not valid, or another note of its row
    std::optional<Interval> interval = {};  ///< 95 % interval of y

    bool operator==(const PicturePoint&) const = default;
};

struct PictureSeries {
    std::string name;                  ///< "bf16"
    std::vector<PicturePoint> points;  ///< ascending x
    std::string style = {};            ///< "line": no markers; "points": no line; "fit": dashed; empty: both

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
    std::vector<PictureSeries> series;
    std::vector<PictureLine> lines;
    std::vector<PictureMark> marks = {};
    bool linear_x = false;  ///< whether x is linear from zero; otherwise x is logarithmic

    bool operator==(const Picture&) const = default;
};

}  // namespace paretoken::reports
