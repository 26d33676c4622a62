#pragma once
// A micro.json (Google Benchmark's format with our context) as plain values: what was measured on, and the
// rows as they stand there, good or not. Judging them is for others.
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
    std::string id;  ///< within its file: "cpu", "gpu0"
    MicroBackend backend = MicroBackend::cpu;
    std::string name;                      ///< as the machine names it: "NVIDIA H200"
    std::optional<std::string> card = {};  ///< its datasheet card: "h200"; absent: there is none
    std::optional<std::string> uuid = {};
    std::optional<std::string> driver = {};
    std::optional<std::string> compute_capability = {};  ///< "9.0"
    std::optional<std::uint32_t> cores = {};             ///< of a CPU: those that the process may use
    std::optional<double> memory_bytes = {};
    std::optional<double> sm_clock_hz = {};  ///< highest
    std::optional<double> memory_clock_hz = {};
    std::optional<double> peak_bytes_per_s = {};  ///< memory clock × bus width
    std::optional<double> power_limit_w = {};
    std::optional<bool> mig = {};

    bool operator==(const MicroDevice&) const = default;
};

/// A figure that is absent was not measured. Times are of one window or launch, all threads together.
struct MicroRow {
    std::string name;
    std::string device = {};                ///< id of one of the file's devices
    std::optional<std::string> error = {};  ///< its check failed: no figures
    bool valid = true;                      ///< verified and steady
    std::string label = {};                 ///< why it is not valid, or what else there is to say
    std::optional<double> median_s = {};
    std::optional<double> p10_s = {};
    std::optional<double> p25_s = {};
    std::optional<double> p75_s = {};
    std::optional<double> p90_s = {};
    std::optional<double> bytes_per_s = {};
    std::optional<double> best_bytes_per_s = {};  ///< the fastest decile
    std::optional<double> flops_per_s = {};
    std::optional<double> of_ceiling = {};
    std::optional<double> cached_flops_per_s = {};  ///< of the same kernel while caches hold its operand
    std::map<std::string, double> part_s = {};      ///< seconds of each operation of a layer, timed alone
    std::optional<double> gap_s = {};               ///< what the whole takes beyond the sum of its parts

    bool operator==(const MicroRow&) const = default;
    double bytes() const;  ///< of one window or launch; 0 where none were counted
    double flops() const;
};

/// T = fixed_s + bytes ÷ bytes_per_s over rows of one kernel that differ in size (reports/micro/micro_fit.h).
struct SizeFit {
    std::string kernel;       ///< the rows' name without what differs
    std::string device = {};  ///< id of one of the file's devices
    double fixed_s = 0;
    double bytes_per_s = 0;
    std::uint64_t points = 0;
    double least_bytes = 0;
    double most_bytes = 0;
    double worst_residual = 0;  ///< largest |fitted ÷ measured − 1|

    bool operator==(const SizeFit&) const = default;
};

struct MicroFile {
    std::string where;
    std::string date;
    std::vector<MicroDevice> devices = {};
    std::map<std::string, std::string> context = {};  ///< every text in it
    std::vector<MicroRow> rows = {};                  ///< no aggregates
    std::vector<SizeFit> fits = {};                   ///< as written by `paretoken micro`

    bool operator==(const MicroFile&) const = default;
};

/// "weights/w:q4_1/layout:packed/batch:1" → family "weights", axes {w: q4_1, …}; "ceiling/read/…" →
/// "ceiling/read".
struct RowName {
    std::string family;
    std::map<std::string, std::string> axes;

    std::string axis(const std::string& key) const;  ///< "" when absent
};
RowName parse_row_name(std::string_view name);

/// "NVIDIA H200", "AMD EPYC (2 cores)".
std::string title_of(const MicroDevice& device);

/// A row or fit without a `device` belongs to the only device of its name's backend. `where` is the file's
/// name, for messages. Throws UsageError naming file, key and what was expected.
MicroFile parse_micro_file(std::string_view json, const std::string& where);

}  // namespace paretoken::reports
