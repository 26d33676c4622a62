#include "microbench/gpu/device/validity.h"

#include <fmt/format.h>

namespace paretoken::microbench::gpu {
namespace {

// NVML's bits for the reasons of lowered clocks
constexpr unsigned kHardwareSlowdown = 0x8;
constexpr unsigned kSoftwareThermal = 0x20;
constexpr unsigned kHardwareThermal = 0x40;
constexpr unsigned kPowerBrake = 0x80;

using Reason = std::optional<std::string>;
using Rule = Reason (*)(const GpuRowFacts&);

Reason unverified(const GpuRowFacts& f) {
    if (f.verified) return std::nullopt;
    return "the output was not verified";
}
Reason slow_memory(const GpuRowFacts& f) {
    const auto& c = f.conditions;
    if (!c.memory_clock_mhz || !c.max_memory_clock_mhz || *c.memory_clock_mhz >= *c.max_memory_clock_mhz)
        return std::nullopt;
    return fmt::format("memory clock {} of {} MHz", *c.memory_clock_mhz, *c.max_memory_clock_mhz);
}
Reason thermal(const GpuRowFacts& f) {
    const bool violated = f.conditions.thermal_violation_ns.value_or(0) > 0;
    if (!violated && (f.conditions.slowdown_reasons.value_or(0) & (kSoftwareThermal | kHardwareThermal)) == 0)
        return std::nullopt;
    return "the GPU lowered its clocks because of its temperature";
}
Reason hardware(const GpuRowFacts& f) {
    const bool violated = f.conditions.hardware_violation_ns.value_or(0) > 0;
    if (!violated && (f.conditions.slowdown_reasons.value_or(0) & (kHardwareSlowdown | kPowerBrake)) == 0)
        return std::nullopt;
    return "the GPU hardware lowered the clocks";
}
Reason unsteady(const GpuRowFacts& f) {
    if (f.cv <= kMaxGpuVariation) return std::nullopt;
    return fmt::format("unsteady: cv {:.1f} % > {:.0f} %", f.cv * 100, kMaxGpuVariation * 100);
}
Reason small_ring(const GpuRowFacts& f) {
    if (!f.streams || f.ring_bytes >= 4 * f.l2_bytes) return std::nullopt;
    return fmt::format("ring of {} MiB < 4 x L2 of {} MiB", f.ring_bytes >> 20, f.l2_bytes >> 20);
}
Reason too_fast(const GpuRowFacts& f) {
    if (f.is_ceiling || f.of_asymptote.value_or(0) <= kMaxOfCeiling) return std::nullopt;
    return fmt::format("{:.0f} % of the read ceiling: the bytes are counted wrong, or they came from a cache",
                       *f.of_asymptote * 100);
}
Reason shared_gpu(const GpuRowFacts& f) {
    if (f.conditions.other_processes.value_or(0) == 0) return std::nullopt;
    return "another process uses the GPU";
}
Reason partitioned(const GpuRowFacts& f) {
    if (!f.conditions.mig.value_or(false)) return std::nullopt;
    return "MIG is on";
}
constexpr Rule kInvalid[] = {unverified, slow_memory, thermal,    hardware,   unsteady,
                             small_ring, too_fast,    shared_gpu, partitioned};

Reason drifted(const GpuRowFacts& f) {
    if (f.ceiling_drift.value_or(0) <= kMaxGpuDrift) return std::nullopt;
    return fmt::format("read ceiling drifted {:.0f} %", *f.ceiling_drift * 100);
}
Reason above_its_size(const GpuRowFacts& f) {
    if (f.of_ceiling.value_or(0) <= kMaxOfCeiling) return std::nullopt;
    return fmt::format("{:.0f} % of the read ceiling of its size", *f.of_ceiling * 100);
}
Reason power(const GpuRowFacts& f) {
    if (f.conditions.power_violation_ns.value_or(0) == 0) return std::nullopt;
    return "the GPU was at its power limit for part of the time";
}
Reason unwatched(const GpuRowFacts& f) {
    if (f.conditions.memory_clock_mhz) return std::nullopt;
    return "the clocks and slowdowns are unknown: NVML did not answer";
}
constexpr Rule kNotes[] = {drifted, above_its_size, power, unwatched};

}  // namespace

Judgement judgement_of(const GpuRowFacts& facts) {
    Judgement judgement;
    for (const Rule rule : kInvalid) {
        if (auto reason = rule(facts)) judgement.invalid_because.push_back(std::move(*reason));
    }
    for (const Rule rule : kNotes) {
        if (auto reason = rule(facts)) judgement.notes.push_back(std::move(*reason));
    }
    return judgement;
}

}  // namespace paretoken::microbench::gpu
