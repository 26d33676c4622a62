#pragma once
// What `paretoken micro` measured on one device, read back from micro.json files. The read ceiling is the
// best that any probe on that device saw: nothing measured later on it may be above it. Every figure keeps
// the name of the row that it was read from.
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

/// A figure and the row that it was read from.
struct MeasuredFigure {
    double value = 0;
    std::string row;

    bool operator==(const MeasuredFigure&) const = default;
};

/// Rows that were not valid are counted, kept among `rows`, and otherwise left out.
struct MicroResults {
    MicroDevice device;
    std::string date;  ///< of the latest file
    std::vector<std::string> files;
    std::optional<MeasuredFigure> read_bytes_per_s;       ///< of a working set far beyond the caches
    std::vector<SizeFit> read_fits;                       ///< what a read costs by its size
    std::map<double, MeasuredFigure> reread_bytes_per_s;  ///< by bytes that are read again and again
    std::map<std::string, MeasuredFigure>
        flops_per_s;  ///< of a CPU by kind: "f32_fma", "bf16_dot", "int8_dot"
    /// Of a GPU, by format: what its library's products reach, and what one instruction does on registers.
    std::map<std::string, MeasuredFigure> library_flops_per_s;
    std::map<std::string, MeasuredFigure> instruction_flops_per_s;
    bool arithmetic_is_bounded = true;  ///< false: units of this CPU were left idle
    std::vector<MicroRow> rows;         ///< all of this device, valid or not
    std::uint64_t invalid_rows = 0;

    bool operator==(const MicroResults&) const = default;
};

/// The fastest arithmetic that weights of this format can use, as far as it was measured. Nothing when no
/// kind was measured, or one of them is known to be no upper bound. A GPU whose library was not measured is
/// bounded by its instruction only up to sm_89: later ones have faster instructions.
std::optional<MeasuredFigure> flops_ceiling_of(const MicroResults& micro, std::string_view weight_format);

/// The most that `bytes` can be read with when every step reads them again: caches hold a part of what is
/// small. From the sizes up to that one and all above it; nothing without any ceiling.
std::optional<MeasuredFigure> read_ceiling_of(const MicroResults& micro, double bytes);

/// The fit that says the least for one read of `bytes`; null without any.
const SizeFit* fastest_read_fit(const MicroResults& micro, double bytes);

/// One per device of the file. `where` is the file's name, for messages. Throws UsageError naming file, key
/// and what was expected.
std::vector<MicroResults> parse_micro_results(std::string_view json, const std::string& where);
std::vector<MicroResults> results_of(const MicroFile& file);

/// Several files of one device (probes before and after a sweep) become one result; one per device. Devices
/// are the same when their identifiers are, else, in different files, their names and places in the file.
std::vector<MicroResults> merged(const std::vector<MicroResults>& results);

/// Reads and merges. Throws UsageError.
std::vector<MicroResults> read_micro_results(const std::vector<std::filesystem::path>& paths);

/// The result that bounds `count` devices working side by side, of `same` ones of which each was measured
/// (not empty): as many as there are, the fastest were used, and the slowest of these holds the others up.
/// Devices without a read ceiling come last.
const MicroResults& bounding_result(std::span<const MicroResults* const> same, std::uint32_t count);

/// How far apart equal devices are, in words, where their read ceilings differ by more than 3 %; else empty.
std::string spread_of(std::span<const MicroResults* const> same);

}  // namespace paretoken::reports
