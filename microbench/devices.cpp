#include "microbench/devices.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cards/gpu.h"

namespace paretoken::microbench {
namespace {

using Json = nlohmann::ordered_json;

std::string value_of(const ContextPairs& context, std::string_view key) {
    const auto found = std::ranges::find_if(context, [&](const auto& pair) { return pair.first == key; });
    return found == context.end() ? std::string() : found->second;
}

/// Returns a number; nothing for an absent text and for 0, which CUDA reports for unknown values.
std::optional<double> number_of(const ContextPairs& context, std::string_view key) {
    const double value = std::strtod(value_of(context, key).c_str(), nullptr);
    return value > 0 ? std::optional(value) : std::nullopt;
}

template <class Value>
void add(Json& json, const char* key, const std::optional<Value>& value) {
    if (value) json[key] = *value;
}
void add(Json& json, const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
}

Json cpu_of(const cards::HostFacts& host) {
    Json json{{"id", "cpu"}, {"backend", "cpu"}, {"name", host.cpu}, {"cores", host.cores}};
    if (host.memory_bytes > 0) json["memory_bytes"] = host.memory_bytes;
    return json;
}

std::optional<double> in_hertz(const std::optional<double>& kilohertz) {
    return kilohertz ? std::optional(*kilohertz * 1e3) : std::nullopt;
}

Json gpu_of(const ContextPairs& context, std::span<const cards::GpuDevice> of_driver) {
    const std::string name = value_of(context, "gpu");
    const std::string bus = value_of(context, "gpu_pci_bus_id");
    const auto found = std::ranges::find_if(
        of_driver, [&](const cards::GpuDevice& gpu) { return cards::same_bus(gpu.pci_bus_id, bus); });
    const cards::GpuDevice told = found == of_driver.end() ? cards::GpuDevice{} : *found;
    Json json{{"id", "gpu0"}, {"backend", "gpu"}, {"name", name}};
    if (const auto card = cards::find_gpu(name)) json["card"] = card->name;
    add(json, "uuid", told.uuid);
    add(json, "pci_bus_id", bus);
    if (told.memory_bytes)
        json["memory_bytes"] = *told.memory_bytes;
    else
        add(json, "memory_bytes", number_of(context, "gpu_memory_bytes"));
    add(json, "sm_clock_hz",
        told.sm_clock_hz ? told.sm_clock_hz : in_hertz(number_of(context, "gpu_sm_clock_khz")));
    add(json, "memory_clock_hz",
        told.memory_clock_hz ? told.memory_clock_hz : in_hertz(number_of(context, "gpu_memory_clock_khz")));
    add(json, "peak_bytes_per_s", number_of(context, "gpu_peak_bytes_per_second_by_clock"));
    const std::string driver = value_of(context, "gpu_driver");
    add(json, "driver", driver.empty() ? told.driver : driver);
    add(json, "power_limit_w", told.power_limit_w);
    add(json, "mig", told.mig);
    add(json, "compute_capability", value_of(context, "gpu_sm"));
    return json;
}

}  // namespace

std::string devices_json(const cards::HostFacts& host, const ContextPairs& gpu,
                         std::span<const cards::GpuDevice> of_driver) {
    Json devices = Json::array({cpu_of(host)});
    if (!value_of(gpu, "gpu").empty()) devices.push_back(gpu_of(gpu, of_driver));
    return devices.dump();
}

}  // namespace paretoken::microbench
