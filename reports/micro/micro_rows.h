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

inline constexpr std::string_view kMicroSchema = "paretoken/micro/1";

/// A figure that is absent was not measured. Times are of one window or launch, all threads together.
struct MicroRow {
    std::string name;
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

    bool operator==(const MicroRow&) const = default;
};

/// T = fixed_s + bytes ÷ bytes_per_s over rows of one kernel that differ in size (reports/micro/micro_fit.h).
struct SizeFit {
    std::string kernel;  ///< the rows' name without what differs
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
    std::string hardware;
    std::uint32_t cores = 0;
    std::string date;
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

/// `where` is the file's name, for messages. Throws UsageError naming file, key and what was expected.
MicroFile parse_micro_file(std::string_view json, const std::string& where);

}  // namespace paretoken::reports
