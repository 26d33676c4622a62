#include "microbench/gpu/device/nvml.h"

#include <dlfcn.h>

#include <array>

namespace paretoken::microbench::gpu {
namespace {

// The part of NVML's ABI that is used here. NVML's API reference documents it, and it has been stable since
// the symbols of version 2.
using Device = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kPowerPolicy = 0;
constexpr int kThermalPolicy = 1;
constexpr int kBoardPolicy = 3;

struct ViolationTime {
    unsigned long long reference_us;
    unsigned long long violation_ns;
};
struct ProcessInfo {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
};

struct CloseLibrary {
    void operator()(void* library) const { dlclose(library); }
};

}  // namespace

struct Nvml::Library {
    std::unique_ptr<void, CloseLibrary> handle;
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*system_driver_version)(char*, unsigned) = nullptr;
    int (*device_by_bus_id)(const char*, Device*) = nullptr;
    int (*clock)(Device, int, unsigned*) = nullptr;
    int (*max_clock)(Device, int, unsigned*) = nullptr;
    int (*slowdown_reasons)(Device, unsigned long long*) = nullptr;
    int (*violation)(Device, int, ViolationTime*) = nullptr;
    int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
    int (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
    int (*max_link_generation)(Device, unsigned*) = nullptr;
    int (*max_link_width)(Device, unsigned*) = nullptr;
    Device device = nullptr;
    bool ready = false;

    template <class Function>
    void find(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(handle.get(), name));
    }

    explicit Library(const std::string& name) : handle(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) return;
        find(init, "nvmlInit_v2");
        find(shutdown, "nvmlShutdown");
        find(system_driver_version, "nvmlSystemGetDriverVersion");
        find(device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
        find(clock, "nvmlDeviceGetClockInfo");
        find(max_clock, "nvmlDeviceGetMaxClockInfo");
        find(slowdown_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
        if (slowdown_reasons == nullptr)  // the older name of this function
            find(slowdown_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
        find(violation, "nvmlDeviceGetViolationStatus");
        find(mig_mode, "nvmlDeviceGetMigMode");
        find(processes, "nvmlDeviceGetComputeRunningProcesses_v3");
        find(max_link_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
        find(max_link_width, "nvmlDeviceGetMaxPcieLinkWidth");
        ready = init != nullptr && shutdown != nullptr && init() == kSuccess;
    }
    ~Library() {
        if (ready) shutdown();
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    std::optional<unsigned> number_of(int (*ask)(Device, unsigned*)) const {
        unsigned number = 0;
        if (ask == nullptr || ask(device, &number) != kSuccess) return std::nullopt;
        return number;
    }
    std::optional<unsigned> clock_of(int (*ask)(Device, int, unsigned*), int type) const {
        unsigned mhz = 0;
        if (ask == nullptr || ask(device, type, &mhz) != kSuccess) return std::nullopt;
        return mhz;
    }
    std::optional<std::uint64_t> violation_of(int policy) const {
        ViolationTime time{};
        if (violation == nullptr || violation(device, policy, &time) != kSuccess) return std::nullopt;
        return time.violation_ns;
    }
    std::optional<unsigned> slowdowns() const {
        unsigned long long bits = 0;
        if (slowdown_reasons == nullptr || slowdown_reasons(device, &bits) != kSuccess) return std::nullopt;
        return static_cast<unsigned>(bits);
    }
    /// Number of other processes on the GPU. One of the listed processes is assumed to be this one, because
    /// process ids differ between namespaces and cannot be compared.
    std::optional<unsigned> other_processes() const {
        std::array<ProcessInfo, 64> infos{};
        unsigned count = infos.size();
        if (processes == nullptr) return std::nullopt;
        const int status = processes(device, &count, infos.data());
        if (status != kSuccess && status != kInsufficientSize) return std::nullopt;
        return count > 1 ? count - 1 : 0;
    }
    std::optional<bool> mig() const {
        unsigned current = 0;
        unsigned pending = 0;
        if (mig_mode == nullptr || mig_mode(device, &current, &pending) != kSuccess) return std::nullopt;
        return current != 0;
    }
};

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library)
    : library_(std::make_unique<Library>(library)) {
    if (!library_->ready || library_->device_by_bus_id == nullptr ||
        library_->device_by_bus_id(pci_bus_id.c_str(), &library_->device) != kSuccess) {
        library_->device = nullptr;
    }
}

Nvml::~Nvml() = default;

std::optional<std::string> Nvml::driver_version() const {
    std::array<char, 128> text{};
    if (!library_->ready || library_->system_driver_version == nullptr ||
        library_->system_driver_version(text.data(), text.size()) != kSuccess) {
        return std::nullopt;
    }
    return text.data();
}

std::optional<PcieLink> Nvml::pcie_link() const {
    if (library_->device == nullptr) return std::nullopt;
    const auto generation = library_->number_of(library_->max_link_generation);
    const auto width = library_->number_of(library_->max_link_width);
    if (!generation || !width) return std::nullopt;
    return PcieLink{*generation, *width};
}

GpuConditions Nvml::conditions() const {
    if (library_->device == nullptr) return {};
    const Library& l = *library_;
    return {.memory_clock_mhz = l.clock_of(l.clock, kMemoryClock),
            .max_memory_clock_mhz = l.clock_of(l.max_clock, kMemoryClock),
            .sm_clock_mhz = l.clock_of(l.clock, kSmClock),
            .thermal_violation_ns = l.violation_of(kThermalPolicy),
            .hardware_violation_ns = l.violation_of(kBoardPolicy),
            .power_violation_ns = l.violation_of(kPowerPolicy),
            .slowdown_reasons = l.slowdowns(),
            .other_processes = l.other_processes(),
            .mig = l.mig()};
}

GpuConditions during(const GpuConditions& before, const GpuConditions& after) {
    const auto between = [](std::optional<std::uint64_t> first, std::optional<std::uint64_t> last) {
        if (!first || !last) return std::optional<std::uint64_t>{};
        return std::optional<std::uint64_t>(*last > *first ? *last - *first : 0);
    };
    GpuConditions conditions = after;
    conditions.thermal_violation_ns = between(before.thermal_violation_ns, after.thermal_violation_ns);
    conditions.hardware_violation_ns = between(before.hardware_violation_ns, after.hardware_violation_ns);
    conditions.power_violation_ns = between(before.power_violation_ns, after.power_violation_ns);
    return conditions;
}

}  // namespace paretoken::microbench::gpu
