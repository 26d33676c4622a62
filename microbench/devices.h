#pragma once
// Describes the measured devices for a result of the microbenchmarks: the host's CPU, and the GPU if the GPU
// backend found one. The names of rows state their backends ("backend:gpu").
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"

namespace paretoken::microbench {

/// The context of a backend: names of properties and their values as text.
using ContextPairs = std::vector<std::pair<std::string, std::string>>;

/// Returns a JSON array of objects {id, backend, name, …}: "cpu" for the host's CPU, and "gpu0" if `gpu`, the
/// keys and values of the GPU backend, has the name of a GPU. `of_driver` are the GPUs that the driver
/// reports, matched by PCI bus id. Unknown quantities, and the key `card` without a datasheet, are absent.
std::string devices_json(const cards::HostFacts& host, const ContextPairs& gpu,
                         std::span<const cards::GpuDevice> of_driver);

}  // namespace paretoken::microbench
