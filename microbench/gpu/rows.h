#pragma once
// The GPU's part of the table of benchmarks. Compiles without CUDA: then there is no backend, and
// `gpu_backend` says so.
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
    bool quick = false;            ///< fewer rows, less time for each
    bool full = false;             ///< more of every axis
    bool verify_only = false;      ///< small shapes, checked and not timed
    bool profile = false;          ///< two launches of each row for a profiler, nothing checked or timed
    bool plant_fault = false;      ///< change a bit of each operand: every check must fail
    std::uint64_t ring_scale = 1;  ///< times as many copies as a ring needs: the times must not change
    std::vector<ModelShape> models = {};  ///< empty: the default ones
    std::uint64_t seed = 1;

    bool operator==(const GpuSettings&) const = default;
};

struct GpuBackend {
    std::optional<std::string> absent_because =
        {};  ///< "no CUDA in this build", "no GPU": then nothing follows
    std::vector<std::pair<std::string, std::string>> context = {};
    std::vector<Row> rows = {};
};

/// Throws RuntimeError when there is a GPU that cannot be used (its driver is older than this build).
GpuBackend gpu_backend(const GpuSettings& settings);

/// The device as a JSON object, or null when there is none: for scripts.
std::string gpu_identity(const GpuBackend& backend);

/// Families of rows, one per .cu file; `device` is what limits their shapes.
struct DeviceFacts;
std::vector<GpuRow> ceiling_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> weight_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> gemm_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> attention_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> mla_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> layer_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> copy_rows(const GpuSettings& settings, const DeviceFacts& device);
std::vector<GpuRow> prefill_rows(const GpuSettings& settings, const DeviceFacts& device);

}  // namespace paretoken::microbench::gpu
