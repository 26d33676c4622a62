#pragma once
// What `paretoken micro` measured, read back from its micro.json (Google Benchmark's format with our
// context). The read ceiling is the best that any probe in any of the files saw: nothing measured later may
// be above it.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/micro/micro_rows.h"

namespace paretoken::reports {

/// Everything measured on one kind of hardware. Rows that were not valid are counted and otherwise left out.
struct MicroResults {
    std::string hardware;
    std::uint32_t cores = 0;
    std::string date;  ///< of the latest file
    std::vector<std::string> files;
    std::optional<double> read_bytes_per_s;               ///< of a working set far beyond the caches
    std::vector<SizeFit> read_fits;                       ///< what a read costs by its size
    std::map<double, double> reread_bytes_per_s;          ///< by bytes that are read again and again
    std::map<std::string, double> flops_per_s;            ///< by kind: "f32_fma", "bf16_dot", "int8_dot"
    std::map<std::string, double> weight_bytes_per_s;     ///< best kernel by weight dtype: "q4_1"
    std::map<std::string, double> attention_bytes_per_s;  ///< best kernel by KV dtype: "f16"
    bool arithmetic_is_bounded = true;                    ///< false: units of this CPU were left idle
    std::uint64_t invalid_rows = 0;

    bool operator==(const MicroResults&) const = default;

    /// Nothing when no kind was measured, or one of them is known to be no upper bound.
    std::optional<double> best_flops_per_s() const;
};

/// The most that `bytes` can be read with when every step reads them again: caches hold a part of what is
/// small. From the sizes up to that one and all above it; nothing without any ceiling.
std::optional<double> read_ceiling_of(const MicroResults& micro, double bytes);

/// The fit that says the least for one read of `bytes`; null without any.
const SizeFit* fastest_read_fit(const MicroResults& micro, double bytes);

/// `where` is the file's name, for messages. Throws UsageError naming file, key and what was expected.
MicroResults parse_micro_results(std::string_view json, const std::string& where);

/// Several files of one hardware (probes before and after a sweep) become one result; one per hardware.
std::vector<MicroResults> merged(const std::vector<MicroResults>& results);

/// Reads and merges. Throws UsageError.
std::vector<MicroResults> read_micro_results(const std::vector<std::filesystem::path>& paths);

}  // namespace paretoken::reports
