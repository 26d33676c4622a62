#pragma once
// The GPU rows of the table of benchmarks; a row is a name and a function that measures it. Compiles without
// CUDA; `gpu_backend` then returns the reason why there are no GPU rows.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/rows.h"
#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

struct GpuSettings {
    bool quick = false;            ///< fewer rows, and less time for each row
    bool full = false;             ///< more values on every axis
    bool verify_only = false;      ///< small shapes, which are checked but not timed
    bool profile = false;          ///< two launches of each row for a profiler, without checks and timing
    bool plant_fault = false;      ///< changes data of each row, so that every check must fail
    std::uint64_t ring_scale = 1;  ///< multiplies the copies of a ring; the measured times must not change
    std::vector<ModelShape> models =
        {};                  ///< models whose shapes are measured; empty means the default models
    std::uint64_t seed = 1;  ///< of all random operands

    bool operator==(const GpuSettings&) const = default;
};

struct GpuBackend {
    /// A reason such as "no CUDA in this build" or "no GPU". There are no rows then.
    std::optional<std::string> absent_because = {};
    /// Keys and values that describe the GPU in the results.
    std::vector<std::pair<std::string, std::string>> context = {};
    std::vector<Row> rows = {};
};

/// Returns the context and the rows of the GPU. Throws RuntimeError if there is a GPU that cannot be used,
/// for example because its driver is older than this build.
GpuBackend gpu_backend(const GpuSettings& settings);

/// Returns a JSON object for scripts. It holds the context of the GPU, or "gpu": null and the reason
/// "because" if there is no GPU.
std::string gpu_identity(const GpuBackend& backend);

struct DeviceFacts;  // microbench/gpu/device/device.h
/// The families of rows, one per .cu file. `device` limits the rows that a family can offer.
std::vector<GpuRow> ceiling_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> weight_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> gemm_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> attention_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> mla_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> layer_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> copy_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> prefill_rows(const GpuSettings& settings, const DeviceFacts& device);

}  // namespace paretoken::microbench::gpu
