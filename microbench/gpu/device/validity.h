#pragma once
// Whether a figure of a GPU row proves anything. Pure: a table of rules over what was seen while it was
// measured.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "microbench/collect.h"

namespace paretoken::microbench::gpu {

/// What the driver said before and after a row; absent: it could not be asked.
struct GpuConditions {
    std::optional<unsigned> memory_clock_mhz = {};
    std::optional<unsigned> max_memory_clock_mhz = {};
    std::optional<unsigned> sm_clock_mhz = {};
    std::optional<std::uint64_t> thermal_violation_ns = {};   ///< spent slowed down during the row
    std::optional<std::uint64_t> hardware_violation_ns = {};  ///< board limit
    std::optional<std::uint64_t> power_violation_ns =
        {};                                         ///< power cap: usual under full load, so only noted
    std::optional<unsigned> slowdown_reasons = {};  ///< NVML's bits
    std::optional<unsigned> other_processes = {};
    std::optional<bool> mig = {};

    bool operator==(const GpuConditions&) const = default;
};

struct GpuRowFacts {
    bool verified = false;
    bool streams = true;      ///< reads a ring; false for launches and flops
    bool is_ceiling = false;  ///< what others are held against: writes may be faster than reads
    std::uint64_t ring_bytes = 0;
    std::uint64_t l2_bytes = 0;
    double cv = 0;
    std::optional<double> of_ceiling = {};     ///< size-matched
    std::optional<double> of_asymptote = {};   ///< bytes/s ÷ the read ceiling's limit for large launches
    std::optional<double> ceiling_drift = {};  ///< |now ÷ when it was measured − 1|
    GpuConditions conditions = {};

    bool operator==(const GpuRowFacts&) const = default;
};

inline constexpr double kMaxGpuVariation = 0.03;
inline constexpr double kMaxGpuDrift = 0.03;
inline constexpr double kMaxOfCeiling = 1.02;

Judgement judgement_of(const GpuRowFacts& facts);

}  // namespace paretoken::microbench::gpu
