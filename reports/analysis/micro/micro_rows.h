#pragma once
// Reads a micro.json file (Google Benchmark's JSON with further keys in "context") into plain values: the
// devices, and one row per benchmark, including rows that are not valid.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::reports {

inline constexpr std::string_view kMicroSchema = "paretoken/micro/2";

enum class MicroBackend { cpu, gpu };
std::string_view name_of(MicroBackend backend);

/// One CPU (all its cores) or one GPU. Every row and fit belongs to one.
struct MicroDevice {
    std::string id;  ///< id within its file: "cpu", "gpu0"
    MicroBackend backend = MicroBackend::cpu;
    std::string name;                      ///< name given by the machine: "NVIDIA H200"
    std::optional<std::string> card = {};  ///< datasheet card: "h200"; absent if there is none
    std::optional<std::string> uuid = {};
    std::optional<std::string> driver = {};
    std::optional<std::string> compute_capability = {};  ///< "9.0"
    std::optional<std::uint32_t> cores = {};             ///< cores of a CPU that the process may use
    std::optional<double> memory_bytes = {};
    std::optional<double> sm_clock_hz = {};  ///< highest clock
    std::optional<double> memory_clock_hz = {};
    std::optional<double> peak_bytes_per_s = {};  ///< memory clock × bus width
    std::optional<double> power_limit_w = {};
    std::optional<bool> mig = {};  ///< whether the GPU is partitioned (Multi-Instance GPU)

    bool operator==(const MicroDevice&) const = default;
};

/// One benchmark of a file: wall times of one window (CPU) or launch (GPU), bytes and FLOP of all threads
/// together. A figure that is absent was not measured.
struct MicroRow {
    std::string name;
    std::string device = {};                ///< id of one of the file's devices
    std::optional<std::string> error = {};  ///< error of its check; such a row has no figures
    bool valid = true;                      ///< whether it was verified and steady
    std::string label = {};                 ///< reason why it is not valid, or another note
    std::optional<double> median_s = {};    ///< median of the times; the others are their percentiles
    std::optional<double> p10_s = {};
    std::optional<double> p25_s = {};
    std::optional<double> p75_s = {};
    std::optional<double> p90_s = {};
    std::optional<double> bytes_per_s = {};       ///< median over windows or launches
    std::optional<double> best_bytes_per_s = {};  ///< 90th percentile of the bandwidth over windows
    std::optional<double> flops_per_s = {};       ///< median over windows or launches
    /// Median over windows of the bandwidth ÷ that of a plain read of as many bytes nearby.
    std::optional<double> of_ceiling = {};
    std::optional<double> cached_flops_per_s = {};  ///< speed of the kernel with its operand in caches
    std::optional<double> huge_page_share = {};     ///< share of the memory that was in huge pages
    std::map<std::string, double> part_s = {};      ///< seconds of each operation of a layer, timed alone
    std::optional<double> gap_s = {};               ///< time of the whole layer beyond the sum of its parts

    bool operator==(const MicroRow&) const = default;
    double bytes() const;  ///< bytes_per_s × median_s: bytes of one window or launch; 0 if unknown
    double flops() const;  ///< flops_per_s × median_s; 0 if unknown
};

/// T = fixed_s + bytes ÷ bytes_per_s over rows of one kernel that differ in size (micro_fit.h).
struct SizeFit {
    std::string kernel = {};  ///< name of the rows without the parts that differ
    std::string device = {};  ///< id of one of the file's devices
    double fixed_s = 0;
    double bytes_per_s = 0;
    std::uint64_t points = 0;   ///< number of rows that were fitted
    double least_bytes = 0;     ///< smallest size among them
    double most_bytes = 0;      ///< largest size among them
    double worst_residual = 0;  ///< largest |fitted ÷ measured − 1|

    bool operator==(const SizeFit&) const = default;
};

struct MicroFile {
    std::string where;      ///< name of the file
    std::string date = {};  ///< time of the measurement
    std::vector<MicroDevice> devices = {};
    std::map<std::string, std::string> context = {};  ///< entries of the file's "context" that are texts
    std::vector<MicroRow> rows = {};                  ///< all rows except Google Benchmark's aggregates
    std::vector<SizeFit> fits = {};                   ///< fits that `paretoken micro` wrote

    bool operator==(const MicroFile&) const = default;
};

/// The parts of a row's name: "weights/w:q4_1/layout:packed/batch:1" has the family "weights" and the axes
/// {w: q4_1, …}; the family of "ceiling/read/…" is "ceiling/read".
struct RowName {
    std::string family;
    std::map<std::string, std::string> axes;

    std::string axis(const std::string& key) const;  ///< value of an axis; "" when absent
    /// An axis that is a number of at least 1; nothing when it is absent or any other text ("100..4000").
    std::optional<double> number(const std::string& key) const;
};
RowName parse_row_name(std::string_view name);

/// The row's name with "op:*" in place of its operation ("op:qkv"). It names the sum of the rows of all
/// operations of a layer. `name` is the parsed `row`. A name without "op" is returned as it is.
std::string over_all_ops(const std::string& row, const RowName& name);

/// The title of a device: "NVIDIA H200", "AMD EPYC (2 cores)".
std::string title_of(const MicroDevice& device);

/// Reads a micro.json. A row or fit without `device` belongs to the only device with its backend. Throws a
/// UsageError that names the file (`where`), the key and what was expected.
MicroFile parse_micro_file(std::string_view json, const std::string& where);

}  // namespace paretoken::reports
