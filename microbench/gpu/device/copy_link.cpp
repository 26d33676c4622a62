#include "microbench/gpu/device/copy_link.h"

#include <fmt/format.h>

namespace paretoken::microbench::gpu {
namespace {

struct Generation {
    double transfers_per_second;  ///< per lane; a transfer is one bit
    double payload;               ///< fraction of the transferred bits that remains after line coding
};
constexpr Generation kGenerations[] = {{2.5e9, 8.0 / 10},   {5e9, 8.0 / 10},     {8e9, 128.0 / 130},
                                       {16e9, 128.0 / 130}, {32e9, 128.0 / 130}, {64e9, 236.0 / 256}};

}  // namespace

std::optional<double> PcieLink::bytes_per_second() const {
    if (generation < 1 || generation > std::size(kGenerations) || width == 0) return std::nullopt;
    const Generation& g = kGenerations[generation - 1];
    return g.transfers_per_second * g.payload / 8 * width;
}

std::string name_of(const PcieLink& link) {
    return fmt::format("gen {} x{}", link.generation, link.width);
}

}  // namespace paretoken::microbench::gpu
