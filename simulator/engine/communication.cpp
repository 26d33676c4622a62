#include "simulator/engine/communication.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.h"

namespace paretoken::sim {
namespace {

/// A kind of link: its name, its latency between two ranks, the share of the card's figure that large
/// exchanges reach, and a bandwidth of its own where the card has none.
struct KnownLink {
    std::string_view name;
    double latency_s;
    double share;
    double bytes_per_s;  ///< 0: that of the card
};
constexpr std::array kLinks{
    KnownLink{"nvlink", 8e-6, .5, 0},  // latency of one-shot sums on H100; fitted to rows of dense models
    KnownLink{"pcie", 15e-6, .5, 0},   // with peer access; fitted to rows of L40S
    KnownLink{"host", 45e-6, .17, 0},  // fitted to the rows of PCIe
    KnownLink{"infiniband", 12e-6, .8, 50e9},    // ConnectX-7, 400 Gbit/s
    KnownLink{"ethernet", 480e-6, .85, 1.25e9},  // fitted to the rows of a network
};
constexpr std::uint32_t kGpusOfServer = 8;
constexpr double kCardWithoutLink = 32e9;  // PCIe 4.0
constexpr double kActivationBytes = 2;     // sums and combined outputs are in 16 bits

/// The latency of an exchange among ranks, whose number of rounds grows with the logarithm of their number.
double rounds_s(double ranks, double latency_s) {
    return latency_s * (1 + std::log2(ranks)) / 2;
}

/// The ranks of a server and the number of servers.
struct Spread {
    double ranks = 1;
    double servers = 1;
};
Spread spread_of(std::uint32_t ranks, const LinkTimes& link) {
    if (!link.between || ranks <= kGpusOfServer) return {static_cast<double>(ranks), 1};
    return {kGpusOfServer, static_cast<double>(ranks) / kGpusOfServer};
}

/// The latency of an exchange among all ranks: within the servers, and then among them. Switches that add
/// need one round for any number of ranks.
double latency_of(const Spread& spread, const LinkTimes& link) {
    const double inside = link.adds ? link.latency_s : rounds_s(spread.ranks, link.latency_s);
    return spread.servers > 1 ? inside + rounds_s(spread.servers, link.between->latency_s) : inside;
}

/// The share of a sum's bytes that each rank sends and receives: in a ring 2·(n − 1)/n. Switches that add,
/// which need more than two ranks, send each byte once more per rank.
double share_of_sum(double ranks, bool adds) {
    return adds && ranks > 2 ? 1 + 1 / ranks : 2 * (ranks - 1) / ranks;
}

/// The seconds of a sum of one byte per rank. Among servers, each rank adds its own part of the bytes.
double sum_s_per_byte(const Spread& spread, const LinkTimes& link) {
    const double inside = share_of_sum(spread.ranks, link.adds) / link.bytes_per_s;
    if (!(spread.servers > 1)) return inside;
    return inside + share_of_sum(spread.servers, false) / spread.ranks / link.between->bytes_per_s;
}

/// The sums of tensor parallelism, two per layer.
Communication sums(const cards::ModelCard& model, std::uint32_t ranks, const LinkTimes& link) {
    const Spread spread = spread_of(ranks, link);
    const double count = 2 * static_cast<double>(model.layers);
    const double bytes = static_cast<double>(model.hidden) * kActivationBytes;
    return {.step_s = count * latency_of(spread, link),
            .token_s = count * bytes * sum_s_per_byte(spread, link)};
}

/// The tokens' way to the experts of other ranks and back, for each layer with experts: a token goes once to
/// each rank that has one of its experts.
Communication dispatches(const cards::ModelCard& model, std::uint32_t ranks, const LinkTimes& link) {
    if (!model.moe) return {};
    const Spread spread = spread_of(ranks, link);
    const double n = ranks;
    const auto layers = static_cast<double>(model.moe->layers);
    const double reached = n * (1 - std::pow(1 - 1 / n, static_cast<double>(model.moe->active)));
    const double bytes = static_cast<double>(model.hidden) * 2 * kActivationBytes * reached / n;
    double seconds = bytes * (spread.ranks - 1) / n / link.bytes_per_s;
    if (spread.servers > 1) seconds += bytes * (n - spread.ranks) / n / link.between->bytes_per_s;
    return {.step_s = layers * 2 * latency_of(spread, link), .token_s = layers * seconds};
}

Communication hand_overs(const cards::ModelCard& model, std::uint32_t ranks, const LinkTimes& link) {
    const double bytes = static_cast<double>(model.hidden) * kActivationBytes;
    return {.step_s = (ranks - 1.0) * link.latency_s, .token_s = (ranks - 1.0) * bytes / link.bytes_per_s};
}

}  // namespace

LinkKind link_named(std::string_view name) {
    for (std::size_t i = 0; i < kLinks.size(); ++i)
        if (kLinks[i].name == name) return static_cast<LinkKind>(i);
    throw UsageError(fmt::format("link {}: expected nvlink, pcie, host, infiniband or ethernet", name));
}

LinkKind usual_link(const cards::GpuCard& gpu, std::uint32_t ranks) {
    if (gpu.link.starts_with("PCIe")) return LinkKind::host;
    return ranks > kGpusOfServer ? LinkKind::infiniband : LinkKind::nvlink;
}

LinkTimes times_of(LinkKind link, const cards::GpuCard& gpu, double share) {
    const KnownLink& known = kLinks[static_cast<std::size_t>(link)];
    const double whole =
        known.bytes_per_s > 0 ? known.bytes_per_s : gpu.link_bytes_per_s.value_or(kCardWithoutLink);
    LinkTimes times{.latency_s = known.latency_s, .bytes_per_s = (share > 0 ? share : known.share) * whole};
    times.adds = link == LinkKind::nvlink && (gpu.link == "NVLink 4" || gpu.link == "NVLink 5");
    return times;
}

LinkTimes times_among(LinkKind link, const cards::GpuCard& gpu, std::uint32_t ranks, double share) {
    const bool has_nvlink = usual_link(gpu, 1) == LinkKind::nvlink;
    if (link != LinkKind::infiniband || ranks <= kGpusOfServer || !has_nvlink)
        return times_of(link, gpu, share);
    LinkTimes times = times_of(LinkKind::nvlink, gpu);
    const LinkTimes between = times_of(link, gpu, share);
    times.between = BetweenServers{between.latency_s, between.bytes_per_s};
    return times;
}

Parallelism parallelism_named(std::string_view name) {
    if (name == "tensor") return Parallelism::tensor;
    if (name == "dep") return Parallelism::dep;
    if (name == "layers") return Parallelism::layers;
    throw UsageError(fmt::format(
        "parallel {}: expected tensor, dep (attention data parallel, whole experts) or layers", name));
}

Communication communication_of(const cards::ModelCard& model, Parallelism parallel, std::uint32_t ranks,
                               const LinkTimes& link) {
    if (ranks <= 1) return {};
    switch (parallel) {
        case Parallelism::tensor:
            return sums(model, ranks, link);
        case Parallelism::dep:
            return dispatches(model, ranks, link);
        case Parallelism::layers:
            return hand_overs(model, ranks, link);
    }
    return {};
}

}  // namespace paretoken::sim
