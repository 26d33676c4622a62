#pragma once
// Finds the devices of stored results that belong to this machine. A result that the user did not name may
// only be used if it was measured on the same CPU or GPU, with the same memory and driver. Pure.
#include <span>
#include <string>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"
#include "reports/micro/micro_results.h"

namespace paretoken::reports {

/// The difference between a device and this machine, in words; empty when there is none.
std::string difference_from(const cards::HostFacts& host, std::span<const cards::GpuDevice> gpus,
                            const MicroDevice& device);

struct ResultsOfMachine {
    std::vector<MicroResults> same;
    std::vector<std::string> others;  ///< for each other device, the reason why it is not one of this machine
};
ResultsOfMachine results_of_machine(std::vector<MicroResults> results, const cards::HostFacts& host,
                                    std::span<const cards::GpuDevice> gpus);

}  // namespace paretoken::reports
