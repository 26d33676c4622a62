#pragma once
// Which GPU this is, and what its limits follow from. Whether there is one at all is decided by
// `presence_of`: a machine without a GPU is no error, a driver older than this build is.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paretoken::microbench::gpu {

enum class Presence { present, none, driver_too_old, broken };

/// From the runtime's status when devices are counted: 0 success, 100 no device, 35 driver insufficient,
/// which is also what a machine without any driver says; `has_control_node`: /dev/nvidiactl exists.
Presence presence_of(int cuda_status, int devices, bool has_control_node);

struct DeviceFacts {
    std::string name;
    std::string pci_bus_id;  ///< "0000:65:00.0"
    int capability = 0;      ///< 90 for 9.0
    int multiprocessors = 0;
    std::uint64_t l2_bytes = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t shared_bytes_per_block = 0;  ///< opt-in
    int memory_bus_bits = 0;
    int memory_clock_khz = 0;
    int sm_clock_khz = 0;    ///< highest
    int driver_version = 0;  ///< 13000: CUDA 13.0
    int runtime_version = 0;

    bool operator==(const DeviceFacts&) const = default;
    /// Two transfers per clock; nothing where the driver names no clock.
    std::optional<double> peak_bytes_per_second() const;
};

/// Rows of the result's context: key, value.
std::vector<std::pair<std::string, std::string>> context_of(const DeviceFacts& device);

}  // namespace paretoken::microbench::gpu
