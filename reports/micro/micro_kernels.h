#pragma once
// The speeds of kernels that `paretoken micro` measured on one device, for one model, by batch, context and
// prompt length, interpolated or taken from the nearest measured row. The kernels are our own and, for
// prefill and large batches, the matrix products of the GPU vendor's library. A server can be expected to
// reach these speeds; they are not a limit. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "reports/micro/micro_results.h"

namespace paretoken::reports {

/// A rate at one load and the row that it was read from ("op:*" if it was summed over the matrices of a
/// layer).
struct SpeedAt {
    double batch = 1;
    double tokens = 0;  ///< context of each sequence, or tokens of a prompt; 0 if it does not matter
    double per_s = 0;   ///< bytes/s or FLOP/s
    std::string row;

    bool operator==(const SpeedAt&) const = default;
};

/// The measured time of a decode step of one whole layer.
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
    std::optional<MeasuredFigure> launch_s = {};  ///< time of one kernel's launch in a CUDA graph

    bool operator==(const KernelSpeeds&) const = default;
};

/// The speeds of one rank from valid rows with the model's number formats (for prefill, bf16 if there are
/// none): rows of the model's own matrices if there are any, else rows of other models. `ranks` is the number
/// of GPUs that share each layer: for `weights` and `attention`, rows for that share are preferred; prefill
/// uses rows of the whole layer. `layers` holds only rows of this model for this share. Each of the other
/// lists holds the fastest kernel for each batch and number of tokens, in ascending order.
KernelSpeeds kernel_speeds(const MicroResults& micro, const cards::ModelCard& model, std::uint32_t ranks);

/// The bytes/s of KernelSpeeds::weights at a batch. Between measured batches the time per byte is
/// interpolated over the logarithm of the batch; beyond the first and the last it is constant. Nothing
/// without a row.
std::optional<double> weight_speed_at(const KernelSpeeds& kernels, double batch);
/// The entry nearest in batch and context, both by their logarithms; null if there is none.
const SpeedAt* nearest_speed(const std::vector<SpeedAt>& speeds, double batch, double tokens);
const LayerTime* nearest_layer(const std::vector<LayerTime>& layers, double batch, double context);

}  // namespace paretoken::reports
