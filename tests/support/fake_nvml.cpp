// A replacement for NVIDIA's management library with two GPUs, of which the second answers fewer calls. The
// signatures are those of NVML's API reference. The first GPU draws 350 W, or the power that a test has set.
#include <chrono>
#include <cstring>
#include <optional>

namespace {

struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
struct PciInfo {
    char legacy_bus_id[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    char bus_id[32];
};

struct ViolationTime {
    unsigned long long reference_us;
    unsigned long long violation_ns;
};

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

int gpus[2] = {0, 1};

bool is_first(const void* device) {
    return device == &gpus[0];
}

struct Drawn {
    unsigned milliwatts;
    unsigned long long millijoules;
    unsigned long long slowdowns;
};
std::optional<Drawn> set;

unsigned long long milliseconds() {
    using namespace std::chrono;
    return static_cast<unsigned long long>(
        duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count());
}

Drawn drawn() {
    return set.value_or(Drawn{350000, 350 * milliseconds(), 0});
}

int answer(char* to, unsigned size, const char* text) {
    std::strncpy(to, text, size - 1);
    to[size - 1] = 0;
    return kSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
extern "C" {

int nvmlInit_v2() {
    return kSuccess;
}
int nvmlShutdown() {
    return kSuccess;
}
int nvmlSystemGetDriverVersion(char* version, unsigned size) {
    return answer(version, size, "580.82.07");
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 2;
    return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &gpus[index];
    return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
    if (std::strcmp(bus_id, "0000:65:00.0") != 0) return kNotFound;
    *device = &gpus[0];
    return kSuccess;
}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
    return answer(name, size, is_first(device) ? "NVIDIA H200" : "NVIDIA H900 Imaginary");
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
    return is_first(device) ? answer(uuid, size, "GPU-11111111-2222-3333-4444-555555555555") : kNotSupported;
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
    PciInfo* const pci = static_cast<PciInfo*>(info);
    std::memset(pci, 0, sizeof *pci);
    return answer(pci->bus_id, sizeof pci->bus_id,
                  is_first(device) ? "00000000:65:00.0" : "00000000:B6:00.0");
}
int nvmlDeviceGetMemoryInfo(void* device, void* info) {
    if (!is_first(device)) return kNotSupported;
    *static_cast<Memory*>(info) = {150754820096ULL, 150000000000ULL, 754820096ULL};
    return kSuccess;
}
int nvmlDeviceGetMaxClockInfo(void* device, int type, unsigned* megahertz) {
    if (!is_first(device)) return kNotSupported;
    *megahertz = type == 1 ? 1980 : 3201;
    return kSuccess;
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
    if (!is_first(device)) return kNotSupported;
    *milliwatts = 700000;
    return kSuccess;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
    if (!is_first(device)) return kNotSupported;
    *current = *pending = 0;
    return kSuccess;
}
void fake_nvml_set(unsigned milliwatts, unsigned long long millijoules, unsigned long long slowdowns) {
    set = Drawn{milliwatts, millijoules, slowdowns};
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    if (!is_first(device)) return kNotSupported;
    *milliwatts = drawn().milliwatts;
    return kSuccess;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
    *millijoules = drawn().millijoules;
    return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    *reasons = drawn().slowdowns;
    return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
    rates[0] = 80;
    rates[1] = 40;
    return kSuccess;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* megahertz) {
    *megahertz = type == 1 ? 1755 : 2619;
    return kSuccess;
}
int nvmlDeviceGetViolationStatus(void*, int policy, void* time) {
    constexpr int kPower = 0;
    if (policy != kPower) return kNotSupported;
    *static_cast<ViolationTime*>(time) = {9000, 1200};
    return kSuccess;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
    *generation = 5;
    return kSuccess;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
    *width = 16;
    return kSuccess;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    *celsius = 61;
    return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
    constexpr int kInsufficientSize = 7;
    *count = 1;
    return kInsufficientSize;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
