#pragma once
// Looks up the speeds of kernels that `paretoken micro` measured on one device, interpolated or from the
// nearest row: our own kernels, and the vendor's matrix products. They are reachable, not upper bounds.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "reports/analysis/micro/micro_results.h"

namespace paretoken::reports {

/// A speed at one batch size and length, and the name of the row from which it was read. The name has "op:*"
/// if the speed was summed over the matrices of a layer.
struct SpeedAt {
    double batch = 1;   ///< number of sequences
    double tokens = 0;  ///< context of each sequence, or length of a prompt; 0 if it does not matter
    double per_s = 0;   ///< bytes/s or FLOP/s
    std::string row;

    bool operator==(const SpeedAt&) const = default;
};

/// The measured time of a decode step of one whole layer.
struct LayerTime {
    double batch = 1;    ///< number of sequences
    double context = 0;  ///< tokens in the context of each sequence
    double seconds = 0;
    std::string row;

    bool operator==(const LayerTime&) const = default;
};

struct KernelSpeeds {
    std::vector<SpeedAt> weights = {};    ///< reading weights in a decode step: bytes/s by batch
    std::vector<SpeedAt> attention = {};  ///< attention of a decode step: bytes/s by batch and context
    std::vector<SpeedAt> prefill = {};    ///< linear layers of a prefill: FLOP/s by prompt length
    std::vector<SpeedAt> prefill_attention = {};  ///< attention of a prefill: FLOP/s by prompt length
    std::vector<LayerTime> layers = {};           ///< whole layers of a decode step
    std::optional<MeasuredFigure> launch_s = {};  ///< time of one kernel's launch in a CUDA graph

    bool operator==(const KernelSpeeds&) const = default;
};

/// The speeds of one GPU if `ranks` GPUs share each layer (tensor parallelism), read from valid rows with the
/// model's number formats. `layers` holds only rows of this model for this share. Each of the other lists
/// holds the fastest kernel for each batch and number of tokens, in ascending order.
KernelSpeeds kernel_speeds(const MicroResults& micro, const cards::ModelCard& model, std::uint32_t ranks);

/// The bytes/s of KernelSpeeds::weights at a batch size: the time per byte is interpolated over its
/// logarithm, and constant outside. Nothing if no row was measured.
std::optional<double> weight_speed_at(const KernelSpeeds& kernels, double batch);
/// The entry whose batch and number of tokens are nearest: the sum of the squared differences of their
/// logarithms is smallest. Null if the list is empty.
const SpeedAt* nearest_speed(const std::vector<SpeedAt>& speeds, double batch, double tokens);
const LayerTime* nearest_layer(const std::vector<LayerTime>& layers, double batch, double context);

}  // namespace paretoken::reports
