#pragma once
// Finds the stored results of `paretoken micro` that were measured on this machine. A result that the user
// did not name is used only if it was measured on a CPU or GPU of this machine. The functions are pure.
#include <span>
#include <string>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"
#include "reports/analysis/micro/micro_results.h"

namespace paretoken::reports {

/// The first difference between a measured device and this machine; empty if there is none. A CPU has a name,
/// cores (if stated) and memory, a GPU a name, UUID (if known), driver and memory, which may differ by 2 %.
std::string difference_from(const cards::HostFacts& host, std::span<const cards::GpuDevice> gpus,
                            const MicroDevice& device);

struct ResultsOfMachine {
    std::vector<MicroResults> same;   ///< results of devices of this machine
    std::vector<std::string> others;  ///< for each other result, its device's difference from this machine
};
/// Splits results by whether difference_from() finds a difference between their device and this machine.
ResultsOfMachine results_of_machine(std::vector<MicroResults> results, const cards::HostFacts& host,
                                    std::span<const cards::GpuDevice> gpus);

}  // namespace paretoken::reports
