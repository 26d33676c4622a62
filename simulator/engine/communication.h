#pragma once
// Computes what the ranks of a server need to exchange in a step: the sums of tensor parallelism, the tokens
// for the experts of other ranks, or the hand-over between ranks with different layers. A transfer takes a
// latency and bytes ÷ bandwidth (constants: docs/simulator.md).
#include <cstdint>
#include <optional>
#include <string_view>

#include "cards/gpu.h"
#include "cards/model.h"

namespace paretoken::sim {

/// What carries bytes between ranks.
enum class LinkKind : std::uint8_t {
    nvlink,      ///< NVLink or Infinity Fabric: the GPUs read each other's memory
    pcie,        ///< PCIe with peer access
    host,        ///< PCIe through the memory of the host
    infiniband,  ///< a network adapter of 400 Gbit/s per GPU that reads the GPU's memory
    ethernet     ///< 10 Gbit/s through the host's network stack
};

/// Throws UsageError naming the known links.
LinkKind link_named(std::string_view name);

/// The link that ranks use unless told otherwise: for a card with PCIe, without peer access; for others, that
/// of the card or, with more ranks than a server has GPUs (8), infiniband.
LinkKind usual_link(const cards::GpuCard& gpu, std::uint32_t ranks);

/// The link between servers of several ranks each.
struct BetweenServers {
    double latency_s = 0;
    double bytes_per_s = 0;  ///< that one rank sends and receives
};
struct LinkTimes {
    double latency_s = 0;    ///< of an exchange between two ranks, however short
    double bytes_per_s = 0;  ///< that one rank sends and receives in large exchanges
    bool adds = false;       ///< whether its switches add what they pass on (NVLink 4 and later)
    std::optional<BetweenServers> between = {};  ///< if ranks are on several servers of 8
};
/// The times of a link between GPUs. `share` is the reached share of its bandwidth; 0: that of its kind.
LinkTimes times_of(LinkKind link, const cards::GpuCard& gpu, double share = 0);

/// The times among `ranks` ranks. More than 8 ranks that are connected by infiniband are on servers of 8,
/// inside which they use their own link if that is NVLink.
LinkTimes times_among(LinkKind link, const cards::GpuCard& gpu, std::uint32_t ranks, double share = 0);

/// How ranks divide a model.
enum class Parallelism : std::uint8_t {
    tensor,  ///< every matrix is divided
    dep,     ///< every rank has requests of its own (attention data parallelism) and whole experts
    layers   ///< every rank has some of the layers; they work one after the other
};

/// Throws UsageError naming the known values.
Parallelism parallelism_named(std::string_view name);

/// The time of a step's exchanges: step_s + token_s · tokens of the step.
struct Communication {
    double step_s = 0;
    double token_s = 0;

    bool operator==(const Communication&) const = default;
};
Communication communication_of(const cards::ModelCard& model, Parallelism parallel, std::uint32_t ranks,
                               const LinkTimes& link);

}  // namespace paretoken::sim
