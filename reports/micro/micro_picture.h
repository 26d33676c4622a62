#pragma once
// What one device was measured to do, ready to be drawn: series over batch, context and prompt length beside
// the ceilings, whole layers as stacks of their operations, and the ceilings as a table. Rows that are not
// valid stay in the picture and are marked. Pure.
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
    bool valid = true;                      ///< false: drawn hollow
    std::string row;                        ///< where it was read
    std::string note;                       ///< why it is not valid, or what else its row says
    std::optional<Interval> interval = {};  ///< of y, at 95 %

    bool operator==(const PicturePoint&) const = default;
};

struct PictureSeries {
    std::string name;                  ///< "bf16"
    std::vector<PicturePoint> points;  ///< ascending x
    std::string style = {};            ///< "line": no markers, "points": no line, "fit": dashed; empty: both

    bool operator==(const PictureSeries&) const = default;
};

/// A ceiling: a horizontal line.
struct PictureLine {
    std::string name;
    double y = 0;

    bool operator==(const PictureLine&) const = default;
};

/// A vertical line.
struct PictureMark {
    std::string name;
    double x = 0;

    bool operator==(const PictureMark&) const = default;
};

struct Picture {
    std::string id;       ///< "weights", "attention", "prefill"
    std::string title;    ///< "Weight bandwidth by batch"
    std::string x_title;  ///< "Batch"
    std::string y_title;  ///< with its unit: "GB/s"
    std::vector<PictureSeries> series;
    std::vector<PictureLine> lines;
    std::vector<PictureMark> marks = {};
    bool linear_x = false;  ///< x begins at zero; else it is logarithmic

    bool operator==(const Picture&) const = default;
};

/// Operations in the order of a forward pass.
struct LayerOperation {
    std::string name;   ///< "qkv", or "gaps" for what the whole takes beyond the sum of its operations
    std::string group;  ///< "attention's matrices": operations of a group share a colour
    double seconds = 0;

    bool operator==(const LayerOperation&) const = default;
};
struct LayerStack {
    std::string name;  ///< "llama3-8b bf16, KV bf16, batch 1, 4096 tokens"
    std::vector<LayerOperation> operations;
    double seconds = 0;  ///< of the whole
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
    std::vector<std::pair<std::string, std::string>> facts;  ///< name, value
    std::vector<Picture> pictures;                           ///< only those with a point
    std::vector<LayerStack> layers;
    std::vector<CeilingRow> ceilings;

    bool operator==(const DevicePicture&) const = default;
};

DevicePicture picture_of(const MicroResults& micro);

/// Both in the same charts: each series once as "…, first" and once as "…, second", and so the ceilings.
DevicePicture picture_of_both(const MicroResults& first, const MicroResults& second);

}  // namespace paretoken::reports
