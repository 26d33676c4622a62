#pragma once
// The properties of the GPU that limit its speed and the shapes of launches. `presence_of` decides whether
// the machine has a usable GPU. A machine without a GPU is no error, but a GPU that cannot be used, for
// example because its driver is older than this build, is one.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paretoken::microbench::gpu {

/// `broken`: there is a GPU, or a driver, that CUDA cannot use for another reason than the driver's age.
enum class Presence { present, none, driver_too_old, broken };

/// Derives the presence from the status of cudaGetDeviceCount and the number of devices that it returned.
/// The status is 0 for success, 100 for no device and 35 for an insufficient driver. A machine without any
/// driver also returns 35. `has_control_node` says whether /dev/nvidiactl exists, which tells an old driver
/// from none.
Presence presence_of(int cuda_status, int devices, bool has_control_node);

struct DeviceFacts {
    std::string name;        ///< "NVIDIA H100 80GB HBM3"
    std::string pci_bus_id;  ///< "0000:65:00.0"
    int capability = 0;      ///< compute capability × 10: 90 for 9.0
    int multiprocessors = 0;
    std::uint64_t l2_bytes = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t shared_bytes_per_block = 0;  ///< largest shared memory of a block, for kernels that opt in
    int memory_bus_bits = 0;
    int memory_clock_khz = 0;
    int sm_clock_khz = 0;     ///< highest SM clock
    int driver_version = 0;   ///< newest CUDA version that the driver supports: 13000 for CUDA 13.0
    int runtime_version = 0;  ///< CUDA version of the runtime library, in the same form

    bool operator==(const DeviceFacts&) const = default;
    /// Peak memory bandwidth from the memory clock and the bus width, at two transfers per clock. It is empty
    /// if the driver reports no memory clock or no bus width.
    std::optional<double> peak_bytes_per_second() const;
};

/// Returns the key and value pairs that describe the device in the context of the results.
std::vector<std::pair<std::string, std::string>> context_of(const DeviceFacts& device);

}  // namespace paretoken::microbench::gpu
