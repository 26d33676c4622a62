#pragma once
// The measurements of `paretoken micro` on one device, ready to be drawn: series over batch, context and
// prompt length with the ceilings (the highest speeds that probes reached), whole layers as stacks of their
// operations, and the ceilings as a table. Rows that are not valid are kept and marked. Picture and its parts
// also describe the other charts of a report. Pure.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "reports/micro/micro_results.h"

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

/// One operation of a layer. A stack holds its operations in the order of a forward pass.
struct LayerOperation {
    std::string name;   ///< "qkv", or "gaps" for the layer's time beyond the sum of its operations
    std::string group;  ///< name of the group, whose operations have one colour: "attention's matrices"
    double seconds = 0;

    bool operator==(const LayerOperation&) const = default;
};
struct LayerStack {
    std::string name;  ///< "llama3-8b bf16, KV bf16, batch 1, 4096 tokens"
    std::vector<LayerOperation> operations;
    double seconds = 0;  ///< time of the whole layer
    bool valid = true;

    bool operator==(const LayerStack&) const = default;
};

struct CeilingRow {
    std::string name;  ///< "read, 1024 MiB, staged"
    double value = 0;
    std::string unit;
    bool valid = true;
    std::string note;

    bool operator==(const CeilingRow&) const = default;
};

struct DevicePicture {
    std::string title;                                       ///< "NVIDIA H200 (gpu0)"
    std::vector<std::pair<std::string, std::string>> facts;  ///< name and value of each fact
    std::vector<Picture> pictures;                           ///< charts with at least one point
    std::vector<LayerStack> layers;
    std::vector<CeilingRow> ceilings;

    bool operator==(const DevicePicture&) const = default;
};

DevicePicture picture_of(const MicroResults& micro);

/// Two results in the same charts. The names of the series, lines, layers, ceilings and facts of `first` end
/// in ", first", those of `second` in ", second".
DevicePicture picture_of_both(const MicroResults& first, const MicroResults& second);

}  // namespace paretoken::reports
