#pragma once
// Judges whether the figures of a GPU row are valid, by a table of rules on the conditions that were observed
// while the row was measured. The functions are pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "microbench/collect.h"

namespace paretoken::microbench::gpu {

/// The driver's answers about the GPU while a row was measured. A value is absent if the driver did not
/// answer. Violation times are nanoseconds for which the driver kept the clocks low.
struct GpuConditions {
    std::optional<unsigned> memory_clock_mhz = {};
    std::optional<unsigned> max_memory_clock_mhz = {};
    std::optional<unsigned> sm_clock_mhz = {};
    std::optional<std::uint64_t> thermal_violation_ns = {};   ///< time slowed down by temperature
    std::optional<std::uint64_t> hardware_violation_ns = {};  ///< time slowed down by a board limit
    /// Time at the power limit. It is usual under full load, so that it is only a note.
    std::optional<std::uint64_t> power_violation_ns = {};
    std::optional<unsigned> slowdown_reasons = {};  ///< bit mask of NVML
    std::optional<unsigned> other_processes = {};   ///< number of other processes that use the GPU
    std::optional<bool> mig = {};                   ///< whether MIG (multi-instance GPU) divides the GPU

    bool operator==(const GpuConditions&) const = default;
};

struct GpuRowFacts {
    bool verified = false;    ///< whether the output was checked
    bool streams = true;      ///< whether the row reads a ring of copies; rows of launches and flops do not
    bool is_ceiling = false;  ///< whether the row is a ceiling; one that writes may exceed the read ceiling
    std::uint64_t ring_bytes = 0;
    std::uint64_t l2_bytes = 0;
    double cv = 0;                            ///< coefficient of variation of the timed replays
    std::optional<double> of_ceiling = {};    ///< relative to the read ceiling at the size of the launch
    std::optional<double> of_asymptote = {};  ///< bytes/s ÷ the limit of the read ceiling for large launches
    std::optional<double> ceiling_drift = {};  ///< |speed now ÷ speed when the ceiling was measured − 1|
    GpuConditions conditions = {};

    bool operator==(const GpuRowFacts&) const = default;
};

inline constexpr double kMaxGpuVariation = 0.03;  ///< largest valid cv
inline constexpr double kMaxGpuDrift = 0.03;      ///< largest ceiling_drift without a note
/// Largest valid of_asymptote, and largest of_ceiling without a note.
inline constexpr double kMaxOfCeiling = 1.02;

/// Returns the reasons why the figures are invalid, and notes.
Judgement judgement_of(const GpuRowFacts& facts);

}  // namespace paretoken::microbench::gpu
