#pragma once
// The figures of a whole run as another program reported them, by its own definitions.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace paretoken {

struct Reported {
    std::string by;                              ///< whose definitions these are: "vLLM bench"
    std::optional<std::uint64_t> requests = {};  ///< all requests, if the program tells
    std::optional<std::uint64_t> failed = {};    ///< of these, those that failed, if the program tells
    /// Values in seconds and tokens by TAG_STATISTIC_UNIT ("ttft_p99_s"), or a rate ("output_tokens_per_s").
    std::map<std::string, double> figures = {};

    std::optional<double> at(std::string_view key) const;

    bool operator==(const Reported&) const = default;
};

struct ReportedKey {
    std::string title;      ///< key without its unit: "ttft_p99"
    std::string_view unit;  ///< "s", "tok/s"
    /// Whether higher values are better. Absent for lengths, spreads and extremes, of which neither is.
    std::optional<bool> higher_is_better = {};
};
ReportedKey reported_key(std::string_view key);

/// "ttft_p99 as vLLM bench defines it"
std::string reported_title(std::string_view key, std::string_view by);

}  // namespace paretoken
