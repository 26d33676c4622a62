#pragma once
// The table of all rows of a CPU, and the measurement of a row.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "microbench/cpu/isa.h"
#include "microbench/rows.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

enum class Extent { quick, normal, full };  ///< how many rows are measured, and how long each
std::string_view name_of(Extent extent);    ///< "quick", "default", "full"

struct CpuSettings {
    Extent extent = Extent::normal;
    /// The CPUs, each with one thread. Rows are measured with 1 thread (not in a quick run) and with all.
    std::vector<int> cpus;
    Isa isa = Isa::scalar;
    std::uint64_t llc_bytes = 0;  ///< 0 means unknown
    std::uint64_t working_set_bytes = 0;
    ModelShape model;              ///< model whose matrices `weights` rows stream
    std::vector<HeadShape> heads;  ///< heads of `attention` rows
    double seconds_per_row = 1;
    std::uint64_t seed = 0;
    bool plant_fault = false;  ///< whether to corrupt each operand, so that every check must fail
};

/// Returns the bytes of the working set of all threads: max(1 GiB, 4 × `llc_bytes`), with 512 MiB instead
/// of 1 GiB for a quick run, but at most half of the available memory if that is known.
std::uint64_t default_working_set(bool quick, std::uint64_t llc_bytes);

std::vector<Row> cpu_rows(const CpuSettings& settings);

/// Returns why weight types or attention have no rows: "w:q4_k: no matrix of … has rows of …".
std::vector<std::string> left_out(const CpuSettings& settings);

}  // namespace paretoken::microbench
