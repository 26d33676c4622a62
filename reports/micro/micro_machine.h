#pragma once
// Which devices of a kept result are those of this machine: a result may be used without being named only if
// it was measured on the same CPU or GPU, with the same memory and driver. Pure.
#include <span>
#include <string>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"
#include "reports/micro/micro_results.h"

namespace paretoken::reports {

/// What differs between a device and this machine, in words; empty when nothing does.
std::string difference_from(const cards::HostFacts& host, std::span<const cards::GpuDevice> gpus,
                            const MicroDevice& device);

struct ResultsOfMachine {
    std::vector<MicroResults> same;
    std::vector<std::string> others;  ///< why a device is not this machine's, each in words
};
ResultsOfMachine results_of_machine(std::vector<MicroResults> results, const cards::HostFacts& host,
                                    std::span<const cards::GpuDevice> gpus);

}  // namespace paretoken::reports
