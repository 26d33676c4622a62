#pragma once
// Reads the measurements of `paretoken micro` on one device. The read ceiling is the best bandwidth of any
// benchmark that only reads far more memory than the caches hold, an upper bound for kernels and servers.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::cards {
struct GpuCard;
}

namespace paretoken::reports {

/// A figure and the name of the row from which it was read.
struct MeasuredFigure {
    double value = 0;
    std::string row;

    bool operator==(const MeasuredFigure&) const = default;
};

/// The results of one device. Rows that are not valid are in `rows` only, except for unsteady read ceilings.
struct MicroResults {
    MicroDevice device;
    std::string date;                                     ///< date of the latest file
    std::vector<std::string> files;                       ///< names of the files
    std::optional<MeasuredFigure> read_bytes_per_s;       ///< ceiling for a working set far beyond the caches
    std::vector<SizeFit> read_fits;                       ///< time of a read by its size
    std::map<double, MeasuredFigure> reread_bytes_per_s;  ///< size of a working set in bytes → ceiling for
                                                          ///< reading it again and again
    std::map<std::string, MeasuredFigure>
        flops_per_s;  ///< ceilings of a CPU by kind: "f32_fma", "bf16_dot", "int8_dot"
    /// Arithmetic ceilings of a GPU by number format ("bf16"): the speed of the vendor library's matrix
    /// products, and the speed of a matrix instruction (mma.sync) whose operands are in registers.
    std::map<std::string, MeasuredFigure> library_flops_per_s;
    std::map<std::string, MeasuredFigure> instruction_flops_per_s;
    bool arithmetic_is_bounded = true;  ///< false if an arithmetic ceiling of a CPU is not valid; then none
                                        ///< of `flops_per_s` is a bound
    std::vector<MicroRow> rows;         ///< all rows of this device, valid or not
    std::uint64_t invalid_rows = 0;     ///< rows that were not used because they are not valid

    bool operator==(const MicroResults&) const = default;
};

/// An upper bound of the arithmetic speed for weights of this format, in FLOP/s; nothing if no measured speed
/// is a bound. For a CPU it is the highest of all its measured ceilings; for a GPU the speed of the vendor
/// library's matrix products, in the fastest measured arithmetic that can multiply these weights.
std::optional<MeasuredFigure> flops_ceiling_of(const MicroResults& micro, std::string_view weight_format);

/// The highest bytes/s at which `bytes` can be read in every step, partly from caches: the maximum of
/// read_bytes_per_s and of reread_bytes_per_s from that size on. Nothing without any ceiling.
std::optional<MeasuredFigure> read_ceiling_of(const MicroResults& micro, double bytes);

/// The fit that gives the shortest time for one read of `bytes`; null if there is none.
const SizeFit* fastest_read_fit(const MicroResults& micro, double bytes);

/// Reads the results of each device in a file; devices without rows are left out. `where` is the file's name,
/// for messages. Throws a UsageError that names the file, the key and what was expected.
std::vector<MicroResults> parse_micro_results(std::string_view json, const std::string& where);
/// The results of each device with rows, from a file that was already parsed. Throws a UsageError that names
/// the file and the row if a row lacks a figure that its name requires.
std::vector<MicroResults> results_of(const MicroFile& file);

/// Returns the card of the CPU (cards::read_cpu_card) from its ceilings of reading memory and of
/// multiply-adds of 32-bit numbers. Throws a UsageError if the file lacks one of them.
cards::GpuCard cpu_card_of(const MicroFile& file);

/// Merges the results of each device, by UUID or else by names and ids ("gpu0").
std::vector<MicroResults> merged(const std::vector<MicroResults>& results);

/// Reads and merges files. Throws UsageError like parse_micro_results(), and for unreadable files.
std::vector<MicroResults> read_micro_results(const std::vector<std::filesystem::path>& paths);

/// The one of `same` (equal devices, not empty) that bounds `count` parallel ones: the slowest of the fastest
/// `count`. Devices without a read ceiling are left out, unless none has one.
const MicroResults& bounding_result(std::span<const MicroResults* const> same, std::uint32_t count);

/// The slowest and fastest of equal devices if their read ceilings differ by more than 3 %, or empty.
std::string spread_of(std::span<const MicroResults* const> same);

}  // namespace paretoken::reports
