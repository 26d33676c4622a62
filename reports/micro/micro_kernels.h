#pragma once
// What our own kernels reach on one device for one model: speeds by batch, context and prompt length, looked
// up between the rows that were measured. They are what a server can be expected to reach, and no limit.
// Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "reports/micro/micro_results.h"

namespace paretoken::reports {

/// A rate at one load and the row that it was read from ("op:*" where it was summed over a layer's matrices).
struct SpeedAt {
    double batch = 1;
    double tokens = 0;  ///< context of each sequence, or tokens of a prompt; 0 where it makes no difference
    double per_s = 0;   ///< bytes or FLOP
    std::string row;

    bool operator==(const SpeedAt&) const = default;
};

/// A decode step of one layer as a whole.
struct LayerTime {
    double batch = 1;
    double context = 0;
    double seconds = 0;
    std::string row;

    bool operator==(const LayerTime&) const = default;
};

struct KernelSpeeds {
    std::vector<SpeedAt> weights = {};            ///< bytes/s by batch
    std::vector<SpeedAt> attention = {};          ///< bytes/s by batch and context
    std::vector<SpeedAt> prefill = {};            ///< FLOP/s of the linear layers by tokens
    std::vector<SpeedAt> prefill_attention = {};  ///< FLOP/s by tokens
    std::vector<LayerTime> layers = {};
    std::optional<MeasuredFigure> launch_s = {};  ///< one kernel within a CUDA graph

    bool operator==(const KernelSpeeds&) const = default;
};

/// From valid rows of the model's formats: those of its own matrices where there are any, else of other
/// models'. `ranks`: GPUs that share each layer; rows of that share where there are any.
KernelSpeeds kernel_speeds(const MicroResults& micro, const cards::ModelCard& model, std::uint32_t ranks);

/// At a load between the measured ones: the time per byte is interpolated over the logarithm of the batch,
/// and kept beyond the first and the last. Nothing without a row.
std::optional<double> weight_speed_at(const KernelSpeeds& kernels, double batch);
/// Of the row nearest in batch and context, both by their logarithms; null without one.
const SpeedAt* nearest_speed(const std::vector<SpeedAt>& speeds, double batch, double tokens);
const LayerTime* nearest_layer(const std::vector<LayerTime>& layers, double batch, double context);

}  // namespace paretoken::reports
