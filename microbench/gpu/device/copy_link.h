#pragma once
// The PCIe link between host and GPU, whose speed is the upper bound of copies. The functions are pure.
#include <optional>
#include <string>

namespace paretoken::microbench::gpu {

struct PcieLink {
    unsigned generation = 0;  ///< 5 for PCIe 5.0
    unsigned width = 0;       ///< lanes

    bool operator==(const PcieLink&) const = default;
    /// Returns the bytes per second of one direction after line coding. Packet headers, which take another 5
    /// to 10 %, are not subtracted. Returns nothing if the generation is not known here or the width is 0.
    /// The transfers per second and lane come from the PCI Express base specifications 1.0 … 6.0. Generations
    /// 1 and 2 use 8b/10b coding and generations 3 to 5 use 128b/130b; generation 6 carries 236 bytes in each
    /// flit of 256 bytes.
    std::optional<double> bytes_per_second() const;
};

/// Returns a name such as "gen 5 x16".
std::string name_of(const PcieLink& link);

}  // namespace paretoken::microbench::gpu
