#pragma once
// The link between host and GPU: what copies are held against. Pure.
#include <optional>
#include <string>

namespace paretoken::microbench::gpu {

struct PcieLink {
    unsigned generation = 0;
    unsigned width = 0;  ///< lanes

    bool operator==(const PcieLink&) const = default;
    /// One direction, after line coding and before packet headers, which take some 5 to 10 % more; nothing
    /// for a generation that is not known here. PCI Express base specifications 1.0 … 6.0: transfers per
    /// second and lane, 8b/10b, from the third on 128b/130b, in the sixth 236 of the 256 bytes of a flit.
    std::optional<double> bytes_per_second() const;
};

/// "gen 5 x16"
std::string name_of(const PcieLink& link);

}  // namespace paretoken::microbench::gpu
