#include "cards/power_meter.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "cards/nvml_library.h"

namespace paretoken::cards {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;
constexpr double kMega = 1e6;
constexpr double kPercent = 1e-2;

void add(std::optional<double>& sum, const std::optional<double>& value) {
    if (value) sum = sum.value_or(0) + *value;
}

template <class Value>
std::optional<double> scaled(const std::optional<Value>& value, double unit) {
    return value ? std::optional(static_cast<double>(*value) * unit) : std::nullopt;
}

// ---- GPUs

struct Utilization {
    unsigned gpu;
    unsigned memory;
};

/// The reasons for lower clocks that the user did not choose: power cap, hardware slowdown, temperature,
/// power brake. The other reasons are idleness and clocks that were set.
constexpr unsigned long long kHeldDown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

class GpuPowerMeter final : public PowerMeter {
  public:
    explicit GpuPowerMeter(const std::string& library) : nvml_(library) {
        if (!nvml_.ready()) return;
        std::vector<Device> busy;
        const unsigned count = nvml_.value<unsigned>("nvmlDeviceGetCount_v2").value_or(0);
        for (unsigned i = 0; i < count; ++i) {
            const auto device = nvml_.value<Device>("nvmlDeviceGetHandleByIndex_v2", i);
            if (!device || !power_of(*device)) continue;
            devices_.push_back(*device);
            if (runs_processes(*device)) busy.push_back(*device);
        }
        if (!busy.empty()) devices_ = std::move(busy);
    }

    bool has_devices() const { return !devices_.empty(); }
    std::string_view source() const override { return "nvml"; }

    std::optional<PowerSample> read() override {
        PowerSample sample{.devices = static_cast<std::uint32_t>(devices_.size())};
        double utilization = 0;
        std::size_t busy_known = 0;
        std::size_t counters = 0;
        for (const Device device : devices_) {
            const auto watts = power_of(device);
            if (!watts) return std::nullopt;  // without one device there is no sum
            add(sample.watts, watts);
            const auto counter =
                nvml_.value<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device);
            if (counter) ++counters;
            add(sample.counter_j, scaled(counter, kMilli));
            if (const auto reasons = slowdowns_of(device))
                sample.throttled = sample.throttled.value_or(false) || (*reasons & kHeldDown) != 0;
            if (const auto rates = nvml_.value<Utilization>("nvmlDeviceGetUtilizationRates", device)) {
                utilization += rates->gpu * kPercent;
                ++busy_known;
            }
            take_least(sample.sm_clock_hz, clock_of(device, NvmlLibrary::kSmClock));
            take_least(sample.memory_clock_hz, clock_of(device, NvmlLibrary::kMemoryClock));
            constexpr int kOfTheGpu = 0;
            const auto temperature = nvml_.value<unsigned>("nvmlDeviceGetTemperature", device, kOfTheGpu);
            if (temperature)
                sample.temperature_c =
                    std::max<double>(sample.temperature_c.value_or(*temperature), *temperature);
            if (const auto memory = nvml_.value<NvmlLibrary::Memory>("nvmlDeviceGetMemoryInfo", device))
                add(sample.memory_bytes, static_cast<double>(memory->used));
        }
        if (counters != devices_.size()) sample.counter_j.reset();
        if (busy_known > 0) sample.utilization = utilization / static_cast<double>(busy_known);
        return sample;
    }

  private:
    using Device = NvmlLibrary::Device;

    std::optional<double> power_of(Device device) const {
        return scaled(nvml_.value<unsigned>("nvmlDeviceGetPowerUsage", device), kMilli);
    }
    std::optional<double> clock_of(Device device, int type) const {
        return scaled(nvml_.value<unsigned>("nvmlDeviceGetClockInfo", device, type), kMega);
    }
    std::optional<unsigned long long> slowdowns_of(Device device) const {
        const auto reasons =
            nvml_.value<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", device);
        if (reasons) return reasons;
        return nvml_.value<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
    }
    /// Whether the device runs processes. Called with room for no process, the library returns their number
    /// (with the status "insufficient size").
    bool runs_processes(Device device) const {
        const auto ask =
            nvml_.function<int (*)(Device, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3");
        unsigned count = 0;
        return ask != nullptr && (ask(device, &count, nullptr), count > 0);
    }
    static void take_least(std::optional<double>& least, const std::optional<double>& value) {
        if (value) least = std::min(least.value_or(*value), *value);
    }

    NvmlLibrary nvml_;
    std::vector<Device> devices_;
};

// ---- CPU packages

std::optional<std::uint64_t> number_in(const fs::path& path) {
    std::ifstream file(path);
    std::uint64_t number = 0;
    if (!(file >> number)) return std::nullopt;
    return number;
}

std::string word_in(const fs::path& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

class CpuPowerMeter final : public PowerMeter {
  public:
    explicit CpuPowerMeter(const fs::path& powercap) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(powercap, ignored)) {
            // The counters of a package and of the whole platform include the package's parts, so only
            // packages count.
            if (!word_in(entry.path() / "name").starts_with("package")) continue;
            const auto counter = number_in(entry.path() / "energy_uj");
            const auto range = number_in(entry.path() / "max_energy_range_uj");
            if (counter && range)
                packages_.push_back({.file = entry.path() / "energy_uj", .range = *range, .last = *counter});
        }
    }

    bool has_packages() const { return !packages_.empty(); }
    std::string_view source() const override { return "rapl"; }

    std::optional<PowerSample> read() override {
        for (Package& package : packages_) {
            const auto counter = number_in(package.file);
            if (!counter) return std::nullopt;
            grown_uj_ +=
                *counter >= package.last ? *counter - package.last : *counter + package.range - package.last;
            package.last = *counter;
        }
        return PowerSample{.devices = static_cast<std::uint32_t>(packages_.size()),
                           .counter_j = static_cast<double>(grown_uj_) * kMicro};
    }

  private:
    struct Package {
        fs::path file;
        std::uint64_t range = 0;  ///< range of the counter, in microjoules
        std::uint64_t last = 0;
    };
    std::vector<Package> packages_;
    std::uint64_t grown_uj_ = 0;
};

}  // namespace

std::unique_ptr<PowerMeter> gpu_power_meter(const std::string& library) {
    auto meter = std::make_unique<GpuPowerMeter>(library);
    if (!meter->has_devices()) return nullptr;
    return meter;
}

std::unique_ptr<PowerMeter> cpu_power_meter(const std::string& powercap) {
    auto meter = std::make_unique<CpuPowerMeter>(powercap);
    if (!meter->has_packages()) return nullptr;
    return meter;
}

}  // namespace paretoken::cards
