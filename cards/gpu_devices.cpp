#include "cards/gpu_devices.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

namespace paretoken::cards {
namespace {

// NVML's ABI, as far as it is used; documented in its API reference.
using Device = void*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;

struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
struct PciInfo {
    std::array<char, 16> legacy_bus_id;
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    std::array<char, 32> bus_id;
};

struct CloseLibrary {
    void operator()(void* library) const { dlclose(library); }
};

class Library {
  public:
    explicit Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle_) return;
        const auto init = function<int (*)()>("nvmlInit_v2");
        shutdown_ = function<int (*)()>("nvmlShutdown");
        ready_ = init != nullptr && shutdown_ != nullptr && init() == kSuccess;
    }
    ~Library() {
        if (ready_) shutdown_();
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    bool ready() const { return ready_; }

    template <class Function>
    Function function(const char* name) const {
        return reinterpret_cast<Function>(dlsym(handle_.get(), name));
    }
    /// A text that a function writes into a buffer; empty when it does not answer.
    template <class... Arguments>
    std::string text(const char* name, Arguments... arguments) const {
        constexpr unsigned kLongest = 128;
        std::array<char, kLongest> buffer{};
        const auto ask = function<int (*)(Arguments..., char*, unsigned)>(name);
        if (ask == nullptr || ask(arguments..., buffer.data(), kLongest) != kSuccess) return {};
        return {buffer.data()};
    }
    template <class Value, class... Arguments>
    std::optional<Value> value(const char* name, Arguments... arguments) const {
        Value answer{};
        const auto ask = function<int (*)(Arguments..., Value*)>(name);
        if (ask == nullptr || ask(arguments..., &answer) != kSuccess) return {};
        return answer;
    }

  private:
    std::unique_ptr<void, CloseLibrary> handle_;
    int (*shutdown_)() = nullptr;
    bool ready_ = false;
};

std::optional<double> scaled(const std::optional<unsigned>& value, double unit) {
    return value ? std::optional(*value * unit) : std::nullopt;
}

GpuDevice device_of(const Library& nvml, Device device) {
    GpuDevice gpu{.name = nvml.text("nvmlDeviceGetName", device),
                  .pci_bus_id = {},
                  .uuid = nvml.text("nvmlDeviceGetUUID", device),
                  .driver = nvml.text("nvmlSystemGetDriverVersion")};
    if (const auto pci = nvml.value<PciInfo>("nvmlDeviceGetPciInfo_v3", device))
        gpu.pci_bus_id = pci->bus_id.data();
    if (const auto memory = nvml.value<Memory>("nvmlDeviceGetMemoryInfo", device))
        gpu.memory_bytes = memory->total;
    gpu.sm_clock_hz = scaled(nvml.value<unsigned>("nvmlDeviceGetMaxClockInfo", device, kSmClock), kMega);
    gpu.memory_clock_hz =
        scaled(nvml.value<unsigned>("nvmlDeviceGetMaxClockInfo", device, kMemoryClock), kMega);
    gpu.power_limit_w = scaled(nvml.value<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device), kMilli);
    unsigned current = 0;
    unsigned pending = 0;
    const auto mig_mode = nvml.function<int (*)(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
    if (mig_mode != nullptr && mig_mode(device, &current, &pending) == kSuccess) gpu.mig = current != 0;
    return gpu;
}

/// "00000000:65:00.0" and "0000:65:00.0" → "65:00.0" behind the domain's last four digits.
std::string bus_of(std::string_view id) {
    std::string text(id);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto colon = text.find(':');
    constexpr std::size_t kDigits = 4;
    return colon != std::string::npos && colon > kDigits ? text.substr(colon - kDigits) : text;
}

}  // namespace

std::vector<GpuDevice> gpus_of_driver(const std::string& library) {
    const Library nvml(library);
    if (!nvml.ready()) return {};
    std::vector<GpuDevice> gpus;
    const unsigned count = nvml.value<unsigned>("nvmlDeviceGetCount_v2").value_or(0);
    for (unsigned i = 0; i < count; ++i)
        if (const auto device = nvml.value<Device>("nvmlDeviceGetHandleByIndex_v2", i))
            gpus.push_back(device_of(nvml, *device));
    return gpus;
}

bool same_bus(std::string_view a, std::string_view b) {
    return !a.empty() && bus_of(a) == bus_of(b);
}

}  // namespace paretoken::cards
