#pragma once
// Describes the measured devices for a result: the CPU, and the GPU if there is a backend for one.
// Every row belongs to one of them, by its backend.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"

namespace paretoken::microbench {

using ContextPairs = std::vector<std::pair<std::string, std::string>>;

/// Returns a JSON array of objects {id, backend, name, …}: the host's CPU as "cpu", and "gpu0" if `gpu` (the
/// GPU backend's context) names one, with the driver's data of the GPU on its bus. Unknown quantities are
/// absent; a GPU without a datasheet card has no `card`.
std::string devices_json(const cards::HostFacts& host, const ContextPairs& gpu,
                         std::span<const cards::GpuDevice> of_driver);

}  // namespace paretoken::microbench
