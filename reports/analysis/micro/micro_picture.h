#pragma once
// The measurements of `paretoken micro` on one device as charts: series with the ceilings, whole layers as
// stacks of their operations, and the ceilings as a table. Rows that are not valid are marked.
#include <string>
#include <utility>
#include <vector>

#include "reports/document/picture.h"

namespace paretoken::reports {

struct MicroResults;

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
    std::string title;                                            ///< "NVIDIA H200 (gpu0)"
    std::vector<std::pair<std::string, std::string>> facts = {};  ///< name and value of each fact
    std::vector<Picture> pictures = {};                           ///< charts with at least one point
    std::vector<LayerStack> layers = {};
    std::vector<CeilingRow> ceilings = {};

    bool operator==(const DevicePicture&) const = default;
};

DevicePicture picture_of(const MicroResults& micro);

/// Two results in the same charts. The names of the series, lines, layers, ceilings and facts of `first` end
/// in ", first", those of `second` in ", second".
DevicePicture picture_of_both(const MicroResults& first, const MicroResults& second);

}  // namespace paretoken::reports
