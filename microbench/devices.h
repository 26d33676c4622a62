#pragma once
// Describes the measured devices for a result of the microbenchmarks: the host's CPU, and the GPU if the
// GPU backend found one. A row of that result was measured on the device with the backend that the row's
// name states ("backend:gpu").
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"

namespace paretoken::microbench {

/// The context of a backend: names of properties and their values as text.
using ContextPairs = std::vector<std::pair<std::string, std::string>>;

/// Returns a JSON array of objects {id, backend, name, …}: "cpu" for the host's CPU, and "gpu0" if `gpu`,
/// the keys and values by which the GPU backend describes its GPU, has the name of a GPU. The quantities of
/// "gpu0" come from `gpu` and from the entry of `of_driver` (the GPUs that the driver reports) with the
/// same PCI bus id. Unknown quantities are absent. The key `card` names the GPU's datasheet and is absent
/// if there is none.
std::string devices_json(const cards::HostFacts& host, const ContextPairs& gpu,
                         std::span<const cards::GpuDevice> of_driver);

}  // namespace paretoken::microbench
