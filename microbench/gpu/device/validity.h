#pragma once
// Judges whether the figures of a GPU row are valid. Pure: a table of rules is applied to the conditions that
// were observed while the row was measured.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "microbench/collect.h"

namespace paretoken::microbench::gpu {

/// The driver's answers before and after a row. A value is absent if the driver did not answer.
struct GpuConditions {
    std::optional<unsigned> memory_clock_mhz = {};
    std::optional<unsigned> max_memory_clock_mhz = {};
    std::optional<unsigned> sm_clock_mhz = {};
    std::optional<std::uint64_t> thermal_violation_ns = {};   ///< time slowed down by temperature
    std::optional<std::uint64_t> hardware_violation_ns = {};  ///< time slowed down by a board limit
    std::optional<std::uint64_t> power_violation_ns =
        {};  ///< time at the power limit; usual under full load, so it is only a note
    std::optional<unsigned> slowdown_reasons = {};  ///< bit mask of NVML
    std::optional<unsigned> other_processes = {};
    std::optional<bool> mig = {};

    bool operator==(const GpuConditions&) const = default;
};

struct GpuRowFacts {
    bool verified = false;
    bool streams = true;  ///< the row reads a ring of copies; false for rows that measure launches or flops
    bool is_ceiling = false;  ///< the row is a ceiling; it may exceed the read ceiling if it writes
    std::uint64_t ring_bytes = 0;
    std::uint64_t l2_bytes = 0;
    double cv = 0;
    std::optional<double> of_ceiling = {};    ///< relative to the read ceiling at the size of the launch
    std::optional<double> of_asymptote = {};  ///< bytes/s ÷ the limit of the read ceiling for large launches
    std::optional<double> ceiling_drift = {};  ///< |speed now ÷ speed when the ceiling was measured − 1|
    GpuConditions conditions = {};

    bool operator==(const GpuRowFacts&) const = default;
};

inline constexpr double kMaxGpuVariation = 0.03;
inline constexpr double kMaxGpuDrift = 0.03;
inline constexpr double kMaxOfCeiling = 1.02;

Judgement judgement_of(const GpuRowFacts& facts);

}  // namespace paretoken::microbench::gpu
